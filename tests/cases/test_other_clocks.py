"""Other clocks and other servers: one time for everything, in UTC, and keys also where bulk inserts return none."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.checks import run_checks
from django.db import connection, transaction

from lifecycle import SYSTEM, clock, registry
from lifecycle.checks.ids import TAG
from lifecycle.definition.parameters import InvalidParameter
from lifecycle.execution.drain import drain
from lifecycle.models import Run, Tick, TransitionLog, due
from lifecycle.operations import set_parameter
from lifecycle.runtime import create, fire, fire_many, parameters
from lifecycle.store import ticks, timing
from lifecycle.sweeps.tick import tick
from tests.cases.models.folders import Folder
from tests.cases.models.passing_time import Loan
from tests.support.models import Ticket
from tests.sweeps.test_plans import explain, index_used, pages

pytestmark = pytest.mark.django_db

SOON = dt.timedelta(minutes=1)


# The zone of a server ------------------------------------------------------------------------------------------------


@pytest.fixture(params=["-06:00", "+06:00"])
def _other_zone(request: pytest.FixtureRequest) -> Iterator[None]:
    if connection.vendor != "mysql":
        pytest.skip("elsewhere the server's zone is never read")
    with connection.cursor() as cursor:
        cursor.execute("SET time_zone = %s", [request.param])
    yield
    with connection.cursor() as cursor:
        cursor.execute("SET time_zone = SYSTEM")


def is_now(moment: Any) -> bool:
    return bool(abs(moment - clock.now()) < SOON)


@pytest.mark.row("G11")
@pytest.mark.usefixtures("_other_zone")
def test_a_gate_opens_after_its_interval_whatever_the_servers_time_zone() -> None:
    every = dt.timedelta(seconds=10)

    assert [ticks.take("main", every, "default") for _ in range(2)] == [True, False]

    assert is_now(Tick.objects.get().next_at)
    ticks.finish("main", {}, "default", more=True)
    assert is_now(Tick.objects.get().last_finished_at)
    assert ticks.take("main", every, "default")


@pytest.mark.row("G11")
@pytest.mark.usefixtures("_other_zone")
def test_entries_stays_and_runs_have_one_time_whatever_the_servers_time_zone() -> None:
    folder = create(Folder(slug="a"), actor=SYSTEM)
    fire(folder, "take", actor=SYSTEM)

    assert is_now(TransitionLog.objects.latest("id").at)
    assert is_now(Run.objects.get().available_at)
    drain()
    assert Run.objects.get().status == "succeeded"


@pytest.mark.row("G11")
@pytest.mark.usefixtures("_other_zone")
def test_nothing_times_out_early_whatever_the_servers_time_zone() -> None:
    loan = create(Loan(title="a"), actor=SYSTEM)
    fire_many([loan], "remind", actor=SYSTEM)

    tick(force=True)

    loan.refresh_from_db()
    assert loan.status == "late"
    assert is_now(loan.status_changed_at)
    assert is_now(timing.now("default"))


# Keys of bulk inserts ------------------------------------------------------------------------------------------------


@pytest.mark.row("G9")
def test_a_batch_enqueues_its_effects_where_bulk_inserts_return_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(connection.features), "can_return_rows_from_bulk_insert", False)
    found = [create(Folder(slug=slug), actor=SYSTEM) for slug in "abc"]

    report = fire_many(found, "take", actor=SYSTEM)

    assert len(report.fired) == 3
    assert {run.entry_id for run in Run.objects.all()} == {one.entry.pk for one in report.fired}
    drain()
    assert set(Run.objects.values_list("status", flat=True)) == {"succeeded"}


# What a pass costs ---------------------------------------------------------------------------------------------------

NOW = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)


def many_tickets(number: int, **columns: str) -> None:
    """Tickets that wait in the state open, by SQL; a column's value may count by ``n``."""
    given = {"due_on": "NULL", "status_changed_at": "now()", **columns}
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            INSERT INTO support_ticket
                (status, lifecycle_version, title, note, answer, priority, log, {", ".join(given)})
            SELECT 'open', 1, 't', '', '', 1, '[]', {", ".join(given.values())}
            FROM generate_series(1, {number}) n
            """
        )


@pytest.mark.row("H5")
@pytest.mark.postgres
def test_deadlines_cost_what_is_due_and_not_what_waits() -> None:
    many_tickets(100_000, due_on="'2026-03-02'::timestamptz + n * interval '1 minute'")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE support_ticket; ANALYZE lifecycle_triggerhold")
    definition = registry.get("tickets")
    deadline = definition.deadlines["escalate_overdue"]

    plan = explain(due.deadlines(definition, deadline, "open", now=NOW, using="default")[:100])

    assert index_used(plan, "support_ticket") == "support_ticket_date"
    assert pages(plan) < 20


@pytest.mark.row("H6")
@pytest.mark.postgres
@pytest.mark.parametrize("kind", ["timeout", "deadline"])
def test_held_ones_cost_one_probe_each_under_statistics_from_when_the_tables_were_empty(kind: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE support_ticket; ANALYZE lifecycle_triggerhold")
    many_tickets(
        10_000,
        due_on="'2026-01-01'::timestamptz + n * interval '1 second'",
        status_changed_at="'2026-01-01'::timestamptz + n * interval '1 second'",
    )
    definition = registry.get("tickets")
    trigger: Any = {**definition.deadlines, **definition.timeouts}[
        "escalate_overdue" if kind == "deadline" else "close_solved"
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO lifecycle_triggerhold
                (lifecycle, record_id, trigger, version, tries, retry_at, refusals, created_at, updated_at)
            SELECT 'tickets', id::text, %s, 1, 1, '2027-01-01', '[]', now(), now()
            FROM support_ticket ORDER BY id LIMIT 3000
            """,
            [trigger.name],
        )
    if kind == "deadline":
        rows = due.deadlines(definition, trigger, "open", now=NOW, using="default")
    else:
        rows = due.timeouts(definition, trigger, "open", changed_before=NOW, now=NOW, using="default")

    plan = explain(rows)

    probes = [node for node in plan if node.get("Relation Name") == "lifecycle_triggerhold"]
    assert {node["Index Name"] for node in probes} == {"lifecycle_hold_once"}
    assert sum(node.get("Rows Removed by Filter", 0) * node["Actual Loops"] for node in probes) == 0
    assert len(rows) == 7000


