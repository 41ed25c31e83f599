"""Claims on MySQL and MariaDB: no UPDATE … RETURNING there, so two steps in one short transaction."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from django.db import connections, transaction

from lifecycle.store import timing
from lifecycle.store.claims.contract import TABLE, ClaimedRun, Wanted, as_json, claimed, columns, pairs

# Under READ COMMITTED (Django's default; checked) the locking read sees what is committed now and takes no gap locks.
# The order must be the index's: a filesort would lock every matching row (P34).
_CANDIDATE = """\
SELECT id FROM {table} WHERE status = 'queued' AND queue = %s AND available_at <= {now}{watermark}
ORDER BY available_at, id LIMIT 1 FOR UPDATE SKIP LOCKED"""

_TAKE = """\
UPDATE {table} SET status = 'running', fence = fence + 1, leased_by = %s, started_at = {now}, updated_at = {now},
    lease_until = {now} + INTERVAL lease_seconds SECOND
WHERE id = %s"""

_READ = "SELECT {columns} FROM {table} WHERE id = %s"

_FINISH = """\
UPDATE {table} SET status = 'succeeded', outcome = 'succeeded', attempts = attempts + 1, result = %s,
    error_kind = '', error_code = '', error = '', error_details = NULL,
    finished_at = {now}, updated_at = {now}, lease_until = NULL, leased_by = ''
WHERE id = %s AND fence = %s AND status = 'running'"""

_RELEASE = """\
UPDATE {table} SET status = 'queued', lease_until = NULL, leased_by = '', updated_at = {now}{available}
WHERE id = %s AND fence = %s AND status = 'running'"""

_HELD = "SELECT id FROM {table} WHERE {pairs} AND status = 'running' ORDER BY id{lock}"

_RENEW = """\
UPDATE {table} SET lease_until = {now} + INTERVAL lease_seconds SECOND, updated_at = {now} WHERE id IN ({ids})"""

_CHECKPOINT = """\
UPDATE {table} SET checkpoint = %s, updated_at = {now}, lease_until = {now} + INTERVAL lease_seconds SECOND
WHERE id = %s AND fence = %s AND status = 'running'"""

_DUE = """\
SELECT 1 FROM {table} WHERE status = 'queued' AND queue = %s AND available_at <= {now}
ORDER BY available_at, id LIMIT 1"""


class MySQLClaims:
    """See `Claims`."""

    def __init__(self, using: str) -> None:
        self.using = using

    def claim(self, wanted: Wanted) -> ClaimedRun | None:
        with transaction.atomic(using=self.using):
            return self._claim(wanted)

    def finish_and_claim(self, held: ClaimedRun, result: Any, wanted: Wanted | None) -> tuple[bool, ClaimedRun | None]:
        now, at = timing.sql_now(connections[self.using])
        with transaction.atomic(using=self.using):
            finish = _FINISH.format(table=TABLE, now=now)
            finished = self._changed(finish, [as_json(result), *at, *at, *held.proof])
            return finished, self._claim(wanted) if wanted is not None else None

    def release(self, held: ClaimedRun, delay: dt.timedelta | None = None) -> bool:
        now, at = timing.sql_now(connections[self.using])
        available, later = "", []
        if delay is not None:
            available = f", available_at = {now} + INTERVAL %s MICROSECOND"
            later = [*at, delay // dt.timedelta(microseconds=1)]
        text = _RELEASE.format(table=TABLE, now=now, available=available)
        return self._changed(text, [*at, *later, *held.proof])

    def renew(self, proofs: Sequence[tuple[int, int]]) -> set[int]:
        if not proofs:
            return set()
        now, at = timing.sql_now(connections[self.using])
        among, numbers = pairs(proofs)
        with transaction.atomic(using=self.using):
            # A run that is being finished this very moment must not make the heartbeat of the others wait.
            text = _HELD.format(table=TABLE, pairs=among, lock=" FOR UPDATE SKIP LOCKED")
            renewed = [row[0] for row in self._run(text, numbers)]
            if renewed:
                ids = ", ".join(["%s"] * len(renewed))
                self._changed(_RENEW.format(table=TABLE, now=now, ids=ids), [*at, *at, *renewed])
        missing = [proof for proof in proofs if proof[0] not in renewed]
        if not missing:
            return set(renewed)
        among, numbers = pairs(missing)
        return {*renewed, *(row[0] for row in self._run(_HELD.format(table=TABLE, pairs=among, lock=""), numbers))}

    def checkpoint(self, held: ClaimedRun, data: Any) -> bool:
        now, at = timing.sql_now(connections[self.using])
        return self._changed(_CHECKPOINT.format(table=TABLE, now=now), [as_json(data), *at, *at, *held.proof])

    def due(self, queue: str) -> bool:
        now, at = timing.sql_now(connections[self.using])
        return bool(self._run(_DUE.format(table=TABLE, now=now), [queue, *at]))

    def _claim(self, wanted: Wanted) -> ClaimedRun | None:
        connection = connections[self.using]
        now, at = timing.sql_now(connection)
        watermark, low = "", []
        if wanted.watermark is not None:
            text, values = timing.moment(connection, wanted.watermark)
            watermark, low = f" AND available_at >= {text}", list(values)
        found = self._run(_CANDIDATE.format(table=TABLE, now=now, watermark=watermark), [wanted.queue, *at, *low])
        if not found:
            return None
        run_id = found[0][0]
        self._changed(_TAKE.format(table=TABLE, now=now), [wanted.worker, *at, *at, *at, run_id])
        return claimed(self._run(_READ.format(table=TABLE, columns=columns()), [run_id])[0])

    def _run(self, text: str, values: Sequence[Any]) -> list[Any]:
        with connections[self.using].cursor() as cursor:
            cursor.execute(text, values)
            return list(cursor.fetchall())

    def _changed(self, text: str, values: Sequence[Any]) -> bool:
        with connections[self.using].cursor() as cursor:
            cursor.execute(text, values)
            return bool(cursor.rowcount)
