"""Time passes: no bad row stops the others, no gate is stuck, nothing found is acted on after it has changed."""

from __future__ import annotations

import datetime as dt
import threading
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from lifecycle import SYSTEM, Permanent, clock, dispatch, registry
from lifecycle.definition.compiled import CompiledTimeout
from lifecycle.dispatch.recording import RecordingDispatcher
from lifecycle.doctor import examine, ways_on
from lifecycle.exceptions import LifecycleError
from lifecycle.execution.drain import drain
from lifecycle.models import OperatorAction, Run, Tick, TriggerHold
from lifecycle.operations import cancel_run, retry_run
from lifecycle.runtime import create, fire, fire_many
from lifecycle.store import pruning, ticks, timing
from lifecycle.store.pruning import Retention
from lifecycle.sweeps import expired_leases, unserved_queues
from lifecycle.sweeps import tick as ticking
from lifecycle.sweeps.passes import Pass
from lifecycle.sweeps.tick import tick
from lifecycle.testing import Kit, travel
from tests.cases.misbehaving import behaving, raises
from tests.cases.models.folders import Folder
from tests.cases.models.passing_time import Loan
from tests.execution.rows import USING, queue_runs
from tests.support.lifecycles import behaviours
from tests.support.models import Parcel

pytestmark = pytest.mark.django_db

DAY = dt.timedelta(days=1)


def loans(*titles: str, **columns: Any) -> list[Loan]:
    return [create(Loan(title=title, **columns), actor=SYSTEM) for title in titles]


