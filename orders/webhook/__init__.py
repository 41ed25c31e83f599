"""The webhook: received by `receiver`, checked by `signatures`, read by `events`, acted on by `outcomes`."""
