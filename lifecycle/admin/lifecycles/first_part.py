"""First part: what of a lifecycle too large for one picture its section shows first."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext as _

from lifecycle import drawing
from lifecycle.definition.compiled import Definition

# Around more late states than this the picture is no longer small.
LATE_SHOWN = 3


def shown_first(definition: Definition, shown: Mapping[str, drawing.Count]) -> tuple[list[str], str]:
    """The states to draw around, and why: what is late, else where most open records are, else the beginning."""
    late = [name for name in definition.states if name in shown and shown[name].late]
    if late:
        return late[:LATE_SHOWN], _("The part around what is late.")
    full = [name for name in definition.states if name in shown and not definition.states[name].final]
    if full:
        fullest = max(full, key=lambda name: shown[name].number)
        said = {"state": definition.states[fullest].label}
        return [fullest], _("The part around %(state)s, where most open records are.") % said
    return list(definition.initial), _("The part around the beginning.")
