"""Parameter page: a form for one parameter's value, and the changes made to it before."""

from __future__ import annotations

import datetime as dt
import enum
import json
import re
import typing
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.dateparse import parse_duration
from django.utils.duration import duration_string
from django.utils.translation import gettext as _

from lifecycle import operations
from lifecycle.admin.parts import labels, times
from lifecycle.admin.parts.parameter_values import kept
from lifecycle.definition import parameters as declared
from lifecycle.definition.compiled import Definition
from lifecycle.definition.parameters import InvalidParameter
from lifecycle.exceptions import LifecycleError
from lifecycle.models import OperatorAction
from lifecycle.operations.parameters import field_of
from lifecycle.runtime.acting import actor_of
from lifecycle.store import parameters

VALUE, SEEN, REASON = "value", "seen", "reason"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the page has to say, or the sentence that it is done."""

    done: str = ""
    status: int = 200
    context: dict[str, Any] = field(default_factory=dict)


def change_parameter(request: HttpRequest, definition: Definition, name: str, using: str) -> Answer:
    """By GET the form; by POST the change, or what is wrong with it and what was typed."""
    if request.method != "POST":
        return _form(definition, name, using)
    typed, reason = request.POST.get(VALUE, ""), request.POST.get(REASON, "")
    try:
        expected = json.loads(request.POST.get(SEEN, ""))
    except ValueError:
        said = _("This form arrived incomplete. Nothing was changed; load the page again.")
        return _form(definition, name, using, typed=typed, reason=reason, problem=said, status=400)
    facts: dict[str, Any] = {"actor": actor_of(request), "reason": reason, "expected": expected, "using": using}
    try:
        if "reset" in request.POST:
            made = operations.reset_parameter(definition, name, **facts)
        else:
            made = operations.set_parameter(definition, name, as_json(_hint(definition, name), typed), **facts)
    except LifecycleError as error:
        status = 409 if error.retryable else 400
        problem = _problem(error, definition, name, typed)
        return _form(definition, name, using, typed=typed, reason=reason, problem=problem, status=status)
    facts = {"lifecycle": definition.name, "name": name, "value": times.shown(getattr(made, name))}
    return Answer(done=_("Parameter %(name)s of %(lifecycle)s is now %(value)s. It counts from now on.") % facts)


def as_json(hint: Any, typed: str) -> Any:
    """What was typed, as the JSON that the parameter's type reads; what fits none stays text and is refused there."""
    inner, optional = _inner(hint)
    text = typed.strip()
    if optional and not text:
        return None
    if inner is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
    if inner is str:
        return typed
    if inner in (int, float):
        return _number(text, inner)
    if inner is dt.timedelta:
        return _duration(text)
    if inner is Decimal:
        return _decimal(text)
    if (isinstance(inner, type) and issubclass(inner, enum.Enum)) or typing.get_origin(inner) is typing.Literal:
        values = list(typing.get_args(inner)) or [one.value for one in inner]
        return next((value for value in values if str(value) == text), text)
    if inner in (dt.date, dt.datetime, dt.time) or getattr(inner, "__name__", "") == "UUID":
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def as_text(hint: Any, value: Any) -> str:
    """A value as its field shows it; `as_json` reads it back."""
    if value is None:
        return ""
    if isinstance(value, dt.timedelta):
        return str(duration_string(value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, set, frozenset, dict)):
        return json.dumps(declared.dump(value), ensure_ascii=False)
    dumped = declared.dump(value)
    return dumped if isinstance(dumped, str) else str(dumped)


def _number(text: str, kind: type[Any]) -> Any:
    try:
        return kind(text)
    except ValueError:
        return text


def _decimal(text: str) -> Any:
    try:
        return str(Decimal(text))
    except InvalidOperation:
        return text


WORDS = {"d": 86400, "h": 3600, "min": 60, "m": 60, "s": 1, "days": 86400, "hours": 3600, "minutes": 60, "seconds": 1}


def _duration(text: str) -> Any:
    """Durations as people write them: ``3 min``, ``2 d 12 h``, ``0:03:00``, ``PT3M``; a bare number is a guess."""
    words = text.lower().split()
    if words and len(words) % 2 == 0 and all(word in WORDS for word in words[1::2]):
        try:
            return sum(float(number) * WORDS[word] for number, word in zip(words[::2], words[1::2], strict=True))
        except ValueError:
            return text
    # As text a number would be so many seconds: what nobody said is refused instead.
    return f"{text} ?" if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) else text


