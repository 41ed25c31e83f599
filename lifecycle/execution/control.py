"""Control flow of Celery's, raised inside an effect: what it means for a run. By name: Celery need not be there."""

from __future__ import annotations

import datetime as dt
from typing import Any

_MODULES = ("celery.exceptions", "billiard.exceptions")


def is_workers_limit(error: BaseException) -> bool:
    """Whether a Celery worker's own soft time limit interrupted the effect; ours is the effect's ``timeout``."""
    return _named(error) == "SoftTimeLimitExceeded"


def retry_at(error: BaseException) -> dt.datetime | dt.timedelta | None:
    """When a task's ``self.retry(…)`` wants to be called again; None for any other error."""
    if _named(error) != "Retry":
        return None
    when: Any = getattr(error, "when", None)
    if isinstance(when, dt.datetime):
        return when
    return dt.timedelta(seconds=float(when)) if isinstance(when, (int, float)) else dt.timedelta(0)


def complaint(error: BaseException) -> str | None:
    """What to say of control flow that means nothing to an effect; None for any other error."""
    name = _named(error)
    if name not in ("Ignore", "Reject"):
        return None
    return (
        f"Celery's {name} means nothing to an effect: return to succeed, raise Fail or Permanent to fail for good, "
        "RetryAt to be called again."
    )


def _named(error: BaseException) -> str:
    return next((cls.__name__ for cls in type(error).__mro__ if cls.__module__ in _MODULES and _is_known(cls)), "")


def _is_known(cls: type) -> bool:
    return cls.__name__ in ("SoftTimeLimitExceeded", "Retry", "Ignore", "Reject")
