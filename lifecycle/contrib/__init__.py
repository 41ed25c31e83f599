"""What a project may add: traces, metrics, a health view. None of it is imported unless the project does."""
