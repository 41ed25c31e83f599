"""The promises in the order of docs/explanation/promises.md: one test each, which fails when it is not kept."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import DatabaseError, connection, transaction

from lifecycle import SYSTEM, Actor, conf, signals
from lifecycle.exceptions import Conflict, LifecycleError, RequestReused, WrongState
from lifecycle.execution import points
from lifecycle.models import Run, RunAttempt, TransitionLog
from lifecycle.runtime import create, fire, register_guard
from lifecycle.store import claims
from lifecycle.store.claims import Wanted
from lifecycle.sweeps.tick import tick as tick_when_it_is_time
from lifecycle.testing import Kit, assert_history
from tests.support import lifecycles
from tests.support.models import Parcel, Ticket

pytestmark = pytest.mark.django_db(transaction=True)


def again(record: Any) -> Any:
    """The record as it is in the database."""
    return type(record).objects.get(pk=record.pk)


def everything() -> dict[str, list[Any]]:
    """All that is stored."""
    return {model.__name__: list(model.objects.values()) for model in (Ticket, Parcel, TransitionLog, Run)}


WORDS_OF_TRANSACTIONS = ("BEGIN", "SAVEPOINT", "RELEASE", "ROLLBACK")


class PowerCut(Exception):
    """Nobody's error: what ends a statement in the middle of somebody's work."""


@contextmanager
def power_cut_after(statements: int) -> Iterator[list[str]]:
    """The power goes right after so many statements were executed; answers what was executed."""
    executed: list[str] = []

    def execute(run: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        answer = run(sql, params, many, context)
        if not str(sql).startswith(WORDS_OF_TRANSACTIONS):
            executed.append(str(sql))
            if len(executed) == statements:
                raise PowerCut
        return answer

    with connection.execute_wrapper(execute):
        yield executed


@contextmanager
def power_cut_at(point: str) -> Iterator[None]:
    """The power goes when a run comes to this point."""

    def reach(name: str) -> None:
        if name == point:
            raise PowerCut

    points.hook = reach
    try:
        yield
    finally:
        points.hook = None


def test_1_a_transition_its_entry_and_everything_it_enqueues_commit_together_or_not_at_all(lifecycle: Kit) -> None:
    parcel = create(Parcel(), actor=SYSTEM)
    before = everything()

    with pytest.raises(PowerCut), transaction.atomic():
        fire(again(parcel), "send", actor=SYSTEM)
        raise PowerCut
    assert everything() == before
    assert lifecycle.dispatcher.published == []

    for statements in range(1, 100):
        try:
            with power_cut_after(statements):
                fire(again(parcel), "send", actor=SYSTEM, request_id="r", input={"why": "sold"})
        except PowerCut:
            assert everything() == before, f"after {statements} statements"
            assert lifecycle.dispatcher.published == []
        else:
            break

    assert statements == 7, "cut after reading, locking, the request id, the move, the entry and the runs"
    assert again(parcel).status == "labelling"
    lifecycle.assert_history(parcel, ["$create", "send"])
    lifecycle.assert_pending("print_label", parcel, times=1)
    assert lifecycle.dispatcher.published == ["default"]

    # The same for an effect that only writes this database: what it wrote and its outcome are one commit.
    lifecycle.run_due()
    fire(again(parcel), "scan", actor=SYSTEM)
    with power_cut_at("after_finish_before_commit"):
        lifecycle.run_due()
    run = Run.objects.get(effect="count_scan")
    assert (again(parcel).scans, run.outcome) == (0, ""), "neither is there, so its lease decides"
    lifecycle.travel(minutes=10)
    lifecycle.tick()
    lifecycle.travel(minutes=10)
    lifecycle.run_due()
    run.refresh_from_db()
    assert (again(parcel).scans, run.outcome) == (1, "succeeded")


def test_2_of_concurrent_changes_to_one_record_one_commits_and_the_others_leave_nothing(lifecycle: Kit) -> None:
    for _ in range(3):
        asked, touched, sent = (create(record, actor=SYSTEM) for record in (Ticket(), Ticket(), Parcel()))
        lifecycles.calls.clear()

        # Another state …
        answers = lifecycle.race(*[lambda asked=asked: fire(again(asked), "ask", actor=SYSTEM)] * 3)
        assert [type(answer.error) for answer in answers if not answer.won] == [WrongState, WrongState]
        assert [call for call in lifecycles.calls if call[0] == "hook"] == [("hook", "ask")]

        # … the same state, decided on one version …
        answers = lifecycle.race(
            *[lambda touched=touched: fire(again(touched), "touch", actor=SYSTEM, expect_version=1)] * 3
        )
        assert [type(answer.error) for answer in answers if not answer.won] == [Conflict, Conflict]

        # … and the same request.
        answers = lifecycle.race(*[lambda sent=sent: fire(again(sent), "send", actor=SYSTEM, request_id="once")] * 3)
        assert sorted(answer.get().replayed for answer in answers) == [False, True, True]

        for record in (asked, touched, sent):
            assert again(record).lifecycle_version == 2
            assert [entry.version for entry in again(record).lifecycle.history] == [1, 2]
        assert Run.objects.filter(record_id=str(sent.pk)).count() == 1
        assert Run.objects.filter(record_id=str(asked.pk), effect="nudge").count() == 1


def test_3_one_request_id_takes_effect_once_and_its_repeat_gets_the_first_answer(lifecycle: Kit) -> None:
    shop = Actor("shop")
    creations = lifecycle.race(*[lambda: create(Parcel(label="A"), actor=shop, request_id="order 7")] * 3)
    parcel = creations[0].get()
    assert {creation.get().pk for creation in creations} == {parcel.pk}

    def send() -> Any:
        return fire(again(parcel), "send", actor=shop, request_id="send 7", input={"by": "bike"})

    answers = [answer.get() for answer in lifecycle.race(send, send, send)]
    lifecycle.run_due()
    with lifecycle.travel(weeks=1):
        late = send()

    assert {answer.entry.pk for answer in [*answers, late]} == {answers[0].entry.pk}
    assert sum(not answer.replayed for answer in answers) == 1
    assert (late.replayed, late.record.status) == (True, "sent"), "the first answer, the record as it is now"
    assert_history(parcel, ["$create", "send", "labelled"])
    assert Run.objects.filter(effect="print_label").count() == 1
    for differently in (
        {"transition": "take_back", "actor": shop, "input": {"by": "bike"}},
        {"transition": "send", "actor": SYSTEM, "input": {"by": "bike"}},
        {"transition": "send", "actor": shop, "input": {"by": "car"}},
    ):
        with pytest.raises(RequestReused):
            fire(again(parcel), request_id="send 7", **differently)


def refused_by(ticket: Ticket, transition: str, **call: Any) -> LifecycleError | None:
    """What fire refuses with; what it does is undone."""
    try:
        with transaction.atomic():
            fire(ticket, transition, **call)
            transaction.set_rollback(True)
    except LifecycleError as error:
        return error
    return None


def test_4_what_can_says_is_what_fire_does_on_the_same_data(lifecycle: Kit) -> None:
    agent = User.objects.create_user("agent")
    agent.user_permissions.set(Permission.objects.filter(codename__in=["solve_ticket", "escalate_ticket"]))
    actors = [SYSTEM, User.objects.get(pk=agent.pk), User.objects.create_user("nobody")]
    tickets = [
        lifecycle.create_in_state(Ticket, state, priority=priority, title=title)
        for state, (priority, title) in product(Ticket.Status.values, [(1, "Printer on fire"), (9, "")])
    ]
    names = ("ask", "reply", "escalate", "touch", "close", "reopen", "triage")
    calls: list[tuple[str, dict[str, Any]]] = [("solve", {"answer": "Turned it on"}), ("solve", {"note": "n"})]
    calls += [(name, {}) for name in names]
    answers = set()

    with transaction.atomic():
        for ticket, actor, (name, given) in product(tickets, actors, calls):
            manual = actor is not SYSTEM
            verdict = ticket.lifecycle.can(name, actor=actor, input=given, manual=manual)
            error = refused_by(again(ticket) if verdict else ticket, name, actor=actor, input=given, manual=manual)
            said = (verdict.allowed, verdict.refusals, verdict.problems)
            assert said == ((True, (), ()) if error is None else (False, tuple(error.refusals), tuple(error.problems)))
            answers.add(type(error).__name__)

    assert answers == {"NoneType", "WrongState", "PermissionRefused", "GuardRefused", "InvalidInput"}


def test_5_no_enqueued_run_is_lost_and_recovery_takes_at_most_lease_and_tick(lifecycle: Kit) -> None:
    lifecycle.travel(stop=True)  # a slow machine must not use up the second that is looked at
    died, unheard = (create(Parcel(), actor=SYSTEM) for _ in range(2))
    fire(died, "send", actor=SYSTEM)
    held = claims.for_alias("default").claim(Wanted(queue="default", worker="killed"))
    assert held is not None
    tick_when_it_is_time()
    lifecycle.dispatcher.clear()
    fire(unheard, "send", actor=SYSTEM)
    lifecycle.dispatcher.clear()  # the broker is gone, and the wake-up with it
    connection.close()  # the database comes back as somebody who remembers no session

    with lifecycle.travel(seconds=held.lease_seconds - 1):
        report = tick_when_it_is_time()
        assert report.done("expired_leases") == 0, "as long as its lease lasts, nobody takes it"
        assert lifecycle.dispatcher.published == ["default"], "what nobody was woken for is found by the next tick"

    options = conf.options()
    with lifecycle.travel(seconds=held.lease_seconds + options.tick_every.total_seconds()):
        report = tick_when_it_is_time()
        assert report.done("expired_leases") == 1
        with lifecycle.travel(seconds=options.crash_backoff.total_seconds()):
            lifecycle.run_due()

    assert [again(parcel).status for parcel in (died, unheard)] == ["sent", "sent"]
    assert list(Run.objects.order_by("id").values_list("status", "attempts", "crashes")) == [
        ("succeeded", 1, 1),
        ("succeeded", 1, 0),
    ]


@pytest.mark.parametrize("late", ["a result", "an error"])
@pytest.mark.parametrize(("transition", "effect"), [("send", "print_label"), ("take_back", "refund_postage")])
def test_6_an_outcome_is_recorded_once_and_who_lost_the_lease_changes_nothing_and_calls_nothing(
    transition: str, effect: str, late: str, lifecycle: Kit, behave: dict[str, Any]
) -> None:
    parcel = create(Parcel(), actor=SYSTEM)
    fire(parcel, transition, actor=SYSTEM)
    finished: list[Any] = []
    stored: list[Any] = []

    def note(sender: Any, run: Run, **kwargs: Any) -> None:
        finished.append(run.pk)

    def lingering(ctx: Any) -> dict[str, Any]:
        """While this worker lingers, its lease ends, and another does the work."""
        behave[effect] = lambda ctx: {"label": "by the other"}
        with lifecycle.travel(minutes=5):
            lifecycle.tick()
            with lifecycle.travel(minutes=5):
                lifecycle.run_due()
        stored.append((everything(), list(RunAttempt.objects.values())))
        if late == "an error":
            raise ValueError("late")
        return {"label": "late"}

    behave[effect] = lingering
    signals.run_finished.connect(note)
    try:
        lifecycle.run_due()
        lifecycle.tick()
        lifecycle.run_due()
    finally:
        signals.run_finished.disconnect(note)

    assert len(stored) == 1
    assert (everything(), list(RunAttempt.objects.values())) == stored[0]
    run = Run.objects.get(effect=effect)
    assert (run.status, run.result, run.attempts, run.crashes) == ("succeeded", {"label": "by the other"}, 1, 1)
    assert finished == [run.pk]


def refuse(ctx: Any) -> str:
    return "Not now."


def break_down(ctx: Any) -> bool:
    raise ZeroDivisionError("a bug in a guard")


def conflict(ctx: Any) -> bool:
    raise Conflict("Somebody was faster.")


def end_the_database(ctx: Any) -> bool:
    raise DatabaseError("the server closed the connection")


@pytest.mark.parametrize("trouble", [refuse, break_down, conflict, end_the_database])
def test_7_an_effect_that_returned_is_never_run_again_because_of_what_came_after_it(
    trouble: Callable[[Any], Any], lifecycle: Kit, behave: dict[str, Any]
) -> None:
    parcel = create(Parcel(), actor=SYSTEM)
    fire(parcel, "send", actor=SYSTEM)
    calls: list[int] = []

    def effect(ctx: Any) -> dict[str, Any]:
        calls.append(ctx.attempt)
        return {"label": f"L-{ctx.attempt}"}

    behave["print_label"] = effect
    remove = register_guard("parcels", "labelled", trouble)
    try:
        lifecycle.run_due()
        for _ in range(5):
            lifecycle.travel(hours=2)
            lifecycle.tick()
            lifecycle.run_due(retries=True)
            run = Run.objects.get(effect="print_label")
            assert (run.status, run.result, run.follow_up) == ("succeeded", {"label": "L-1"}, "pending")
            assert again(parcel).status == "labelling"
    finally:
        remove()
    lifecycle.travel(hours=2)
    lifecycle.tick()

    assert calls == [1]
    assert (again(parcel).status, again(parcel).label) == ("sent", "L-1")
    run.refresh_from_db()
    assert (run.attempts, run.crashes, run.follow_up) == (1, 0, "applied")


def test_7_nor_because_the_follow_ups_own_transaction_was_cut_off(lifecycle: Kit, behave: dict[str, Any]) -> None:
    parcel = create(Parcel(), actor=SYSTEM)
    fire(parcel, "send", actor=SYSTEM)
    calls: list[int] = []
    behave["print_label"] = lambda ctx: calls.append(ctx.attempt) or {"label": "once"}

    with power_cut_at("after_finish_before_commit"):
        lifecycle.run_due()
    assert again(parcel).status == "labelling"
    lifecycle.travel(minutes=10)
    lifecycle.tick()
    lifecycle.run_due(retries=True)

    assert calls == [1]
    assert (again(parcel).status, again(parcel).label) == ("sent", "once")


def test_8_a_timeout_belongs_to_one_stay_and_fires_once(lifecycle: Kit) -> None:
    ticket = create(Ticket(), actor=SYSTEM)

    def solve() -> None:
        fire(ticket, "solve", actor=SYSTEM, input={"answer": "Turned it on"})

    solve()
    lifecycle.travel(days=1)
    fire(ticket, "reopen", actor=SYSTEM)
    solve()
    lifecycle.travel(days=1, hours=1)
    lifecycle.tick()
    assert again(ticket).status == "solved", "two days after the first visit, one after the second"

    lifecycle.travel(days=1)
    lifecycle.race(lifecycle.tick, lifecycle.tick, lifecycle.tick)
    lifecycle.tick()

    lifecycle.assert_history(ticket, ["$create", "solve", "reopen", "solve", "close"])


def test_9_nothing_waits_in_a_process(lifecycle: Kit) -> None:
    threads = set(threading.enumerate())
    done = subprocess.run(
        [sys.executable, "-m", "tests.promises.stranger", str(connection.settings_dict["NAME"])],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"},
        timeout=60,
        check=False,
    )
    assert done.returncode == 77
    assert Run.objects.exclude(status="succeeded").count() >= 4

    for _ in range(3):  # what follows from what follows
        lifecycle.travel(days=1)
        lifecycle.tick()
        lifecycle.run_due()
    lifecycle.travel(minutes=10)
    lifecycle.run_due()

    assert {p.problem or p.status for p in Parcel.objects.all()} == {"sent"}
    assert Parcel.objects.count() == 3
    assert Ticket.objects.get(title="solved").status == "closed"
    assert ("nudge", str(Ticket.objects.get(title="asked").pk)) in lifecycles.calls
    # Nor did this process leave anything behind, nor say more than which queue to look at.
    assert {thread for thread in set(threading.enumerate()) - threads if isinstance(thread, threading.Timer)} == set()
    assert set(lifecycle.dispatcher.published) == {"default"}
    assert all(when is not None for when in Run.objects.filter(status="queued").values_list("available_at"))
