"""Tracing: where spans begin, and how a trace goes on in the worker; nothing at all unless a tracer is put in place."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol


class Tracer(Protocol):
    """What a tracing library is to do for us; see `lifecycle.contrib.opentelemetry`. None of these may raise."""

    def carried(self) -> Mapping[str, str] | None:
        """The present trace as it is stored with a run (``trace_context``), or None outside of any."""
        ...

    def transition(self, lifecycle: str, transition: str, record_id: str) -> AbstractContextManager[Any]:
        """A span around one firing."""
        ...

    def effect(self, held: Any) -> AbstractContextManager[Any]:
        """A span around one start of a claimed run, in the trace of the transition that enqueued it."""
        ...

    def resumed(self, carried: Mapping[str, str] | None) -> AbstractContextManager[Any]:
        """A stored trace made the present one, for what is fired later on a run's behalf."""
        ...

    def failed(self, error: BaseException) -> None:
        """Notes on the present span that the effect failed; its exception goes no further than its report."""
        ...


tracer: Tracer | None = None

_NOTHING: AbstractContextManager[None] = nullcontext()


def carried() -> Mapping[str, str] | None:
    """See `Tracer.carried`."""
    return tracer.carried() if tracer is not None else None


def transition(lifecycle: str, name: str, record_id: str) -> AbstractContextManager[Any]:
    """See `Tracer.transition`."""
    return tracer.transition(lifecycle, name, record_id) if tracer is not None else _NOTHING


def effect(held: Any) -> AbstractContextManager[Any]:
    """See `Tracer.effect`."""
    return tracer.effect(held) if tracer is not None else _NOTHING


def resumed(stored: Mapping[str, str] | None) -> AbstractContextManager[Any]:
    """See `Tracer.resumed`."""
    return tracer.resumed(stored) if tracer is not None else _NOTHING


def failed(error: BaseException) -> None:
    """See `Tracer.failed`."""
    if tracer is not None:
        tracer.failed(error)
