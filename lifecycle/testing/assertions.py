"""Assertions: what was refused, what happened, what is pending."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lifecycle import registry
from lifecycle.definition.names import effect_name
from lifecycle.exceptions import LifecycleError
from lifecycle.models import Run, TransitionLog
from lifecycle.store import records

_PENDING = ("queued", "running")


class Refusing:
    """What a block was refused with, once it has ended."""

    error: LifecycleError

    @property
    def codes(self) -> list[str]:
        """Every code the error holds: its own, those of its refusals and of its problems."""
        return _codes(self.error)


@contextmanager
def assert_refused(code: str, record: Any = None) -> Iterator[Refusing]:
    """The block raises one of the library's errors with this code — its own, a refusal's or an input problem's.

    Args:
        code: such as ``"no_address"``, ``"permission_denied"``, ``"invalid_state"``, ``"conflict"``.
        record: if given, it must be as it was: in the database, and history has nothing new.
    """
    found = Refusing()
    before = _picture(record) if record is not None else None
    try:
        yield found
    except LifecycleError as error:
        found.error = error
        if code not in found.codes:
            raise AssertionError(f"Refused with {', '.join(found.codes)} instead of '{code}': {error}") from error
    else:
        raise AssertionError(f"Nothing was refused; expected '{code}'.")
    if record is not None and _picture(record) != before:
        raise AssertionError(f"Refused with '{code}', but something was written: {before} became {_picture(record)}.")


def assert_history(record: Any, transitions: Sequence[Any], *, lifecycle: Any = None) -> list[TransitionLog]:
    """The record's entries are exactly these transitions, in this order; creations are ``"$create"``.

    Args:
        transitions: names, or the `Transition` objects.

    Returns:
        The entries.
    """
    definition = registry.of(lifecycle if lifecycle is not None else record)
    entries = list(TransitionLog.objects.using(record._state.db).of_life(definition.name, records.text_id(record)))
    expected = [one if isinstance(one, str) else one.name for one in transitions]
    if [entry.transition for entry in entries] != expected:
        happened = "\n".join(
            f"  {entry.version}. {entry.transition}: {entry.source} → {entry.target}" for entry in entries
        )
        raise AssertionError(f"Expected {expected}, but this happened:\n{happened or '  nothing'}")
    return entries


def assert_pending(effect: Any, record: Any = None, *, times: int | None = None, lifecycle: Any = None) -> Run:
    """An effect is pending: queued or being done.

    Args:
        effect: its name, ``"lifecycle.name"``, or the effect itself.
        record: by this record; by default by any.
        times: exactly so often; by default at least once.

    Returns:
        The latest such run.
    """
    name = effect if isinstance(effect, str) else effect.name
    rows: list[Run] = list(_runs(record, lifecycle).filter(status__in=_PENDING).order_by("id"))
    found = [run for run in rows if name in (run.effect, f"{run.lifecycle}.{run.effect}")]
    if found and times in (None, len(found)):
        return found[-1]
    pending = ", ".join(f"{effect_name(run.lifecycle, run.effect)} (by {run.record_id})" for run in rows) or "nothing"
    often = "" if times is None else f" {times} times"
    raise AssertionError(f"Expected '{name}' to be pending{often}; pending is {pending}.")


def assert_nothing_pending(record: Any = None, *, lifecycle: Any = None) -> None:
    """No run is queued or being done (by this record; by default by any)."""
    rows: list[Run] = list(_runs(record, lifecycle).filter(status__in=_PENDING).order_by("id"))
    if rows:
        raise AssertionError("Still pending: " + ", ".join(str(run) for run in rows) + ".")


def _runs(record: Any, lifecycle: Any) -> Any:
    if record is None:
        return Run.objects.filter(lifecycle=registry.of(lifecycle).name) if lifecycle else Run.objects.all()
    definition = registry.of(lifecycle if lifecycle is not None else record)
    return Run.objects.using(record._state.db).of_life(definition.name, records.text_id(record))


def _codes(error: LifecycleError) -> list[str]:
    codes = [error.code, *(refusal.code for refusal in error.refusals)]
    codes += [problem.code for problem in error.problems if hasattr(problem, "code")]
    return list(dict.fromkeys(codes))


def _picture(record: Any) -> dict[str, Any]:
    definition = registry.of(record)
    using, record_id = record._state.db, records.text_id(record)
    row = type(record)._base_manager.using(using).filter(pk=record.pk).values().first()
    return {
        "row": row,
        "entries": TransitionLog.objects.using(using).of(definition.name, record_id).count(),
        "runs": Run.objects.using(using).of(definition.name, record_id).count(),
    }
