"""The tick: one caller per interval, every part, whatever happens to one of them."""

from __future__ import annotations

import datetime as dt
import io
import json
import threading
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from lifecycle import SYSTEM, clock, conf
from lifecycle.dispatch.recording import RecordingDispatcher
from lifecycle.execution.drain import drain
from lifecycle.models import FollowUp, Run, RunStatus, Tick
from lifecycle.runtime import create, fire, register_guard
from lifecycle.store import claims, ticks
from lifecycle.store.claims import Wanted
from lifecycle.sweeps import retention
from lifecycle.sweeps import tick as ticking
from lifecycle.sweeps.passes import Pass
from lifecycle.sweeps.tick import TickReport, tick
from tests.support.models import Parcel, Ticket
from tests.sweeps.conftest import Time

pytestmark = pytest.mark.django_db(transaction=True)


def parcel_with_a_pending_label() -> Parcel:
    parcel: Parcel = create(Parcel(), actor=SYSTEM)
    fire(parcel, "send", actor=SYSTEM)
    return parcel


class TestGate:
    def test_one_caller_per_interval_gets_through(self, time: Time) -> None:
        """django-q #231, procrastinate #1408: a tick is taken by one, and held by no lock."""
        assert tick().ran
        time.passes(seconds=4.9)
        assert not tick().ran
        time.passes(seconds=0.1)
        assert tick().ran
        assert not tick().ran

    def test_a_closed_gate_costs_one_statement(self) -> None:
        tick()
        with CaptureQueriesContext(connection) as statements:
            report = tick()
        assert not report.ran
        assert len(statements) == 1

    def test_the_first_tick_ever_makes_the_gate_and_goes_through(self) -> None:
        assert not Tick.objects.exists()
        assert tick().ran

    @pytest.mark.parametrize("known", [False, True])
    def test_of_many_callers_at_once_one_gets_through(self, known: bool) -> None:
        if known:
            assert ticks.take("main", dt.timedelta(microseconds=1), "default")
        start = threading.Barrier(6)
        won: list[bool] = []

        def go() -> None:
            try:
                start.wait(10)
                won.append(ticks.take("main", dt.timedelta(minutes=1), "default"))
            finally:
                connections["default"].close()

        threads = [threading.Thread(target=go) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert sorted(won) == [False] * 5 + [True]

    def test_the_steps_for_databases_without_a_conditional_upsert_let_one_through_too(self, time: Time) -> None:
        every = dt.timedelta(seconds=5)
        assert ticks._take_in_steps("main", every, "default", False)
        assert not ticks._take_in_steps("main", every, "default", False)
        assert ticks._take_in_steps("main", every, "default", True)
        time.passes(seconds=5)
        assert ticks._take_in_steps("main", every, "default", False)

    def test_force_goes_through_and_moves_the_gate(self, time: Time) -> None:
        tick()
        assert tick(force=True).ran
        assert not tick().ran

    def test_between_two_runs_it_is_a_look_at_the_clock_until_an_interval_has_passed(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seconds = 1000.0
        monkeypatch.setattr(clock, "monotonic", lambda: seconds)
        monkeypatch.setattr(ticking, "_next_try", [0.0])
        ticking.maybe_tick()
        assert Tick.objects.filter(name="main").exists()
        with CaptureQueriesContext(connection) as statements:
            ticking.maybe_tick()
        assert len(statements) == 0
        seconds += conf.options().tick_every.total_seconds()
        with CaptureQueriesContext(connection) as statements:
            ticking.maybe_tick()
        assert len(statements) == 1  # the gate: the database's clock has not moved


class TestParts:
    def test_the_run_of_a_lost_worker_is_queued_again_after_its_lease(
        self, time: Time, woken: RecordingDispatcher
    ) -> None:
        """sidekiq #5540, #4937, celery/kombu PR #2558: periodically, in a time that is known."""
        parcel_with_a_pending_label()
        assert claims.for_alias("default").claim(Wanted(queue="default", worker="gone")) is not None
        time.passes(seconds=59)
        assert tick(force=True).done("expired_leases") == 0
        time.passes(seconds=2)
        assert tick(force=True).done("expired_leases") == 1
        run = Run.objects.get()
        assert (run.status, run.crashes, run.attempts) == (RunStatus.QUEUED, 1, 0)
        time.passes(seconds=6)
        tick(force=True)
        assert woken.published[-1] == "default"

    def test_a_refused_follow_up_is_tried_again_and_the_effect_is_not(self, time: Time, behave: dict[str, Any]) -> None:
        calls: list[int] = []

        def print_label(ctx: Any) -> dict[str, Any]:
            calls.append(ctx.attempt)
            return {"label": "L-1"}

        behave["print_label"] = print_label
        undo = register_guard("parcels", "labelled", lambda ctx: "The scales are broken.", code="scales")
        parcel = parcel_with_a_pending_label()
        drain()
        undo()
        assert Run.objects.get().follow_up == FollowUp.PENDING
        assert tick(force=True).done("follow_ups") == 0
        time.passes(minutes=1, seconds=1)
        report = tick(force=True)
        assert (report.done("follow_ups"), report.failures) == (1, [])
        parcel.refresh_from_db()
        assert (parcel.status, parcel.label, calls) == (Parcel.Status.SENT, "L-1", [1])

    def test_each_queue_with_due_runs_is_woken_once_however_many_wait(
        self, time: Time, woken: RecordingDispatcher
    ) -> None:
        """preloop PR #708: a storm of messages with every pass."""
        for _ in range(3):
            parcel_with_a_pending_label()
        mail, later = parcel_with_a_pending_label(), parcel_with_a_pending_label()
        Run.objects.filter(record_id=str(mail.pk)).update(queue="mail")
        Run.objects.filter(record_id=str(later.pk)).update(queue="later", available_at=time.now + dt.timedelta(hours=1))
        woken.clear()
        report = tick(force=True)
        assert woken.published == ["default", "mail"]
        assert report.done("unserved_queues") == 2

    def test_a_part_that_fails_is_reported_and_stops_none_of_the_others(
        self, time: Time, monkeypatch: pytest.MonkeyPatch, woken: RecordingDispatcher
    ) -> None:
        def broken(sweep: Pass) -> None:
            with connections[sweep.using].cursor() as cursor:
                cursor.execute("SELECT nothing FROM nowhere")

        monkeypatch.setitem(ticking.PARTS, "timeouts", broken)
        parcel_with_a_pending_label()
        woken.clear()
        report = tick(force=True)
        assert len(report.failures) == 1
        assert "sweep of timeouts" in report.failures[0]
        assert woken.published == ["default"]
        assert Tick.objects.get(name="main").counts["failures"] == 1

    @pytest.mark.django_db(transaction=False)
    def test_a_part_that_fails_inside_a_test_case_leaves_its_transaction_usable(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(sweep: Pass) -> None:
            with connections[sweep.using].cursor() as cursor:
                cursor.execute("SELECT nothing FROM nowhere")

        monkeypatch.setitem(ticking.PARTS, "expired_leases", broken)
        report = tick(force=True)
        assert len(report.failures) == 1
        assert Ticket.objects.count() == 0

    def test_what_was_found_is_kept_for_pages_and_collectors(self, time: Time) -> None:
        parcel_with_a_pending_label()
        time.passes(seconds=90)
        tick(force=True)
        row = Tick.objects.get(name="main")
        assert row.last_started_at == row.last_finished_at == time.now
        assert row.counts["due"] == 1
        assert row.counts["oldest_due_seconds"] == 90
        assert row.counts["running"] == row.counts["lease_expired"] == row.counts["follow_ups_pending"] == 0
        slow = Tick.objects.get(name="slow")
        assert (slow.counts["dead"], slow.counts["failed"]) == (0, 0)


class TestRetention:
    @pytest.fixture
    def runs(self, time: Time) -> dict[str, Run]:
        made = {}
        for name, status, follow_up, age in [
            ("old", RunStatus.SUCCEEDED, FollowUp.APPLIED, 8),
            ("cancelled", RunStatus.CANCELLED, FollowUp.NONE, 8),
            ("young", RunStatus.SUCCEEDED, FollowUp.NONE, 6),
            ("failed", RunStatus.FAILED, FollowUp.APPLIED, 89),
            ("dead", RunStatus.DEAD, FollowUp.APPLIED, 91),
            ("pending", RunStatus.SUCCEEDED, FollowUp.PENDING, 100),
            ("abandoned", RunStatus.SUCCEEDED, FollowUp.ABANDONED, 100),
            ("queued", RunStatus.QUEUED, FollowUp.NONE, 100),
        ]:
            parcel = parcel_with_a_pending_label()
            run = Run.objects.get(record_id=str(parcel.pk))
            run.status, run.follow_up = status, follow_up
            run.created_at = time.now - dt.timedelta(days=age)
            run.finished_at = None if status == RunStatus.QUEUED else run.created_at
            run.save()
            made[name] = run
        Run.objects.get(pk=made["dead"].pk).attempt_rows.create(
            number=1, ending="crashed", ended_at=made["dead"].created_at
        )
        return made

    def left(self, runs: dict[str, Run]) -> set[str]:
        there = set(Run.objects.values_list("pk", flat=True))
        return {name for name, run in runs.items() if run.pk in there}

    def test_only_what_is_finished_settled_and_old_enough_is_deleted(
        self, time: Time, runs: dict[str, Run], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(retention, "BATCH", 3)
        report = tick(force=True)
        assert report.failures == []
        assert self.left(runs) == {"young", "failed", "pending", "abandoned", "queued"}
        assert report.done("retention") == 3

    def test_it_is_done_every_ten_minutes(self, time: Time, runs: dict[str, Run]) -> None:
        tick(force=True)
        then = time.now - dt.timedelta(days=8)
        Run.objects.filter(pk=runs["young"].pk).update(created_at=then, finished_at=then)
        time.passes(minutes=9)
        tick(force=True)
        assert "young" in self.left(runs)
        time.passes(minutes=1)
        tick(force=True)
        assert "young" not in self.left(runs)

    def test_nothing_is_deleted_where_runs_are_kept_for_ever(self, runs: dict[str, Run], settings: Any) -> None:
        settings.LIFECYCLE = {"RETAIN_SUCCEEDED": None, "RETAIN_FAILED": None}
        tick(force=True)
        assert self.left(runs) == set(runs)

    def test_the_command_deletes_all_that_is_old_and_can_only_say_so(self, runs: dict[str, Run]) -> None:
        out = io.StringIO()
        call_command("lifecycle_prune", "--dry-run", stdout=out)
        assert out.getvalue() == "default: 3 would be deleted\n"
        assert self.left(runs) == set(runs)
        out = io.StringIO()
        call_command("lifecycle_prune", "--failed-days", "30", "--succeeded-days=5", stdout=out)
        assert out.getvalue() == "default: 5 deleted\n"
        assert self.left(runs) == {"pending", "abandoned", "queued"}

    def test_the_command_refuses_what_is_no_number_of_days(self) -> None:
        with pytest.raises(CommandError, match="expected a number of days, got '-1'"):
            call_command("lifecycle_prune", "--failed-days=-1")


class TestCommand:
    def test_it_says_what_it_did_and_that_it_was_not_time(self, time: Time) -> None:
        out = io.StringIO()
        call_command("lifecycle_tick", stdout=out)
        assert "expired leases" in out.getvalue()
        out = io.StringIO()
        call_command("lifecycle_tick", stdout=out)
        assert out.getvalue() == "default: not time yet (--force ticks anyway)\n"

    def test_json_is_for_programs(self, time: Time) -> None:
        out = io.StringIO()
        call_command("lifecycle_tick", "--force", "--format=json", stdout=out)
        [alias] = json.loads(out.getvalue())
        assert (alias["using"], alias["ran"]) == ("default", True)
        assert [part["name"] for part in alias["parts"]][:3] == ["expired_leases", "timeouts", "deadlines"]

    def test_it_fails_when_a_part_failed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(sweep: Pass) -> None:
            raise ZeroDivisionError("oh")

        monkeypatch.setitem(ticking.PARTS, "timeouts", broken)
        with pytest.raises(CommandError, match="ZeroDivisionError: oh"):
            call_command("lifecycle_tick", "--force", stdout=io.StringIO())


def test_a_report_of_several_databases_adds_up() -> None:
    report: TickReport = tick(force=True)
    assert [alias.using for alias in report.aliases] == ["default"]
    assert report.more is False
    assert report.done("timeouts") == 0
