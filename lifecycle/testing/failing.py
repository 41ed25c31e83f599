"""Failing: an effect made to fail before its code runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from lifecycle import registry
from lifecycle.definition.compiled import CompiledEffect, Definition
from lifecycle.exceptions import UnknownEffect
from lifecycle.execution import interference
from lifecycle.suggest import did_you_mean
from lifecycle.testing.arrangements import Arrangement

Error = BaseException | type[BaseException] | Callable[[], BaseException]


class MadeToFail(Exception):
    """What an effect raises when a test said that it fails."""


class Failing:
    """An effect that fails: ``left`` more times, ``times`` it did."""

    def __init__(self, lifecycle: str | None, effect: str, left: int, error: Error | None) -> None:
        self.lifecycle = lifecycle
        self.effect = effect
        self.left = left
        self.times = 0
        self.error = error

    def fail(self, definition: Definition, effect: CompiledEffect) -> None:
        """Raises, if this is the effect and it is to fail once more."""
        if effect.name != self.effect or self.lifecycle not in (None, definition.name) or self.left < 1:
            return
        self.left -= 1
        self.times += 1
        raise self._made()

    def _made(self) -> BaseException:
        if self.error is None:
            return MadeToFail(f"'{self.effect}' was made to fail by the test (time {self.times}).")
        return self.error if isinstance(self.error, BaseException) else self.error()


_failing: list[Failing] = []


def fail_effect(effect: Any, times: int = 1, error: Error | None = None) -> Arrangement[Failing]:
    """The next ``times`` attempts of an effect fail before its code runs.

    Args:
        effect: ``"orders.refund"`` (lifecycle and effect), the effect's own name, or the effect itself.
        times: how many attempts.
        error: what they raise: an exception, its class, or a function that makes one. By default `MadeToFail`,
            which is retried as any unexpected error is.

    Raises:
        UnknownEffect: no lifecycle has it; the nearest right name is in the sentence.
    """
    lifecycle, name = _named(effect)
    return Arrangement(_in_place(Failing(lifecycle, name, times, error)))


@contextmanager
def _in_place(failing: Failing) -> Iterator[Failing]:
    _failing.append(failing)
    interference.before = _before
    try:
        yield failing
    finally:
        _failing.remove(failing)
        if not _failing:
            interference.before = None


def _before(definition: Definition, effect: CompiledEffect, ctx: Any) -> None:
    for failing in _failing:
        failing.fail(definition, effect)


def _named(effect: Any) -> tuple[str | None, str]:
    name = effect if isinstance(effect, str) else effect.name
    definitions = registry.all()
    if any(name in definition.effects for definition in definitions):
        return None, name
    for definition in definitions:
        own = name.removeprefix(f"{definition.name}.")
        if own != name and own in definition.effects:
            return definition.name, own
    known = [f"{definition.name}.{own}" for definition in definitions for own in definition.effects]
    raise UnknownEffect(f"There is no effect '{name}'. {did_you_mean(name, known)}")
