"""Plans: what a pass costs grows with what is due, not with what waits or is done."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from lifecycle import registry
from lifecycle.models import due

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]

NOW = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
WAITING = 100_000


@pytest.fixture
def waiting_records() -> None:
    """100 000 records that wait, all younger than the patience."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO support_ticket
                (status, status_changed_at, lifecycle_version, title, note, answer, priority, log)
            SELECT CASE WHEN n %% 10 = 0 THEN 'open' ELSE 'solved' END, %s - n * interval '1 millisecond', 1,
                   't', '', '', 1, '[]'
            FROM generate_series(1, %s) n
            """,
            [NOW, WAITING],
        )
        cursor.execute("ANALYZE support_ticket; ANALYZE lifecycle_triggerhold")


@pytest.fixture
def finished_runs() -> None:
    """100 000 finished runs, and 1 000 that are queued for later."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO lifecycle_transitionlog (lifecycle, record_id, transition, target, version, actor_kind,
                actor_id, actor_label, input, reason, request_hash, definition_hash, at)
            VALUES ('tickets', '1', 'solve', 'solved', 1, 'system', '', '', '{}', '', '', '', %s) RETURNING id
            """,
            [NOW],
        )
        [entry] = cursor.fetchone()
        cursor.execute(
            """
            INSERT INTO lifecycle_run (entry_id, lifecycle, record_id, effect, queue, status, available_at,
                attempts, max_attempts, retry_base, crashes, max_crashes, fence, lease_seconds, leased_by,
                idempotency_key, error_kind, error_code, error, outcome, follow_up, follow_up_tries, follow_up_error,
                reminder, created_at, updated_at)
            SELECT %s, 'tickets', n::text, 'tell_agent', 'q' || n %% 3,
                   CASE WHEN n <= %s THEN 'succeeded' ELSE 'queued' END,
                   %s + n * interval '1 second', 1, 1, 0, 0, 3, 1, 60, '', gen_random_uuid(),
                   '', '', '', '', 'none', 0, '', '', %s, %s
            FROM generate_series(1, %s) n
            """,
            [entry, WAITING, NOW, NOW, NOW, WAITING + 1000],
        )
        cursor.execute("ANALYZE lifecycle_run")


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


def explain(rows: Any) -> list[dict[str, Any]]:
    sql, params = rows.query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", params)
        answer = cursor.fetchone()[0]
    [explained] = json.loads(answer) if isinstance(answer, str) else answer
    return list(nodes(explained["Plan"]))


def index_used(plan: list[dict[str, Any]], table: str) -> str | None:
    scans = [
        node for node in plan if node.get("Relation Name") == table or node.get("Index Name", "").startswith(table)
    ]
    assert not [node for node in scans if node["Node Type"] == "Seq Scan"], scans
    return next((node["Index Name"] for node in plan if "Index Name" in node), None)


def pages(plan: list[dict[str, Any]]) -> int:
    return int(plan[0]["Shared Hit Blocks"] + plan[0]["Shared Read Blocks"])


def test_due_timeouts_are_found_by_the_index_and_nothing_is_read_that_is_not_due(waiting_records: None) -> None:
    definition = registry.get("tickets")
    timeout = definition.timeouts["close_solved"]

    def found(before: dt.datetime) -> Any:
        return due.timeouts(definition, timeout, "solved", changed_before=before, now=NOW, using="default")[:100]

    none_due = explain(found(NOW - dt.timedelta(days=2)))
    assert index_used(none_due, "support_ticket") == "support_ticket_due"
    assert pages(none_due) < 20

    all_due = explain(found(NOW))
    assert index_used(all_due, "support_ticket") == "support_ticket_due"
    assert not [node for node in all_due if node["Node Type"] == "Sort"], "the order of the index was not used"
    [scan] = [node for node in all_due if node.get("Index Name") == "support_ticket_due"]
    assert scan["Actual Rows"] < 400


def test_no_pass_reads_the_runs_that_are_finished(finished_runs: None) -> None:
    assert [queue for queue, _ in due.queue_heads("default")] == ["q0", "q1", "q2"]
    next_queue = due._queued("default").filter(queue__gt="q0").order_by("queue", "available_at", "id")
    plan = explain(next_queue.values_list("queue", "available_at")[:1])
    assert index_used(plan, "lifecycle_run") == "lifecycle_run_due"
    assert pages(plan) < 20

    plan = explain(due.pending_follow_ups("default", NOW).values_list("id", "follow_up_due_at")[:200])
    assert index_used(plan, "lifecycle_run") == "lifecycle_run_follow_up"
    assert pages(plan) < 20

    statements: list[tuple[str, Any]] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        statements.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        counts = due.quick_counts("default", NOW + dt.timedelta(days=2))
    assert (counts["due"], counts["running"]) == (1000, 0)
    for sql, params in statements:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {sql}", params)
            assert "Seq Scan on lifecycle_run" not in "\n".join(row[0] for row in cursor.fetchall()), sql
