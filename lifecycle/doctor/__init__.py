"""The doctor: looks at a running system for what nobody would see before it hurts."""

from lifecycle.doctor.examination import FAULTS, databases, examine, known_faults
from lifecycle.doctor.finding import ERROR, WARNING, Finding
from lifecycle.doctor.limits import Limits

__all__ = ["ERROR", "FAULTS", "WARNING", "Finding", "Limits", "databases", "examine", "known_faults"]
