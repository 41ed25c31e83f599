"""Benchmarks: one question per file, each answered by a ratio against a named peer or floor, measured side by side."""
