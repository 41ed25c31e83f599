"""Holds: due triggers that were refused, parked with a growing pause."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connections, transaction

from lifecycle.definition.compiled import Definition
from lifecycle.exceptions import RecordNotFound
from lifecycle.models import TriggerHold
from lifecycle.store import records


@dataclass(frozen=True, kw_only=True)
class Held:
    """A stay whose trigger was refused, and why."""

    record_id: str
    version: int
    refusals: Sequence[Mapping[str, Any]]


def park(
    lifecycle: str,
    trigger: str,
    held: Sequence[Held],
    *,
    now: dt.datetime,
    backoff: dt.timedelta,
    maximum: dt.timedelta,
    using: str,
) -> None:
    """Parks refused triggers: the pause doubles with every refusal of the same stay, up to a maximum.

    Two sweeps may park the same stay at once: one row per stay is kept by the unique constraint, and which of the two
    counts of tries wins does not matter.
    """
    with transaction.atomic(using=using):
        rows = TriggerHold.objects.using(using)
        known = {
            (row.record_id, row.version): row
            for row in rows.filter(
                lifecycle=lifecycle, trigger=trigger, record_id__in=[one.record_id for one in held]
            ).order_by("id")
        }
        new, again = [], []
        for one in held:
            row = known.get((one.record_id, one.version))
            if row is None:
                row = TriggerHold(
                    lifecycle=lifecycle, trigger=trigger, record_id=one.record_id, version=one.version,
                    tries=0, created_at=now,
                )  # fmt: skip
                new.append(row)
            else:
                again.append(row)
            row.tries += 1
            row.retry_at = now + pause(row.tries, backoff, maximum)
            row.refusals = storable(one.refusals)
            row.updated_at = now
        if new:
            rows.bulk_create(new, ignore_conflicts=True)
        if again:
            rows.bulk_update(again, ["tries", "retry_at", "refusals", "updated_at"])


def pause(tries: int, backoff: dt.timedelta, maximum: dt.timedelta) -> dt.timedelta:
    """How long a trigger rests after so many refusals (1 or more) of one stay."""
    seconds = backoff.total_seconds() * 2.0 ** min(tries - 1, 64)
    return dt.timedelta(seconds=min(seconds, maximum.total_seconds()))


def clear(lifecycle: str, trigger: str, record_ids: Iterable[str], using: str) -> int:
    """Forgets the holds of records whose trigger fired."""
    return int(
        TriggerHold.objects.using(using)
        .filter(lifecycle=lifecycle, trigger=trigger, record_id__in=list(record_ids))
        .delete()[0]
    )


def to_be_tried(now: dt.datetime, limit: int, using: str) -> list[TriggerHold]:
    """Holds whose pause is over, longest over first."""
    return list(TriggerHold.objects.using(using).filter(retry_at__lte=now).order_by("retry_at", "id")[:limit])


def page(after_id: int, limit: int, using: str) -> list[TriggerHold]:
    """The next holds in the order of their ids."""
    return list(TriggerHold.objects.using(using).filter(pk__gt=after_id).order_by("pk")[:limit])


def drop_ended(definition: Definition, rows: Sequence[TriggerHold], using: str) -> int:
    """Of these holds of one lifecycle, deletes those whose stay is over: the record moved on, or is gone."""
    keys: dict[str, Any] = {}
    for row in rows:
        try:
            keys[row.record_id] = records.parse_id(definition, row.record_id)
        except RecordNotFound:
            continue
    versions = dict(
        definition.model._base_manager.using(using)
        .filter(pk__in=list(keys.values()))
        .values_list("pk", definition.version_field)
    )
    ended = [
        row.pk for row in rows if row.record_id not in keys or versions.get(keys[row.record_id]) != row.version
    ]  # fmt: skip
    return delete(ended, using)


def lock(hold_id: int, using: str) -> TriggerHold | None:
    """Locks a hold's row until the transaction ends; None when it is gone."""
    rows = TriggerHold.objects.using(using).filter(pk=hold_id)
    if connections[using].features.has_select_for_update:
        rows = rows.select_for_update()
    found: TriggerHold | None = rows.first()
    return found


def release(hold: TriggerHold, now: dt.datetime, using: str, *, afresh: bool) -> None:
    """Ends a locked hold's pause, so that the trigger is asked again; ``afresh`` lets its pauses begin anew."""
    hold.retry_at = now
    hold.updated_at = now
    if afresh:
        hold.tries = 0
    hold.save(using=using, update_fields=["retry_at", "updated_at", "tries"])


def delete(ids: Sequence[int], using: str) -> int:
    """Deletes holds by their own ids."""
    return int(TriggerHold.objects.using(using).filter(pk__in=ids).delete()[0]) if ids else 0


def storable(refusals: Iterable[Mapping[str, Any]]) -> Any:
    """Refusals as every database's JSON column takes them, whatever a guard put into their params."""
    return json.loads(json.dumps([_clean(dict(refusal)) for refusal in refusals], default=_text))


def _clean(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {_clean(str(key)): _clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    # PostgreSQL's JSON has no NUL.
    return value.replace("\x00", "") if isinstance(value, str) else value


def _text(value: Any) -> str:
    try:
        return str(value).replace("\x00", "")
    except Exception:  # noqa: BLE001 a broken str() must not cost the hold
        return f"<{type(value).__name__}>"
