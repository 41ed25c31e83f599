"""Verbs: what callers do with a record — create, fire, touch, ask, view."""
