"""How PostgreSQL compares records with their history: joins over whole tables, never one lookup walk per row.

100 000 records and 150 000 entries, so that the test takes seconds: what is asserted is the shape of the plan, and that
is the one of larger tables. ``LIFECYCLE_TEST_ROWS=1000000`` asserts it of a million.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from lifecycle import registry
from lifecycle.models.drift import drifted

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]

ROWS = int(os.environ.get("LIFECYCLE_TEST_ROWS", "100000"))
RECORDS = """
INSERT INTO support_ticket (status, status_changed_at, lifecycle_version, title, note, answer, priority, log)
SELECT CASE WHEN n %% 2 = 0 THEN 'open' ELSE 'waiting' END, now(), 2 - (n %% 2 = 0)::int, 't', '', '', 1, '[]'
FROM generate_series(1, %s) n
"""
ENTRIES = """
INSERT INTO lifecycle_transitionlog (lifecycle, record_id, transition, source, target, version, actor_kind, actor_id,
    actor_label, input, reason, request_hash, definition_hash, at)
SELECT 'tickets', id::text, 'x', NULL, CASE WHEN v = 1 THEN 'open' ELSE 'waiting' END, v, 'system', 'system', '', '{}',
    '', '', '', now()
FROM support_ticket, generate_series(1, lifecycle_version) v
"""


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from nodes(part)


def test_looking_for_drift_reads_each_table_a_few_times_whatever_their_size() -> None:
    with connection.cursor() as cursor:
        cursor.execute(RECORDS, [ROWS])
        cursor.execute(ENTRIES)
        cursor.execute(
            "UPDATE support_ticket SET status = 'solved' WHERE id IN (SELECT id FROM support_ticket LIMIT 3)"
        )
        cursor.execute("ANALYZE support_ticket, lifecycle_transitionlog")

    with CaptureQueriesContext(connection) as statements:
        assert len(list(drifted(registry.get("tickets"), "default"))) == 3
    [statement] = [query["sql"] for query in statements]
    # Rows come through a server-side cursor; a cursor's declaration is not explained.
    select = statement.partition(" FOR ")[2] if statement.startswith("DECLARE") else statement
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) " + select.replace("%", "%%"), [])
        [answer] = cursor.fetchone()
    [explained] = json.loads(answer) if isinstance(answer, str) else answer
    plan = explained["Plan"]

    # No correlated sub-plan, and no table is walked once per row of another: every walk over a whole table happens as
    # often as there are parallel workers, and a look at the history's index never more than once per record and branch.
    assert not [node for node in nodes(plan) if str(node.get("Subplan Name", "")).startswith("SubPlan")]
    walks = [node for node in nodes(plan) if node["Node Type"] == "Seq Scan"]
    assert walks
    assert all(node["Actual Loops"] <= 8 for node in walks), walks
    assert all(node["Actual Loops"] <= 8 for node in nodes(plan) if "Join" in node["Node Type"])
