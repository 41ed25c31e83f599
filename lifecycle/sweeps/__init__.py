"""Sweeps: what time and accidents leave undone; each is one noun, one pass, one bounded amount, one result."""
