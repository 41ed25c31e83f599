"""Notice: what became of a click that did nothing, and what had been typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from lifecycle.exceptions import InvalidInput
from lifecycle.refusals import Refusal
from orders.models import Order
from orders.web import conflicts
from orders.web.reasons import said

# Fields of a form by their labels, and what had been filled in.
Typed = list[tuple[Any, Any]]


@dataclass(frozen=True, kw_only=True)
class Notice:
    """What stands above the order's page."""

    title: str
    sentences: list[str]
    typed: Typed = field(default_factory=list)
    tone: str = "waiting"


def handled_by_someone_else(order: Order, seen: int, reader: Any, typed: Typed) -> Notice:
    """The page was stale: who did what since."""
    told = conflicts.told(order, seen, reader)
    sentences = [*told.sentences, _("Nothing you entered was saved:")] if typed else told.sentences
    return Notice(title=told.title, sentences=sentences, typed=typed)


def to_correct(error: InvalidInput, form: Any) -> Notice:
    """The input was wrong: the form says where, or the notice does where there is none."""
    sentences = [] if form is not None and form.errors else [str(problem) for problem in error.problems]
    return Notice(title=_("Please correct what is marked."), sentences=sentences, tone="danger")


def not_done(refusals: Sequence[Refusal], typed: Typed) -> Notice:
    """Refused, with every reason."""
    sentences = [said(refusal) for refusal in refusals]
    return Notice(title=_("Not done."), sentences=sentences, typed=typed, tone="danger")


def logged_in_again(typed: Typed) -> Notice:
    """The session was over before the button was pressed."""
    sentences = [_("Nothing was done: press the button again.")]
    if typed:
        sentences.append(_("What you had filled in:"))
    return Notice(title=_("You had to log in again."), sentences=sentences, typed=typed)


def filled_in(form: Any, given: Mapping[str, str]) -> Typed:
    """What was filled in of a form, by its labels."""
    fields = form().fields if form is not None else {}
    return [(fields[name].label or name if name in fields else name, value) for name, value in given.items() if value]
