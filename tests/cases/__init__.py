"""Public complaints about comparable software, each as a test of what this library does instead."""