def spoil(loan: Loan) -> None:
    """Puts something into the row that its driver cannot read again."""
    values = {
        "postgresql": ("due_at", "'10001-01-01 00:00:00+00'"),
        "sqlite": ("price", "'no number'"),
    }
    column, value = values[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE cases_loan SET {column} = {value} WHERE id = %s", [loan.pk])


def poison(loan: Loan) -> None:
    Loan.objects.filter(pk=loan.pk).update(title="poison")


SPOILERS = [poison, spoil]


def states() -> list[str]:
    return list(Loan.objects.order_by("pk").values_list("status", flat=True))


@pytest.fixture
def _readable_columns() -> None:
    if connection.vendor == "mysql":
        pytest.skip("MariaDB keeps nothing its driver cannot read")


@pytest.mark.row("D2")
@pytest.mark.parametrize("spoiling", SPOILERS)
@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.usefixtures("_readable_columns")
def test_one_bad_row_of_a_batch_keeps_none_of_the_others_from_their_timeout(spoiling: Any, position: int) -> None:
    found = loans("a", "b", "c")
    fire_many(found, "remind", actor=SYSTEM)
    spoiling(found[position])

    with travel(days=2):
        report = tick(force=True)

    assert states() == ["late" if here == position else "back" for here in range(3)]
    assert TriggerHold.objects.get().record_id == str(found[position].pk)
    assert TriggerHold.objects.get().refusals[0]["message"]
    assert report.failures == []


@pytest.mark.row("D2")
@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize("spoiling", SPOILERS)
@pytest.mark.usefixtures("_readable_columns")
def test_one_bad_row_of_a_batch_keeps_none_of_the_others_from_their_deadline(spoiling: Any, position: int) -> None:
    found = loans("a", "b", "c", due_at=timing.now("default") + DAY)
    if spoiling is spoil and connection.vendor == "postgresql":
        with connection.cursor() as cursor:  # due, and outside the calendar
            cursor.execute(
                "UPDATE cases_loan SET due_at = '0001-01-01 00:00:00+00 BC' WHERE id = %s", [found[position].pk]
            )
    else:
        spoiling(found[position])

    with travel(days=2):
        report = tick(force=True)

    assert states() == ["lent" if here == position else "late" for here in range(3)]
    assert TriggerHold.objects.get().record_id == str(found[position].pk)
    assert report.failures == []


@pytest.mark.row("D2")
@pytest.mark.parametrize("spoiling", SPOILERS)
@pytest.mark.usefixtures("_readable_columns")
def test_one_bad_row_of_a_batch_is_refused_and_the_others_are_fired(spoiling: Any) -> None:
    found = loans("a", "b", "c")
    spoiling(found[1])

    report = fire_many(Loan.objects.all(), "give_back", actor=SYSTEM)

    assert states() == ["back", "lent", "back"]
    assert [one.record_id for one in report.refused] == [str(found[1].pk)]


@pytest.mark.row("D2")
def test_a_held_bad_row_costs_the_next_passes_nothing(django_assert_max_num_queries: Any) -> None:
    bad, *_ = loans("a", "b")
    fire_many(Loan.objects.all(), "remind", actor=SYSTEM)
    poison(bad)

    with travel(days=2) as now:
        tick(force=True)
        before = TriggerHold.objects.get()
        now.forward(seconds=5) if hasattr(now, "forward") else None
        tick(force=True)

    assert TriggerHold.objects.get().tries == before.tries == 1


# ---------------------------------------------------------------------------------------------- retention


@pytest.fixture
def failed_run() -> Run:
    folder = create(Folder(slug="a"), actor=SYSTEM)
    with behaving("effect", raises):
        fire(folder, "take", actor=SYSTEM)
        drain()
    run: Run = Run.objects.get()
    assert run.status == "failed"
    return run


@pytest.mark.row("A3")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("statement", [1, 2, 3])
def test_a_run_that_is_retried_while_retention_looks_at_it_is_kept_or_was_gone_before(
    failed_run: Run, statement: int
) -> None:
    """After whichever statement of retention the operator comes: an audit row of a run that is gone is never left."""
    retention = Retention(succeeded=DAY, failed=DAY)
    later = timing.now("default") + 100 * DAY
    done = threading.Event()
    seen = [0]

    def retry() -> None:
        try:
            retry_run(failed_run, actor=SYSTEM, reason="because")
        except LifecycleError:
            pass  # gone before: nothing is left of the retry either
        finally:
            connection.close()
            done.set()

    def between(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        answer = execute(sql, params, many, context)
        seen[0] += 1
        if seen[0] == statement:
            threading.Thread(target=retry).start()
            done.wait(0.3)  # it may have to wait for the lock that retention holds
        return answer

    with connection.execute_wrapper(between):
        pruning.prune(retention, later, "default")
    assert done.wait(30)

    assert Run.objects.filter(status="queued").count() == OperatorAction.objects.count()
    assert Run.objects.count() == OperatorAction.objects.count()


@pytest.mark.row("A3")
def test_old_runs_are_deleted_with_their_attempts(failed_run: Run) -> None:
    window = pruning.prune(Retention(succeeded=DAY, failed=DAY), timing.now("default") + 100 * DAY, "default")

    assert (window.deleted, Run.objects.count()) == (1, 0)


# ---------------------------------------------------------------------------------------------- gates


@pytest.mark.row("H1")
def test_a_gate_further_away_than_one_interval_holds_nobody() -> None:
    every = dt.timedelta(seconds=10)
    assert ticks.take("main", every, "default")
    assert not ticks.take("main", every, "default")

    Tick.objects.update(next_at=timing.now("default") + DAY)

    assert ticks.take("main", every, "default")
    assert not ticks.take("main", every, "default")
    assert Tick.objects.get().next_at < timing.now("default") + 2 * every


@pytest.mark.row("H4")
def test_a_pass_that_ended_with_more_to_do_lets_the_next_through_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found = loans("a", "b", "c")
    fire_many(found, "remind", actor=SYSTEM)
    seconds = iter(range(0, 100_000, 3))  # each look at the clock is three seconds later: time for one batch
    monkeypatch.setattr(clock, "monotonic", lambda: float(next(seconds)))
    monkeypatch.setattr("lifecycle.sweeps.passes.SECONDS", 2.0)

    with travel(days=2):
        assert tick(force=True).more
        assert tick().ran

    assert ticking.MAIN in set(Tick.objects.values_list("name", flat=True))


@pytest.mark.row("H4")
def test_a_pass_that_did_all_keeps_the_others_waiting() -> None:
    assert not tick(force=True).more
    assert not tick().ran


# ---------------------------------------------------------------------------------------------- lost workers

# So many attempts that the number of one more start fits into no column.
TOO_MANY = {"postgresql": 2**31 - 1, "mysql": 2**32 - 1, "sqlite": 2**63 - 1}


def lost(number: int, hours: int = 1, **given: object) -> None:
    """Runs whose workers are gone, the leases ended so many hours ago, one after the other."""
    long_ago = clock.now() - dt.timedelta(hours=hours)
    runs = queue_runs(number, status="running", fence=1, leased_by="gone", started_at=long_ago, **given)
    for place, run in enumerate(runs):
        run.lease_until = long_ago + dt.timedelta(seconds=place)
    Run.objects.bulk_update(runs, ["lease_until"])


def lost_for_ever(number: int) -> None:
    """Runs that cannot be taken back."""
    lost(number, hours=24, attempts=TOO_MANY[connection.vendor])


@pytest.mark.django_db
@pytest.mark.row("H9")
def test_runs_that_cannot_be_taken_back_keep_no_other_with_its_lost_worker_and_are_reported(lifecycle: Kit) -> None:
    lost_for_ever(expired_leases.BATCH + 5)
    lost(3)

    report = lifecycle.tick()

    assert report.done("expired_leases") == 3
    assert Run.objects.filter(status="queued", crashes=1).count() == 3
    named = [failure for failure in report.failures if "could not be taken back" in failure]
    assert len(named) == expired_leases.NAMED + 1
    assert named[-1].startswith(f"{expired_leases.BATCH + 5 - expired_leases.NAMED} more runs")


@pytest.mark.django_db
@pytest.mark.row("H9")
def test_a_pass_that_ran_out_of_time_among_them_is_gone_on_with_and_then_begun_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(expired_leases, "BATCH", 3)
    lost_for_ever(4)
    lost(1)
    found = []

    for batches in (1, 1, 1, 9):
        sweep = Pass(using=USING)
        left = iter([True] * batches)
        monkeypatch.setattr(sweep, "has_time", lambda left=left: next(left, False))
        expired_leases.run_once(sweep)
        found.append((sweep.done, len(sweep.failures)))

    assert found == [(0, 3), (1, 2), (0, 0), (0, 4)]


@pytest.mark.row("H8")
def test_a_deadline_fires_once_for_each_value_of_its_date_as_the_reference_says() -> None:
    [loan] = loans("a", due_at=timing.now("default") + DAY)
    with travel(days=2):
        tick(force=True)
        assert states() == ["late"]
        loan.refresh_from_db()
        fire(loan, "lend_again", actor=SYSTEM)
        tick(force=True)
        assert states() == ["lent"]
        assert [reason["code"] for reason in TriggerHold.objects.get().refusals] == ["already_done"]

        loan.due_at = timing.now("default")
        loan.save()
        tick(force=True)
        assert states() == ["late"]

    reference = (Path(__file__).parents[2] / "docs/reference/transitions-and-options.md").read_text()
    assert "once for each value of its date" in reference
    assert "`already_done`" in reference


def parcel_being_labelled() -> Parcel:
    parcel = create(Parcel(), actor=SYSTEM)
    fire(parcel, "send", actor=SYSTEM)
    return parcel


def without_people(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """No way out of any state is people's any more."""
    definition = registry.get(name)
    ways = {key: way for key, way in definition.transitions.items() if not way.manual}
    changed = replace(definition, transitions=ways)
    monkeypatch.setattr(registry, "_definitions", {**registry._definitions, name: changed})


@pytest.mark.row("H7")
@pytest.mark.parametrize(("people", "severity"), [(True, "warning"), (False, "error")])
def test_a_record_whose_only_way_on_was_cancelled_is_found_until_it_is_retried(
    people: bool, severity: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parcel, under_way = parcel_being_labelled(), parcel_being_labelled()
    if not people:
        without_people(monkeypatch, "parcels")
    run = Run.objects.get(record_id=str(parcel.pk))
    assert examine(only=["stranded"]) == []

    cancel_run(run, actor=SYSTEM, reason="by mistake")

    [finding] = examine(only=["stranded"])
    assert (finding.severity, finding.lifecycle, finding.count) == (severity, "parcels", 1)
    assert finding.examples == (str(parcel.pk),)
    assert "'labelling'" in finding.sentence
    assert "'print_label'" in finding.sentence
    assert ("take_back" in finding.sentence) is people
    assert "--effect print_label" in finding.remedy

    retry_run(run, actor=SYSTEM)
    assert examine(only=["stranded"]) == []
    drain()
    under_way.refresh_from_db()
    assert under_way.status == "sent"


@pytest.mark.row("H7")
def test_what_was_cancelled_in_an_earlier_stay_strands_nobody() -> None:
    parcel = parcel_being_labelled()
    cancel_run(Run.objects.get(), actor=SYSTEM, reason="by mistake")
    assert len(examine(only=["stranded"])) == 1
    fire(parcel, "label_failed", actor=SYSTEM)
    assert examine(only=["stranded"]) == []
    fire(parcel, "send", actor=SYSTEM)
    Run.objects.filter(status="queued").delete()  # this stay's own run would hide the other

    assert examine(only=["stranded"]) == []


@pytest.mark.row("H7")
def test_an_effect_that_failed_with_no_transition_to_follow_strands_its_record(monkeypatch: pytest.MonkeyPatch) -> None:
    parcels = registry.get("parcels")
    effects = {**parcels.effects, "print_label": replace(parcels.effects["print_label"], on_failure=None, on_dead=None)}
    changed = replace(parcels, effects=effects)
    ways = {key: way for key, way in changed.transitions.items() if key not in ("label_failed", "label_lost")}
    changed = replace(changed, transitions=ways)
    monkeypatch.setattr(registry, "_definitions", {**registry._definitions, "parcels": changed})

    def fails(ctx: Any) -> None:
        raise Permanent("no such address")

    behaviours["print_label"] = fails
    parcel_being_labelled()
    drain()

    assert [finding.id for finding in examine() if finding.id == "stranded"] == ["stranded"]


@pytest.mark.row("H7")
@pytest.mark.parametrize("way", ["a timeout", "a transition of the project's code", "no effect"])
def test_a_state_with_another_way_on_waits_for_no_effect_alone(way: str) -> None:
    parcels = registry.get("parcels")
    labelled = parcels.transitions["labelled"]
    states = {
        "a timeout": replace(
            parcels,
            timeouts={
                "late": CompiledTimeout(
                    name="late", transition="label_failed", when=("labelling",), after=lambda parameters: DAY
                )
            },
        ),
        "a transition of the project's code": replace(
            parcels, transitions={**parcels.transitions, "scanned": replace(labelled, name="scanned")}
        ),
        "no effect": replace(parcels, effects={}),
    }
    assert ways_on.awaited(parcels, "labelling") == ["print_label"]
    assert ways_on.awaited(states[way], "labelling") == []
    assert ways_on.awaited(parcels, "packed") == []


@pytest.mark.row("H3")
def test_a_queue_that_no_worker_serves_is_woken_with_growing_pauses() -> None:
    queue_runs(2, queue="forgotten")
    began = timing.now(USING) + dt.timedelta(seconds=1)
    woken = []

    with dispatch.replaced(RecordingDispatcher()) as dispatcher:
        for seconds in range(0, 3600, 15):
            with clock.replaced(lambda seconds=seconds: began + dt.timedelta(seconds=seconds)):  # type: ignore[misc]
                unserved_queues.run_once(Pass(using=USING))
            woken += [seconds] * len(dispatcher.published)
            dispatcher.published.clear()

    pauses = [after - before for before, after in pairwise(woken)]
    assert woken[0] == 0
    assert pauses[:4] == [30, 60, 120, 240]
    assert max(pauses) == 900
    assert len(woken) < 10


@pytest.mark.row("H3")
def test_a_queue_from_which_something_was_taken_is_woken_at_once_and_so_is_one_that_could_not_be() -> None:
    queue_runs(2, queue="slow")
    first, second = Run.objects.order_by("available_at", "id")
    Run.objects.filter(pk=second.pk).update(available_at=first.available_at + dt.timedelta(microseconds=1))

    def woken(dispatcher: RecordingDispatcher) -> list[str]:
        with dispatch.replaced(dispatcher), travel(seconds=5):
            unserved_queues.run_once(Pass(using=USING))
        return dispatcher.published

    class Down(RecordingDispatcher):
        def publish(self, queue: str) -> bool:
            return False

    woken(Down())
    assert woken(RecordingDispatcher()) == ["slow"]
    assert woken(RecordingDispatcher()) == []
    Run.objects.filter(pk=first.pk).update(status="succeeded")
    assert woken(RecordingDispatcher()) == ["slow"]
    assert woken(RecordingDispatcher()) == []
