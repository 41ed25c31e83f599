"""Claims on PostgreSQL: finish the current run and claim the next in one statement and one commit."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from django.db import connections

from lifecycle.store import timing
from lifecycle.store.claims.contract import TABLE, ClaimedRun, Wanted, as_json, claimed, columns, pairs

# SKIP LOCKED stands in a MATERIALIZED CTE: as a sub-select a nested-loop plan may run it once per outer row and lock
# every due run (P20). The order is exactly the index's. The clock is volatile and could not be compared through the
# index, so a scalar sub-select reads it once.
_CANDIDATE = """\
SELECT id FROM {table}
WHERE status = 'queued' AND queue = %s AND available_at <= (SELECT {now}){watermark}
ORDER BY available_at, id LIMIT 1 FOR UPDATE SKIP LOCKED"""

_TAKE = """\
UPDATE {table} r SET status = 'running', fence = r.fence + 1, leased_by = %s, started_at = {now}, updated_at = {now},
    lease_until = {now} + r.lease_seconds * interval '1 second'
FROM candidate WHERE r.id = candidate.id RETURNING {columns}"""

_CLAIM = """\
WITH candidate AS MATERIALIZED (
{candidate})
{take}"""

_FINISH = """\
UPDATE {table} SET status = 'succeeded', outcome = 'succeeded', attempts = attempts + 1, result = %s::jsonb,
    error_kind = '', error_code = '', error = '', error_details = NULL,
    finished_at = {now}, updated_at = {now}, lease_until = NULL, leased_by = ''
WHERE id = %s AND fence = %s AND status = 'running'"""

_FINISH_AND_CLAIM = """\
WITH finished AS (
{finish} RETURNING id),
candidate AS MATERIALIZED (
{candidate}),
taken AS (
{take})
SELECT (SELECT count(*) FROM finished), {columns}
FROM (VALUES (1)) always(x) LEFT JOIN taken ON true"""

_RELEASE = """\
UPDATE {table} SET status = 'queued', lease_until = NULL, leased_by = '', updated_at = {now}{available}
WHERE id = %s AND fence = %s AND status = 'running'"""

# SKIP LOCKED: a run that is being finished, checkpointed or cancelled this very moment must not make the heartbeat of
# all the others wait.
_RENEW = """\
WITH held AS MATERIALIZED (
SELECT id FROM {table} WHERE {pairs} AND status = 'running' ORDER BY id FOR UPDATE SKIP LOCKED)
UPDATE {table} r SET lease_until = {now} + r.lease_seconds * interval '1 second', updated_at = {now}
FROM held WHERE r.id = held.id RETURNING r.id"""

_STILL_HELD = "SELECT id FROM {table} WHERE {pairs} AND status = 'running'"

_CHECKPOINT = """\
UPDATE {table} SET checkpoint = %s::jsonb, updated_at = {now},
    lease_until = {now} + lease_seconds * interval '1 second'
WHERE id = %s AND fence = %s AND status = 'running'"""

# Ordered like the claim: without it PostgreSQL takes "any one row" for a reason to walk over the table.
_DUE = """\
SELECT 1 FROM {table} WHERE status = 'queued' AND queue = %s AND available_at <= (SELECT {now})
ORDER BY available_at, id LIMIT 1"""


class PostgreSQLClaims:
    """See `Claims`."""

    def __init__(self, using: str) -> None:
        self.using = using

    def claim(self, wanted: Wanted) -> ClaimedRun | None:
        now, at = timing.sql_now(connections[self.using])
        candidate, candidate_values = self._candidate(wanted, now, at)
        take, take_values = self._take(wanted, now, at)
        rows = self._run(_CLAIM.format(candidate=candidate, take=take), [*candidate_values, *take_values])
        return claimed(rows[0]) if rows else None

    def finish_and_claim(self, held: ClaimedRun, result: Any, wanted: Wanted | None) -> tuple[bool, ClaimedRun | None]:
        now, at = timing.sql_now(connections[self.using])
        finish = _FINISH.format(table=TABLE, now=now)
        finish_values = [as_json(result), *at, *at, *held.proof]
        if wanted is None:
            return self._changed(finish, finish_values), None
        candidate, candidate_values = self._candidate(wanted, now, at)
        take, take_values = self._take(wanted, now, at)
        text = _FINISH_AND_CLAIM.format(finish=finish, candidate=candidate, take=take, columns=columns("taken"))
        [(finished, *taken)] = self._run(text, [*finish_values, *candidate_values, *take_values])
        return bool(finished), claimed(taken) if taken[0] is not None else None

    def release(self, held: ClaimedRun, delay: dt.timedelta | None = None) -> bool:
        now, at = timing.sql_now(connections[self.using])
        available, later = ("", []) if delay is None else (f", available_at = {now} + %s", [*at, delay])
        return self._changed(_RELEASE.format(table=TABLE, now=now, available=available), [*at, *later, *held.proof])

    def renew(self, proofs: Sequence[tuple[int, int]]) -> set[int]:
        if not proofs:
            return set()
        now, at = timing.sql_now(connections[self.using])
        among, numbers = pairs(proofs)
        rows = self._run(_RENEW.format(table=TABLE, pairs=among, now=now), [*numbers, *at, *at])
        renewed = {row[0] for row in rows}
        if len(renewed) < len(proofs):
            rest, numbers = pairs(proof for proof in proofs if proof[0] not in renewed)
            renewed |= {row[0] for row in self._run(_STILL_HELD.format(table=TABLE, pairs=rest), numbers)}
        return renewed

    def checkpoint(self, held: ClaimedRun, data: Any) -> bool:
        now, at = timing.sql_now(connections[self.using])
        return self._changed(_CHECKPOINT.format(table=TABLE, now=now), [as_json(data), *at, *at, *held.proof])

    def due(self, queue: str) -> bool:
        now, at = timing.sql_now(connections[self.using])
        return bool(self._run(_DUE.format(table=TABLE, now=now), [queue, *at]))

    def _candidate(self, wanted: Wanted, now: str, at: tuple[Any, ...]) -> tuple[str, list[Any]]:
        watermark = "" if wanted.watermark is None else " AND available_at >= %s"
        text = _CANDIDATE.format(table=TABLE, now=now, watermark=watermark)
        return text, [wanted.queue, *at, *([] if wanted.watermark is None else [wanted.watermark])]

    def _take(self, wanted: Wanted, now: str, at: tuple[Any, ...]) -> tuple[str, list[Any]]:
        text = _TAKE.format(table=TABLE, now=now, columns=columns("r"))
        return text, [wanted.worker, *at, *at, *at]

    def _run(self, text: str, values: Sequence[Any]) -> list[Any]:
        with connections[self.using].cursor() as cursor:
            cursor.execute(text, values)
            rows: list[Any] = cursor.fetchall()
        return rows

    def _changed(self, text: str, values: Sequence[Any]) -> bool:
        with connections[self.using].cursor() as cursor:
            cursor.execute(text, values)
            return bool(cursor.rowcount)
