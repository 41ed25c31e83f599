"""A help desk: the models and lifecycles most tests use."""
