"""Unanswered: a run whose claim was committed while its answer was lost with the connection."""

from __future__ import annotations

from collections.abc import Collection

from django.db import connections

from lifecycle.store.claims.contract import TABLE, ClaimedRun, claimed, columns

_HELD = f"""\
SELECT {columns()} FROM {TABLE}
WHERE lease_until IS NOT NULL AND status = 'running' AND leased_by = %s ORDER BY id"""  # noqa: S608 names of ours


def held_by(worker: str, known: Collection[tuple[int, int]], using: str) -> list[ClaimedRun]:
    """The runs this worker holds without having begun them.

    Args:
        worker: a name nobody else claims under.
        known: the proofs of runs it did begin.
        using: the database.
    """
    with connections[using].cursor() as cursor:
        cursor.execute(_HELD, [worker])
        rows = [claimed(row) for row in cursor.fetchall()]
    return [row for row in rows if row.proof not in known]
