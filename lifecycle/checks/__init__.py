"""Checks: what ``manage.py check`` says about lifecycles, their models, databases and settings."""

from lifecycle.checks import annotations, configuration, databases, declarations, records

__all__ = ["annotations", "configuration", "databases", "declarations", "records"]
