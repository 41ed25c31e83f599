"""Walk: which transitions the tests of this process have reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lifecycle import registry
from lifecycle.models import TransitionLog
from lifecycle.store import history

Step = tuple[str, str, str | None, str]  # lifecycle, transition, source, target

_steps: set[Step] = set()
_originals: dict[str, Any] = {}


@dataclass(frozen=True, kw_only=True)
class Walk:
    """What was reached of one lifecycle, and what was not."""

    lifecycle: str
    reached: tuple[str, ...]
    missing: tuple[str, ...]
    missing_steps: tuple[tuple[str, str], ...]
    """(transition, source) pairs never taken, of the transitions that were reached from somewhere else."""
    missing_states: tuple[str, ...]

    def __bool__(self) -> bool:
        return not self.missing

    def __str__(self) -> str:
        total = len(self.reached) + len(self.missing)
        lines = [f"{self.lifecycle}: {len(self.reached)} of {total} transitions reached"]
        if self.missing:
            lines.append(f"never fired: {', '.join(self.missing)}")
        if self.missing_steps:
            lines.append("never from: " + ", ".join(f"{name} from {source}" for name, source in self.missing_steps))
        if self.missing_states:
            lines.append(f"never entered: {', '.join(self.missing_states)}")
        return "\n  ".join(lines)


def walk(lifecycle: Any) -> Walk:
    """How far the tests have come so far; true when every transition was fired at least once.

    What was fired before `start` (the pytest plugin calls it; so does the first call of this) is not known.
    """
    start()
    definition = registry.of(lifecycle)
    steps = {step for step in _steps if step[0] == definition.name}
    fired = {transition for _, transition, _, _ in steps}
    taken = {(transition, source) for _, transition, source, _ in steps}
    return Walk(
        lifecycle=definition.name,
        reached=tuple(name for name in definition.transitions if name in fired),
        missing=tuple(name for name in definition.transitions if name not in fired),
        missing_steps=tuple(
            (name, source)
            for name, transition in definition.transitions.items()
            if name in fired
            for source in definition.states
            if source in transition.sources and (name, source) not in taken
        ),
        missing_states=tuple(state for state in definition.states if state not in {step[3] for step in steps}),
    )


def start() -> None:
    """Begins to remember; again and again does no harm.

    Signals would not do: they are sent after a commit, and a `TestCase` never commits.
    """
    if _originals:
        return
    append, append_many = history.append, history.append_many
    _originals.update(append=append, append_many=append_many)

    def noting(entry: TransitionLog, using: str) -> TransitionLog:
        return _note([append(entry, using)])[0]

    def noting_many(entries: Sequence[TransitionLog], using: str) -> list[TransitionLog]:
        return _note(append_many(entries, using))

    history.append, history.append_many = noting, noting_many


def stop() -> None:
    """Ends it, and forgets what was remembered."""
    for name, original in _originals.items():
        setattr(history, name, original)
    _originals.clear()
    _steps.clear()


def _note(entries: list[TransitionLog]) -> list[TransitionLog]:
    _steps.update((entry.lifecycle, entry.transition, entry.source, entry.target) for entry in entries)
    return entries
