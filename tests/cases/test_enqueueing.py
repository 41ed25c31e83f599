"""Effects: when they are enqueued, who is woken, what follows — what people asked for in public."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from lifecycle import SYSTEM, Fail, Permanent, conf, dispatch, signals, tasks
from lifecycle.dispatch import after_commit
from lifecycle.dispatch.recording import RecordingDispatcher
from lifecycle.exceptions import WrongState
from lifecycle.execution.drain import drain
from lifecycle.models import Run, TransitionLog
from lifecycle.runtime import create, fire
from lifecycle.testing import Kit, assert_history, race
from tests.columns.lifecycles import InvoiceLifecycle, PaymentLifecycle
from tests.columns.models import Invoice
from tests.execution.rows import claim
from tests.support import lifecycles
from tests.support.models import Parcel, Ticket

pytestmark = pytest.mark.django_db(transaction=True)  # what happens after a commit happens


def sent(**values: Any) -> Parcel:
    parcel = create(Parcel(**values), actor=SYSTEM)
    fire(parcel, "send", actor=SYSTEM)
    return parcel


def again(record: Any) -> Any:
    return type(record).objects.get(pk=record.pk)


# Queued with the data ---------------------------------------------------------------------------


def test_what_is_enqueued_has_its_id_before_the_commit() -> None:
    """celery/celery #8976: who queued something could not say what."""
    with transaction.atomic():
        parcel = create(Parcel(), actor=SYSTEM)
        fired = fire(parcel, "send", actor=SYSTEM)
        (run,) = fired.runs
        assert Run.objects.get(pk=run.pk).idempotency_key == run.idempotency_key


def test_work_of_the_future_is_a_row_and_no_message(lifecycle: Kit) -> None:
    """celery/celery #3501, #2599, celery/kombu #337: ETA messages were lost, or done several times."""
    ticket = create(Ticket(), actor=SYSTEM)
    fire(ticket, "ask", actor=SYSTEM)  # to be nudged in four hours

    assert lifecycle.dispatcher.published == []
    assert drain().done == 0
    lifecycle.travel(hours=4, seconds=1)
    assert [drain().done for _ in range(3)] == [1, 0, 0]
    assert lifecycles.calls.count(("nudge", str(ticket.pk))) == 1


def test_wake_ups_that_come_too_often_do_no_harm(lifecycle: Kit) -> None:
    """celery/celery #4400, #7009, #3312, #2481, #3270, #9882, viewflow/viewflow #176: a message is no permission."""
    parcel = sent()

    for _ in range(5):
        tasks.drain("default")

    assert_history(parcel, ["$create", "send", "labelled"])
    assert list(Run.objects.values_list("attempts", "fence")) == [(1, 1)]


def test_the_same_thing_asked_for_twice_is_enqueued_twice_unless_a_key_says_otherwise() -> None:
    """django-background-tasks #36: equal names and arguments were taken for one task."""
    parcel = sent()
    drain()

    fire(parcel, "scan", actor=SYSTEM)
    fire(again(parcel), "scan", actor=SYSTEM)
    fire(again(parcel), "scan", actor=SYSTEM, request_id="gate 3")
    fire(again(parcel), "scan", actor=SYSTEM, request_id="gate 3")

    assert Run.objects.filter(effect="count_scan").count() == 3


def test_a_dead_run_does_not_stand_in_the_way_of_the_next(behave: dict[str, Any]) -> None:
    """oban-bg/oban #603, #424: a unique job that died kept its successors from being queued."""

    def no(ctx: Any) -> None:
        raise Fail("no_service", "Not to this address.")

    behave["print_label"] = no
    parcel = sent()
    drain()
    assert again(parcel).status == "stuck"

    behave["print_label"] = lifecycles.DEFAULTS["print_label"]
    fire(again(parcel), "send", actor=SYSTEM)
    drain()

    assert again(parcel).status == "sent"
    assert Run.objects.values("idempotency_key").distinct().count() == 2


def test_a_wake_up_waits_for_the_commit_of_the_database_that_holds_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Django PR #18627, rq/django-rq #187: enqueued after the commit of another database than the row's."""
    asked: list[Any] = []
    monkeypatch.setattr(transaction, "on_commit", lambda call, using=None, robust=False: asked.append((using, robust)))

    after_commit.wake("default", ["default"])

    assert asked == [("default", True)]


def test_a_task_never_runs_before_the_commit_that_enqueues_it() -> None:
    """rsinger86/django-lifecycle #97, PR #98, #114, getsentry/sentry PR #89284, dandi/dandi-archive #2006."""

    class AtOnce(RecordingDispatcher):
        """Works where others send a message."""

        def publish(self, queue: str) -> bool:
            assert not connection.in_atomic_block
            drain(queue)
            return super().publish(queue)

    with dispatch.replaced(AtOnce()) as dispatcher:
        with transaction.atomic():
            parcel = sent()
            assert dispatcher.published == []
        assert again(parcel).status == "sent"


def test_a_broker_that_is_away_costs_no_work(lifecycle: Kit) -> None:
    """celery/celery PR #8491, Borderless360/django-logic #212, jaiminho #216: publishing after a commit may fail."""

    class Away(RecordingDispatcher):
        def publish(self, queue: str) -> bool:
            return False

    with dispatch.replaced(Away()):
        parcel = sent()

    report = lifecycle.tick()

    assert (report.done("unserved_queues"), lifecycle.dispatcher.published) == (1, ["default"])
    tasks.drain("default")
    assert again(parcel).status == "sent"


# Done, and what follows -------------------------------------------------------------------------


