"""Fingerprint: the ETag of a view, which tells by one query whether the client has it already."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Count, Max, Q, QuerySet, Subquery, Sum
from django.db.models.functions import JSONObject
from django.utils.translation import get_language

from lifecycle import clock, payloads
from lifecycle.definition.compiled import Definition
from lifecycle.models import ParameterOverride, Run

_RUNS = "lifecycle_seen_runs"
_PARAMETERS = "lifecycle_seen_parameters"
_TAG = re.compile(r'(?:W/)?"(v\d+-(?P<print>[0-9a-f]{32})-(?P<at>[0-9a-f]{1,16}))"')


def watched(queryset: QuerySet[Any], definition: Definition, record_id: str | None) -> QuerySet[Any]:
    """The queryset, each row bringing along what tells whether its runs or the parameters have changed.

    Without the id (the address names another column than the key) the runs need a query of their own.
    """
    # OuterRef-less on purpose: a key's text form is Python's (a UUID has no hyphens in SQLite).
    overrides = ParameterOverride.objects.filter(lifecycle=definition.name).order_by().values("lifecycle")
    seen = {
        _PARAMETERS: Subquery(overrides.annotate(seen=JSONObject(n=Count("id"), at=Max("updated_at"))).values("seen"))
    }
    if record_id is not None:
        seen[_RUNS] = Subquery(_seen_runs(definition, record_id))
    annotated: QuerySet[Any] = queryset.annotate(**seen)
    return annotated


def fingerprint(record: Any, definition: Definition, record_id: str, reader: Any, parts: Sequence[Any] = ()) -> str:
    """32 hex digits that change when the record's row, its runs, the parameters, the reader or the language do.

    Args:
        parts: whatever else the view shows; told apart by its text.
    """
    held: Mapping[str, Any] = record.__dict__
    runs = held[_RUNS] if _RUNS in held else next(iter(_seen_runs(definition, record_id, record._state.db)), None)
    columns = {f.attname: _stable(held[f.attname]) for f in record._meta.concrete_fields if f.attname in held}
    return payloads.digest(columns, runs, held.get(_PARAMETERS), definition.hash, str(reader), get_language(), parts)


def tag(version: int, print_: str) -> str:
    """The ``ETag``: weak, because the same facts may be rendered differently; it can be sent as ``If-Match``."""
    return f'W/"v{version}-{print_}-{int(clock.now().timestamp()):x}"'


def still_good(header: str | None, print_: str, seconds: float) -> str | None:
    """The client's tag among ``If-None-Match`` that still holds, or None.

    Guards may look at more than this record, and at the clock: after some seconds a tag is not trusted any more,
    and the view is made anew.
    """
    for found in _TAG.finditer(header or ""):
        age = clock.now().timestamp() - int(found["at"], 16)
        if found["print"] == print_ and -1 <= age <= seconds:
            return f'W/"{found[1]}"'
    return None


def _seen_runs(definition: Definition, record_id: Any, using: str | None = None) -> Any:
    rows = Run.objects.using(using) if using else Run.objects
    return (
        rows.filter(lifecycle=definition.name, record_id=record_id)
        .order_by()
        .values("record_id")
        .annotate(
            seen=JSONObject(
                n=Count("id"),
                at=Max("updated_at"),
                # Under a stopped clock `updated_at` does not tell everything apart.
                attempts=Sum("attempts"),
                crashes=Sum("crashes"),
                fences=Sum("fence"),
                tries=Sum("follow_up_tries"),
                running=Count("id", filter=Q(status="running")),
                finished=Count("id", filter=Q(finished_at__isnull=False)),
                pending=Count("id", filter=Q(follow_up="pending")),
            )
        )
        .values_list("seen", flat=True)
    )


def _stable(value: Any) -> Any:
    return bytes(value).hex() if isinstance(value, (memoryview, bytes)) else value
