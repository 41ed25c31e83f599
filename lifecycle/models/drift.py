"""Drift: rows whose state no entry explains — what somebody changed past the lifecycle, found afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import CharField, Exists, F, OuterRef, Value

from lifecycle.definition.compiled import Definition
from lifecycle.models.history import TransitionLog
from lifecycle.models.record_ids import outer_record_id

NO_ENTRY: Final = "no transition led here"
NO_BEGINNING: Final = "no record begins here, and no transition led here"
BEHIND: Final = "its history is ahead of it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drifted:
    """A row that its history does not explain, and in which way."""

    record_id: str
    state: str
    version: int
    reason: str


def drifted(definition: Definition, using: str) -> Iterator[Drifted]:
    """Every such row of one lifecycle: one statement, a union of three joins, each answered by the history's index.

    1. a version without an entry of that number that led to this state;
    2. version 0 in a state where no record begins, without an entry (of a creation, an adoption or an import);
    3. an entry with a greater version: the row was put back by a fixture or a backup. Comparing only the newest numbers
       (the plain join) misses these.
    """
    state, version = definition.state_field, definition.version_field
    rows = definition.model._base_manager.using(using).order_by()
    entries = TransitionLog.objects.using(using).filter(
        lifecycle=definition.name, record_id=outer_record_id(definition.model, using)
    )
    explained = Exists(entries.filter(version=OuterRef(version), target=OuterRef(state)))
    unexplained = rows.filter(**{f"{version}__gt": 0}).exclude(explained)
    unbegun = rows.filter(**{version: 0}).exclude(**{f"{state}__in": definition.initial}).exclude(explained)
    behind = rows.filter(Exists(entries.filter(version__gt=OuterRef(version))))
    union = _with(unexplained, definition, NO_ENTRY).union(
        _with(unbegun, definition, NO_BEGINNING), _with(behind, definition, BEHIND), all=True
    )
    for pk, state_found, version_found, reason in union.iterator():
        yield Drifted(record_id=str(pk), state=state_found, version=version_found, reason=reason)


def _with(rows: Any, definition: Definition, reason: str) -> Any:
    reasoned = rows.annotate(
        _lifecycle_reason=Value(reason, output_field=CharField()), _lifecycle_state=F(definition.state_field)
    )
    return reasoned.values_list("pk", "_lifecycle_state", definition.version_field, "_lifecycle_reason")