def _field(definition: Definition, name: str, value: str) -> dict[str, Any]:
    hint = _hint(definition, name)
    inner, optional = _inner(hint)
    choices: list[tuple[str, str]] = []
    if inner is bool:
        choices = [("true", _("yes")), ("false", _("no"))]
    elif typing.get_origin(inner) is typing.Literal:
        choices = [(str(one), str(one)) for one in typing.get_args(inner)]
    elif isinstance(inner, type) and issubclass(inner, enum.Enum):
        choices = [(str(one.value), str(getattr(one, "label", one.value))) for one in inner]
    help_text = _written_as(inner)
    limits = field_of(definition, name).metadata
    bounds = [(_("at least"), limits.get("minimum")), (_("at most"), limits.get("maximum"))]
    told = [f"{word} {times.shown(limit)}" for word, limit in bounds if limit is not None]
    if told:
        help_text += " " + ", ".join(told).capitalize() + "."
    if limits.get("help"):
        help_text = f"{limits['help']} {help_text}"
    if choices:
        widget: forms.Widget = forms.Select(choices=[*([("", "—")] if optional else []), *choices])
    else:
        widget = forms.TextInput(attrs={"autocomplete": "off", "aria-describedby": "lc-value-help"})
    return {"widget": widget.render(VALUE, value, attrs={"id": "lc-value"}), "help": help_text}


def _written_as(inner: Any) -> str:
    if inner is dt.timedelta:
        return _("A duration with its unit: 3 min, 2 d 12 h, 0:03:00 or PT3M.")
    return _("%(type)s.") % {"type": declared.described(inner)}


def _problem(error: LifecycleError, definition: Definition, name: str, typed: str) -> str:
    """What is wrong, in the words of the field's help where the operation speaks of JSON and ISO 8601."""
    if not isinstance(error, InvalidParameter):
        return str(error)
    if error.got is not None:
        low = field_of(definition, name).metadata.get("minimum") == error.expected
        said = _("It must be at least %(limit)s; you entered %(value)s.")
        if not low:
            said = _("It may be at most %(limit)s; you entered %(value)s.")
        return said % {"limit": times.shown(error.expected), "value": times.shown(error.got)}
    inner, _optional = _inner(_hint(definition, name))
    if inner is dt.timedelta and not _is_duration(typed.strip()):
        said = _("“%(typed)s” is no duration.")
        if re.fullmatch(r"\s*[0-9]+(\.[0-9]+)?\s*", typed):
            said = _("“%(typed)s” has no unit.")
        return f"{said % {'typed': typed[:40]}} {_written_as(inner)}"
    return str(error)


def _is_duration(text: str) -> bool:
    read = _duration(text)
    if not isinstance(read, str):
        return True
    try:
        return bool(text) and parse_duration(read) is not None
    except OverflowError:  # a duration, and longer than any may be
        return True


def _form(
    definition: Definition,
    name: str,
    using: str,
    *,
    typed: str | None = None,
    reason: str = "",
    problem: str = "",
    status: int = 200,
) -> Answer:
    in_force, complaints = parameters.read_with_complaints(definition, using)
    current = getattr(in_force, name)
    default = getattr(declared.defaults(definition), name)
    shown = typed if typed is not None else as_text(_hint(definition, name), current)
    rows = OperatorAction.objects.using(using).filter(
        lifecycle=definition.name, action__in=["set_parameter", "reset_parameter"]
    )
    changes = [row for row in rows.order_by("-id")[:200] if row.before.get("parameter") == name][:20]
    context = {
        "definition": definition,
        "name": name,
        "field": _field(definition, name, shown),
        "in_force": times.shown(current),
        "declared": times.shown(default),
        "differs": current != default or name in complaints,
        "complaint": complaints.get(name, ""),
        "seen": json.dumps(declared.dump(current)),
        "reason": reason,
        "problem": problem,
        "uses": _uses(definition),
        "changes": [
            {
                "what": labels.action_label(row.action),
                "before": kept(definition.name, name, row.before.get("before")),
                "after": kept(definition.name, name, row.before.get("after")),
                "who": row.actor_label or row.actor_id,
                "at": times.tag(row.at),
                "reason": row.reason,
            }
            for row in changes
        ],
    }
    return Answer(status=status, context=context)


def _uses(definition: Definition) -> list[str]:
    """The timeouts and reminders that may ask for it: what a new value will be judged by."""
    return [*definition.timeouts, *definition.reminders]


def _hint(definition: Definition, name: str) -> Any:
    return typing.get_type_hints(definition.parameters)[name]


def _inner(hint: Any) -> tuple[Any, bool]:
    """The type, and whether there may be none of it."""
    arguments = typing.get_args(hint)
    if type(None) in arguments:
        rest = [one for one in arguments if one is not type(None)]
        return (rest[0] if len(rest) == 1 else hint), True
    return hint, False
