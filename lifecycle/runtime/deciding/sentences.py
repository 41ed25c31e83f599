"""Sentences: what the runtime itself answers to people, put into words in the language of whoever reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from lifecycle.definition.compiled import Definition


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


def someone_was_faster(definition: Definition, *, now: int, seen: int) -> str:
    """The decision was made on another version of the record."""
    said = _(
        "This %(model)s was handled by someone else meanwhile: it is at version %(now)s, you decided on version "
        "%(seen)s. Please look again."
    )
    return said % {"model": definition.model._meta.verbose_name, "now": now, "seen": seen}


def stay_is_over(definition: Definition, transition: Any, began: int, now: int, state: str) -> str:
    """The record has left the state in which the transition with this label was enqueued."""
    known = definition.states.get(state)
    said = _(
        "“%(transition)s” belongs to a stay that began with version %(began)s and is over: the record is at version "
        "%(now)s, %(state)s."
    )
    label = known.label if known is not None else state
    return said % {"transition": transition, "began": began, "now": now, "state": label}


def others_at_each_try(number: int) -> str:
    """A batch was given up: its records did not stand still."""
    said = _("Others changed records among these %(number)s at each try; nothing of this batch was fired.")
    return said % {"number": number}


def either(labels: Sequence[Any]) -> str:
    """Alternatives as people list them: ``A``, ``A or B``, ``A, B or C``."""
    words = [str(label) for label in labels]
    if len(words) < 2:
        return "".join(words)
    return _("%(some)s or %(last)s") % {"some": ", ".join(words[:-1]), "last": words[-1]}


_alternatives = lazy(either, str)
