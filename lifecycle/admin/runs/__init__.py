"""Effect runs: their list, one run's page, and what an operator may do about a run."""
