"""The webhook: how the payment provider tells us what happened."""
