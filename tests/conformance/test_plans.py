"""How PostgreSQL finds the rows: by the index made for it, without a sort or a walk over the table, at 150 000 rows."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from lifecycle import clock
from lifecycle.models import Run
from lifecycle.store import claims, lost_leases, outcomes
from lifecycle.store.claims import Wanted
from lifecycle.store.outcomes import Failure
from tests.execution.rows import USING, an_entry, claim, queue_runs

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]

TABLE = Run._meta.db_table
FILL = f"""
INSERT INTO {TABLE} (entry_id, lifecycle, record_id, effect, queue, status, available_at, attempts, max_attempts,
    retry_base, crashes, max_crashes, fence, lease_seconds, leased_by, idempotency_key, error_kind, error_code, error,
    outcome, follow_up, follow_up_tries, follow_up_error, reminder, created_at, updated_at)
SELECT %s, 'parcels', 'x', 'refund_postage', 'default', CASE WHEN n %% 3 = 0 THEN 'queued' ELSE 'succeeded' END,
    now() + CASE WHEN n %% 3 = 0 THEN interval '1 day' ELSE - interval '1 day' END + n * interval '1 ms', 0, 1,
    0, 0, 3, 0, 60, '', gen_random_uuid(), '', '', '',
    '', 'none', 0, '', '', now(), now()
FROM generate_series(1, 105000) n
"""


def fill() -> None:
    """70 000 finished runs, 35 000 that are due tomorrow, and a few for the test."""
    entry = an_entry()
    with connection.cursor() as cursor:
        cursor.execute(FILL, [entry.pk])
        queue_runs(12, entry)
        claim()
        cursor.execute(f"ANALYZE {TABLE}")


def plan_of(work: Callable[[], Any]) -> str:
    """The plans of the statements on our table that the work consists of."""
    with CaptureQueriesContext(connection) as captured:
        work()
    found = []
    with connection.cursor() as cursor:
        for query in captured.captured_queries:
            if TABLE in query["sql"] and not query["sql"].startswith("INSERT"):
                cursor.execute("EXPLAIN " + query["sql"].replace("%", "%%"), [])
                found.append("\n".join(row[0] for row in cursor.fetchall()))
    assert found
    return "\n".join(found)


def wanted(minutes: int | None = None) -> Wanted:
    watermark = None if minutes is None else clock.now() - dt.timedelta(minutes=minutes)
    return Wanted(queue="default", worker="w", watermark=watermark)


def test_every_statement_uses_the_index_made_for_it() -> None:
    """dbos-ts #1302, OneUptime #3117: runs of the future cost nothing, nothing is sorted; a finish goes by the primary
    key, not by the lease (protocol §5.4). One test, because the rows take longer to write than all plans to be made.
    """
    fill()
    store = claims.for_alias(USING)
    nothing_due = Wanted(queue="default", worker="w", watermark=clock.now() + dt.timedelta(seconds=1))
    held, other, failing = claim(), claim(), claim()
    by_due_time = {
        "claim": lambda: store.claim(wanted()),
        "claim from a watermark": lambda: store.claim(wanted(minutes=5)),
        "claim of nothing": lambda: store.claim(nothing_due),
        "finish and claim": lambda: store.finish_and_claim(held, {"a": 1}, wanted(minutes=5)),
        "is more due": lambda: store.due("default"),
    }
    by_key = {
        "finish": lambda: store.finish_and_claim(held, None, None),
        "release": lambda: store.release(other),
        "checkpoint": lambda: store.checkpoint(failing, {"page": 1}),
        "renew": lambda: store.renew([held.proof, other.proof, failing.proof]),
        "fail": lambda: outcomes.fail(failing, Failure(kind="error", error="x"), clock.now(), USING, follow_up=True),
    }

    for name, work in by_due_time.items():
        text = plan_of(work)
        assert "lifecycle_run_due" in text, (name, text)
        assert "Seq Scan" not in text, (name, text)
        assert "Sort" not in text, (name, text)
        # The due time is a bound of the index, not a filter over all that waits.
        conditions = [line for line in text.splitlines() if "Index Cond" in line and "queue" in line]
        assert conditions, (name, text)
        assert all("available_at <=" in line for line in conditions), (name, text)
    for name, work in by_key.items():
        text = plan_of(work)
        assert f"{TABLE}_pkey" in text, (name, text)
        assert "Seq Scan" not in text, (name, text)
        assert "lifecycle_run_lease" not in text, (name, text)
    text = plan_of(lambda: lost_leases.lock_expired(clock.now(), USING, 200))
    assert "lifecycle_run_lease" in text, text
    assert "Seq Scan" not in text, text


def test_the_statement_of_the_hot_path_is_one() -> None:
    queue_runs(2, an_entry())
    held = claim()

    with CaptureQueriesContext(connection) as captured:
        claims.for_alias(USING).finish_and_claim(held, None, wanted())

    assert len(captured) == 1
    assert re.search(r"AS MATERIALIZED \(\s*SELECT id .* FOR UPDATE SKIP LOCKED\)", captured[0]["sql"], re.DOTALL)
