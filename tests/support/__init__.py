"""A support team: the models and lifecycles most tests use."""