def test_a_failure_moves_the_record_in_a_transaction_of_its_own(behave: dict[str, Any]) -> None:
    """kmmbvnr/django-fsm #231, PR #234: the error state was set in memory and never stored."""

    def no(ctx: Any) -> None:
        Ticket.objects.create()
        with transaction.atomic():
            Ticket.objects.create()
            raise Permanent("no such street")

    behave["print_label"] = no
    parcel = sent()

    drain()

    assert (again(parcel).status, again(parcel).problem) == ("stuck", "no such street")
    assert Ticket.objects.count() == 1, "what the effect committed itself is its own"


def test_a_follow_up_and_a_click_at_the_same_moment_use_the_same_lock() -> None:
    """Borderless360/django-logic PR #77: the background path went round the lock of the foreground."""
    for _ in range(5):
        parcel = sent()

        click, work = race(lambda parcel=parcel: fire(again(parcel), "take_back", actor=SYSTEM), drain)

        assert click.won
        assert work.won
        entries = list(again(parcel).lifecycle.history.values_list("transition", "version"))
        names = [name for name, _ in entries]
        assert names in (["$create", "send", "take_back"], ["$create", "send", "labelled", "take_back"])
        run = Run.objects.get(record_id=str(parcel.pk), effect="print_label")
        assert run.follow_up == ("applied" if "labelled" in names else "dropped")
        drain()


def test_a_listener_that_breaks_the_database_takes_nothing_with_it() -> None:
    """Borderless360/django-logic #138: a best-effort hook poisoned its caller's transaction."""
    heard: list[str] = []

    def broken(sender: Any, **kwargs: Any) -> None:
        with transaction.atomic():
            raise IntegrityError("duplicate key")

    def other(sender: Any, **kwargs: Any) -> None:
        heard.append(kwargs["entry"].transition)

    signals.transition_committed.connect(broken)
    signals.transition_committed.connect(other)
    try:
        parcel = sent()
    finally:
        signals.transition_committed.disconnect(broken)
        signals.transition_committed.disconnect(other)

    assert heard == ["$create", "send"]
    assert Run.objects.get().status == "queued"
    assert again(parcel).status == "labelling"


def test_an_effect_that_saves_its_record_starts_nothing_anew(behave: dict[str, Any]) -> None:
    """rsinger86/django-lifecycle #134: a hook saved, which called the hook."""

    def effect(ctx: Any) -> dict[str, Any]:
        ctx.record.problem = "none"
        ctx.record.save()
        return {"label": "L"}

    behave["print_label"] = effect
    parcel = sent()

    drain()

    assert_history(parcel, ["$create", "send", "labelled"])
    assert Run.objects.count() == 1
    assert (again(parcel).problem, again(parcel).label) == ("none", "L")


def test_two_processes_of_one_record_move_together_or_not_at_all() -> None:
    """kmmbvnr/django-fsm #42, PR #266."""
    invoice = Invoice.objects.create()

    with transaction.atomic():
        fire(invoice, "pay", actor=SYSTEM, lifecycle=InvoiceLifecycle)
        fire(invoice, "settle", actor=SYSTEM, lifecycle=PaymentLifecycle)
    assert (again(invoice).status, again(invoice).payment) == ("paid", "settled")

    with pytest.raises(WrongState), transaction.atomic():
        fire(invoice, "ship", actor=SYSTEM, lifecycle=InvoiceLifecycle)
        fire(invoice, "settle", actor=SYSTEM, lifecycle=PaymentLifecycle)
    assert again(invoice).status == "paid"


def test_a_transition_is_one_transaction_whatever_the_settings_say_of_requests() -> None:
    """27medkamal/djangorestframework-fsm #4: without ATOMIC_REQUESTS an endpoint was half done."""
    assert connection.settings_dict["ATOMIC_REQUESTS"] is False
    parcel = create(Parcel(), actor=SYSTEM)

    with pytest.raises(IntegrityError), pytest.MonkeyPatch.context() as patched:
        patched.setattr("lifecycle.store.enqueueing.enqueue", raising(IntegrityError("no room")))
        fire(parcel, "send", actor=SYSTEM)

    assert (again(parcel).status, TransitionLog.objects.count()) == ("packed", 1)


def raising(error: Exception) -> Any:
    def call(*args: Any, **kwargs: Any) -> None:
        raise error

    return call


# Time -------------------------------------------------------------------------------------------


def test_a_timeout_survives_a_restart_and_loses_a_race_cleanly(lifecycle: Kit) -> None:
    """statelyai/xstate #5331, #4860, spring-statemachine #409, pytransitions/transitions #198: a timer is a row."""
    due, moved = (create(Ticket(), actor=SYSTEM) for _ in range(2))
    for ticket in (due, moved):
        fire(ticket, "solve", actor=SYSTEM, input={"answer": "x"})
    lifecycle.travel(days=2, seconds=1)
    fire(moved, "reopen", actor=SYSTEM)  # at the last moment

    assert lifecycle.tick().done("timeouts") == 1
    assert lifecycle.tick().done("timeouts") == 0

    assert_history(due, ["$create", "solve", "close"])
    assert_history(moved, ["$create", "solve", "reopen"])


def test_a_tick_does_not_depend_on_how_long_a_process_lives(lifecycle: Kit) -> None:
    """Borderless360/django-logic #203: intervals that begin anew with every deploy never came to their end."""
    options = conf.options()
    assert options.tick_every <= dt.timedelta(minutes=1), "nothing waits for a daily interval"
    claim_of_the_past = sent()
    held = claim()
    lifecycle.travel(seconds=held.lease_seconds + 1)

    tasks.tick()  # the first thing a process that has just started does

    assert Run.objects.get(record_id=str(claim_of_the_past.pk)).status == "queued"
