"""Checks: what ``manage.py check`` says about lifecycles, their models, databases and settings."""

from lifecycle.checks import configuration, databases, declarations, records

__all__ = ["configuration", "databases", "declarations", "records"]
