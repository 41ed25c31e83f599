"""Label: a state, a transition, an operator action as people read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from lifecycle.definition.compiled import Definition
from lifecycle.runtime.deciding.sentences import either

OF_OPERATOR_ACTION = {
    "retry": gettext_lazy("Retry"),
    "continue": gettext_lazy("Continue"),
    "cancel": gettext_lazy("Cancel"),
    "set_parameter": gettext_lazy("Parameter changed"),
    "reset_parameter": gettext_lazy("Parameter back to the declaration"),
    "release_hold": gettext_lazy("Hold released"),
    "fire_held": gettext_lazy("Held trigger tried"),
}


def state_label(definition: Definition | None, state: str | None) -> str:
    """A state's label; its bare name where nobody knows it."""
    known = definition.states.get(state or "") if definition is not None else None
    return str(known.label) if known is not None else (state or "")


def transition_label(definition: Definition | None, name: str | None) -> str:
    """A transition's label; its bare name where nobody knows it."""
    if name == "$create":
        return _("Created")
    if name == "$touch":
        return _("Edited")
    known = definition.transitions.get(name or "") if definition is not None else None
    return str(known.label) if known is not None else (name or "")


def to_state(definition: Definition, targets: Sequence[str]) -> str:
    """``→ Fulfilled, final``; several targets with “or”."""
    told = []
    for target in targets:
        state = definition.states.get(target)
        label = str(state.label) if state is not None else target
        told.append(_("%(state)s, final") % {"state": label} if state is not None and state.final else label)
    return "→ " + either(told)


def action_label(action: str) -> Any:
    """An action's name as people read it."""
    return OF_OPERATOR_ACTION.get(action, action)
