"""Properties that hold whatever happens, in whatever order."""
