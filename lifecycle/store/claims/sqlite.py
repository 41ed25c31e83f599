"""Claims on SQLite: one writer at a time, so one UPDATE … RETURNING is the claim; the clock is the application's."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from django.db import connections

from lifecycle import clock
from lifecycle.store import timing
from lifecycle.store.claims.contract import TABLE, ClaimedRun, Wanted, as_json, claimed, columns, pairs

# The lease's end is computed in SQL because lease_seconds is the row's. SQLite's own functions know milliseconds only,
# so the seconds are moved by them and the six digits are carried over as text (P31: one form, both sides).
_LEASE_END = "strftime('%%Y-%%m-%%d %%H:%%M:%%S', %s, '+' || lease_seconds || ' seconds') || %s"

_CLAIM = """\
UPDATE {table} SET status = 'running', fence = fence + 1, leased_by = %s, started_at = %s, updated_at = %s,
    lease_until = {lease_end}
WHERE id = (
    SELECT id FROM {table} WHERE status = 'queued' AND queue = %s AND available_at <= %s{watermark}
    ORDER BY available_at, id LIMIT 1)
RETURNING {columns}"""

_FINISH = """\
UPDATE {table} SET status = 'succeeded', outcome = 'succeeded', attempts = attempts + 1, result = %s,
    error_kind = '', error_code = '', error = '', error_details = NULL,
    finished_at = %s, updated_at = %s, lease_until = NULL, leased_by = ''
WHERE id = %s AND fence = %s AND status = 'running'"""

_RELEASE = """\
UPDATE {table} SET status = 'queued', lease_until = NULL, leased_by = '', updated_at = %s{available}
WHERE id = %s AND fence = %s AND status = 'running'"""

_RENEW = """\
UPDATE {table} SET lease_until = {lease_end}, updated_at = %s
WHERE {pairs} AND status = 'running' RETURNING id"""

_CHECKPOINT = """\
UPDATE {table} SET checkpoint = %s, updated_at = %s, lease_until = {lease_end}
WHERE id = %s AND fence = %s AND status = 'running'"""

_DUE = """\
SELECT 1 FROM {table} WHERE status = 'queued' AND queue = %s AND available_at <= %s
ORDER BY available_at, id LIMIT 1"""


class SQLiteClaims:
    """See `Claims`. Every statement is its own transaction: the write lock is held for that statement only."""

    def __init__(self, using: str) -> None:
        self.using = using

    def claim(self, wanted: Wanted) -> ClaimedRun | None:
        now = clock.now()
        at, low = timing.as_text(now), []
        if wanted.watermark is not None:
            low = [timing.shortest_text(wanted.watermark)]
        text = _CLAIM.format(
            table=TABLE, columns=columns(), lease_end=_LEASE_END, watermark=" AND available_at >= %s" if low else ""
        )
        rows = self._run(text, [wanted.worker, at, at, *_split(now), wanted.queue, at, *low])
        return claimed(rows[0]) if rows else None

    def finish_and_claim(self, held: ClaimedRun, result: Any, wanted: Wanted | None) -> tuple[bool, ClaimedRun | None]:
        at = timing.as_text(clock.now())
        finished = self._changed(_FINISH.format(table=TABLE), [as_json(result), at, at, *held.proof])
        return finished, self.claim(wanted) if wanted is not None else None

    def release(self, held: ClaimedRun, delay: dt.timedelta | None = None) -> bool:
        now = clock.now()
        available, later = ("", []) if delay is None else (", available_at = %s", [timing.as_text(now + delay)])
        text = _RELEASE.format(table=TABLE, available=available)
        return self._changed(text, [timing.as_text(now), *later, *held.proof])

    def renew(self, proofs: Sequence[tuple[int, int]]) -> set[int]:
        if not proofs:
            return set()
        now = clock.now()
        among, numbers = pairs(proofs)
        text = _RENEW.format(table=TABLE, lease_end=_LEASE_END, pairs=among)
        return {row[0] for row in self._run(text, [*_split(now), timing.as_text(now), *numbers])}

    def checkpoint(self, held: ClaimedRun, data: Any) -> bool:
        now = clock.now()
        text = _CHECKPOINT.format(table=TABLE, lease_end=_LEASE_END)
        return self._changed(text, [as_json(data), timing.as_text(now), *_split(now), *held.proof])

    def due(self, queue: str) -> bool:
        return bool(self._run(_DUE.format(table=TABLE), [queue, timing.as_text(clock.now())]))

    def _run(self, text: str, values: Sequence[Any]) -> list[Any]:
        with connections[self.using].cursor() as cursor:
            cursor.execute(text, values)
            rows: list[Any] = cursor.fetchall()  # the statement is complete, and committed, once its last row is read
        return rows

    def _changed(self, text: str, values: Sequence[Any]) -> bool:
        with connections[self.using].cursor() as cursor:
            cursor.execute(text, values)
            return bool(cursor.rowcount)


def _split(now: dt.datetime) -> tuple[str, str]:
    """Whole seconds, and the six digits with their dot."""
    text = timing.as_text(now)
    return text[:19], text[19:]
