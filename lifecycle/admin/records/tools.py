"""Tool: a transition out of a record's state, as a button or as the reasons why not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _

from lifecycle.admin.parts import labels, reasons
from lifecycle.admin.records import inputs
from lifecycle.definition.compiled import Definition
from lifecycle.runtime.results import Availability


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A transition out of the current state: open with its page's address, or closed with every reason."""

    name: str
    ident: str
    label: str
    way: str
    open: bool
    url: str = ""
    ellipsis: bool = False
    danger: bool = False
    why: Any = ""


def tool(request: HttpRequest, page: Any, definition: Definition, record: Any, one: Availability) -> Tool:
    """One transition, for this viewer."""
    edge = definition.transitions[one.name]
    asked = inputs.asks_for(definition, edge)
    way = labels.to_state(definition, one.targets)
    if asked:
        way = _("%(way)s. Asks for %(fields)s") % {"way": way, "fields": _listed(asked)}
    if one.description:
        way = f"{way}. {one.description}" if not way.endswith(".") else f"{way} {one.description}"
    refused = page.refuse_to_fire(request, record, edge)
    said = [(str(refusal), reasons.asked_by(refusal)) for refusal in one.refusals]
    if refused:
        said.insert(0, (refused, ""))
    ident = f"lc-why-{definition.name}-{one.name}"
    return Tool(
        name=one.name,
        ident=ident,
        label=str(one.label),
        way=way,
        open=one.allowed and not refused,
        url=page.fire_url(definition, record, edge),
        ellipsis=bool(asked),
        danger=bool(one.meta.get("destructive")),
        why=reasons.listed(said, ident) if said else "",
    )


def elsewhere(definition: Definition, state: str, label: str) -> str:
    """The transitions that do not start in this state, as a sentence."""
    others = [
        str(edge.label) for edge in definition.transitions.values() if edge.manual and state not in edge.sources
    ]  # fmt: skip
    if not others:
        return ""
    said = {"names": _listed(list(dict.fromkeys(others))), "state": label}
    if len(others) == 1:
        return _("%(names)s does not start in %(state)s.") % said
    return _("%(names)s do not start in %(state)s.") % said


def _listed(words: list[str]) -> str:
    if len(words) < 2:
        return "".join(words)
    return _("%(some)s and %(last)s") % {"some": ", ".join(words[:-1]), "last": words[-1]}
