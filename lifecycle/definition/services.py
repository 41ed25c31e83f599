"""Services: the outside world of a lifecycle, made once per process when first asked for, replaceable in tests."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from lifecycle.definition.callables import imported
from lifecycle.exceptions import LifecycleError

_replaced: dict[str, Any] = {}
_made: dict[tuple[str, int], Any] = {}
_lock = threading.Lock()


def of(lifecycle: str, source: str | Callable[[], Any] | None) -> Any:
    """The services of a lifecycle.

    What was made before a fork is not used after it: clients hold connections, and two processes on one connection
    read each other's answers.

    Args:
        lifecycle: the lifecycle's name.
        source: ``Meta.services``: a callable without arguments, or the dotted path of one (or of a ready object).

    Raises:
        LifecycleError: the lifecycle declares no services.
    """
    if lifecycle in _replaced:
        return _replaced[lifecycle]
    if source is None:
        raise LifecycleError(
            f"Lifecycle '{lifecycle}' has no services. Set Meta.services to a callable or its dotted path.",
            code="no_services",
            lifecycle=lifecycle,
        )
    key = lifecycle, os.getpid()
    if key not in _made:
        with _lock:
            if key not in _made:
                _made[key] = _make(source)
    return _made[key]


def _make(source: Any) -> Any:
    found = imported(source) if isinstance(source, str) else source
    return found() if callable(found) else found


@contextmanager
def replaced(lifecycle: str, services: Any) -> Iterator[Any]:
    """While open, ``self.services`` of this lifecycle is the given object (process-wide: a test is one process)."""
    missing = object()
    before = _replaced.get(lifecycle, missing)
    _replaced[lifecycle] = services
    try:
        yield services
    finally:
        if before is missing:
            _replaced.pop(lifecycle, None)
        else:
            _replaced[lifecycle] = before


def forget(lifecycle: str) -> None:
    """Drops what was made for a lifecycle, so that it is made anew when next asked for."""
    _made.pop((lifecycle, os.getpid()), None)
