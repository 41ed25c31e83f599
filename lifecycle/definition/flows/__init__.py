"""Flows as declared: steps, channels, waits and decisions; plain Python."""
