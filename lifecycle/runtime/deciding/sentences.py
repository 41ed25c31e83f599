"""Sentences: what the runtime itself answers to people, put into words in the language of whoever reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy


def starts_elsewhere(transition: Any, starts: Sequence[Any], state: Any) -> Any:
    """The transition starts in other states than the record is in; all of them by their labels."""
    return format_lazy(
        gettext_lazy("“{transition}” starts in {states}; the record is {state}."),
        transition=transition,
        states=_alternatives(tuple(starts)),
        state=state,
    )


def unknown_state(state: str | None) -> Any:
    """How a state is called that the lifecycle does not have."""
    return format_lazy(gettext_lazy("unknown to the lifecycle (“{state}”)"), state=state)


def may_not_fire(transition: Any) -> Any:
    """The actor lacks the permission for the transition with this label."""
    return format_lazy(gettext_lazy("You have no permission for “{transition}”."), transition=transition)


def system_only(transition: Any) -> Any:
    """People may not fire the transition with this label."""
    return format_lazy(gettext_lazy("“{transition}” is fired by the system only."), transition=transition)


def creation() -> Any:
    """How the creation of a record is called where a transition's label would stand."""
    return gettext_lazy("Creation")


def does_not_hold(transition: Any, guard: str) -> Any:
    """A guard said no and gave no reason; its name in words stands for one."""
    return format_lazy(
        gettext_lazy("“{transition}” is refused: {guard} does not hold."),
        transition=transition,
        guard=guard.replace("_", " "),
    )


def either(labels: Sequence[Any]) -> str:
    """Alternatives as people list them: ``A``, ``A or B``, ``A, B or C``."""
    words = [str(label) for label in labels]
    if len(words) < 2:
        return "".join(words)
    return _("%(some)s or %(last)s") % {"some": ", ".join(words[:-1]), "last": words[-1]}


_alternatives = lazy(either, str)
