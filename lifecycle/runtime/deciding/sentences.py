"""Sentences: what the runtime itself answers to people, put into words in the language of whoever reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy


def starts_elsewhere(transition: str, starts: Sequence[Any], state: Any) -> Any:
    """The transition starts in other states (their labels) than the record is in."""
    return format_lazy(
        gettext_lazy("'{transition}' starts in {states}; the record is {state}."),
        transition=transition,
        states=_alternatives(tuple(starts)),
        state=state,
    )


def unknown_state(state: str | None) -> Any:
    """How a state is called that the lifecycle does not have."""
    return format_lazy(gettext_lazy("unknown to the lifecycle ('{state}')"), state=state)


def may_not_fire(transition: str) -> Any:
    """The actor lacks the permission."""
    return format_lazy(gettext_lazy("You may not fire '{transition}'."), transition=transition)


def system_only(transition: str) -> Any:
    """People may not fire it."""
    return format_lazy(gettext_lazy("'{transition}' is fired by the system only."), transition=transition)


def does_not_hold(transition: str, guard: str) -> Any:
    """A guard said no and gave no reason; its name in words stands for one."""
    return format_lazy(
        gettext_lazy("'{transition}' is refused: {guard} does not hold."),
        transition=transition,
        guard=guard.replace("_", " "),
    )


def _joined(labels: tuple[Any, ...]) -> str:
    return _(" or ").join(str(label) for label in labels)


_alternatives = lazy(_joined, str)