@pytest.mark.row("H5")
def test_a_deadline_whose_date_has_no_index_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "lifecycle.W105" not in [message.id for message in run_checks(tags=[TAG])]
    monkeypatch.setattr(Ticket._meta, "indexes", [Ticket._meta.indexes[0]])

    [said] = [message for message in run_checks(tags=[TAG]) if message.id == "lifecycle.W105"]

    assert said.msg == "support.Ticket has no index on (status, due_on), which the tick asks for this deadline."
    assert said.hint == "Add models.Index(fields=['status', 'due_on'], name='…') to Ticket.Meta.indexes."


# Operators at once ---------------------------------------------------------------------------------------------------


@pytest.mark.row("H2")
@pytest.mark.django_db(transaction=True)
def test_two_values_that_are_set_at_once_are_judged_together() -> None:
    refused: list[InvalidParameter] = []
    begun = threading.Event()

    def lower_the_high_one() -> None:
        begun.set()
        try:
            set_parameter("measured", "high", 3, actor=SYSTEM, reason="because")
        except InvalidParameter as error:
            refused.append(error)
        finally:
            connection.close()

    other = threading.Thread(target=lower_the_high_one)
    with transaction.atomic():
        set_parameter("measured", "low", 7, actor=SYSTEM, reason="because")
        other.start()
        assert begun.wait(10)
        other.join(0.3)  # it has to wait for this transaction
        assert other.is_alive()
    other.join(30)

    assert "low must not be above high" in str(refused[0])
    assert (parameters("measured").low, parameters("measured").high) == (7, 10)
