"""Long effects: without a timeout, silent ones, attempts without a limit, and the proof that code never ran."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable
from typing import Any

import pytest

from lifecycle import SYSTEM, Retry, RetryAt, clock, registry
from lifecycle.exceptions import LeaseLost
from lifecycle.execution import attempts, crashes, watchdog
from lifecycle.execution.drain import drain
from lifecycle.models import Run, RunAttempt
from lifecycle.operations import retry_run
from lifecycle.rest import descriptions, representations
from lifecycle.runtime import create, fire
from lifecycle.store import outcomes
from lifecycle.testing import Kit
from tests.execution.rows import USING, claim
from tests.execution.watched import LIMIT, inside, until
from tests.support.models import Parcel

SECOND = dt.timedelta(seconds=1)
HOUR = dt.timedelta(hours=1)


def sent() -> Parcel:
    record = create(Parcel(), actor=SYSTEM)
    fire(record, "send", actor=SYSTEM)
    return record


def the_run() -> Run:
    found: Run = Run.objects.get()
    return found


@pytest.mark.django_db
@pytest.mark.row("G8")
def test_an_effect_without_a_timeout_has_no_deadline_and_no_timer(
    behave: dict[str, Any], short: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    import signal

    short("print_label", timeout=None)
    sent()
    seen = []
    behave["print_label"] = lambda ctx: seen.append((ctx.deadline, signal.getitimer(signal.ITIMER_REAL)[0]))
    before = signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        drain()
    finally:
        signal.setitimer(signal.ITIMER_REAL, *before)

    assert seen == [(None, 0.0)]
    assert the_run().status == "succeeded"


# Silence -----------------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.row("G8")
def test_code_that_falls_silent_is_ended_like_a_timeout_and_says_so(
    behave: dict[str, Any], short: Callable[..., None]
) -> None:
    sent()
    short("print_label", heartbeat_timeout=dt.timedelta(milliseconds=50))
    behave["print_label"] = lambda ctx: threading.Event().wait(LIMIT)

    drain(runs=1)

    run = the_run()
    assert (run.status, run.attempts, run.error_kind) == ("queued", 1, "heartbeat_timeout")
    assert run.error == "No heartbeat for 0.05 s."
    assert RunAttempt.objects.get().ending == "timed_out"


@pytest.mark.django_db
@pytest.mark.row("G8")
def test_code_that_sends_heartbeats_may_take_longer_than_its_silence(
    behave: dict[str, Any], short: Callable[..., None]
) -> None:
    sent()
    silence = 0.5
    short("print_label", timeout=None, heartbeat_timeout=dt.timedelta(seconds=silence))

    def effect(ctx: Any) -> dict[str, Any]:
        end = clock.monotonic() + 1.5 * silence
        while clock.monotonic() < end:
            threading.Event().wait(silence / 10)
            ctx.heartbeat()
        return {"label": "L"}

    behave["print_label"] = effect

    drain()

    assert the_run().status == "succeeded"


@pytest.mark.django_db
@pytest.mark.row("G8")
def test_heartbeats_do_not_move_the_deadline(behave: dict[str, Any], short: Callable[..., None]) -> None:
    sent()
    short("print_label", timeout=dt.timedelta(milliseconds=600), heartbeat_timeout=dt.timedelta(milliseconds=500))

    def effect(ctx: Any) -> None:
        while True:
            threading.Event().wait(0.01)
            ctx.heartbeat()

    behave["print_label"] = effect

    drain(runs=1)

    assert the_run().error_kind == "timeout"


@pytest.mark.django_db(transaction=True)
@pytest.mark.row("G8")
def test_code_that_falls_silent_in_a_thread_is_ended_in_the_rows(
    behave: dict[str, Any], short: Callable[..., None], own_watchdog: watchdog.Watchdog
) -> None:
    sent()
    short("print_label", timeout=None, heartbeat_timeout=dt.timedelta(milliseconds=50))
    with inside(behave, "print_label"):
        until(lambda: the_run().error_kind == "heartbeat_timeout")

    assert (the_run().status, the_run().attempts) == ("queued", 1)


# Progress ----------------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.row("G8")
@pytest.mark.parametrize(
    ("beat", "left"),
    [((), {"page": 3}), ((None,), None), (({"page": 4},), {"page": 4}), ((0,), 0)],
    ids=["nothing", "None", "data", "zero"],
)
def test_a_heartbeat_keeps_the_checkpoint_and_a_heartbeat_of_none_clears_it(
    behave: dict[str, Any], beat: tuple[Any, ...], left: Any
) -> None:
    sent()
    Run.objects.update(checkpoint={"page": 3})

    def effect(ctx: Any) -> None:
        ctx.heartbeat(*beat)
        assert ctx.checkpoint == left
        raise ValueError("again")

    behave["print_label"] = effect

    drain(runs=1)

    assert (the_run().error, the_run().checkpoint) == ("ValueError: again", left)


# Attempts without a limit ------------------------------------------------------------------------


def failing(behave: dict[str, Any], error: Exception | None = None) -> None:
    def effect(ctx: Any) -> None:
        raise error or ValueError("no")

    behave["print_label"] = effect


@pytest.mark.django_db
@pytest.mark.row("G8")
def test_a_retry_without_a_limit_of_attempts_goes_on(
    behave: dict[str, Any], short: Callable[..., None], lifecycle: Kit
) -> None:
    short("print_label", retry=Retry(attempts=None, backoff=SECOND, factor=1, jitter=0))
    failing(behave)
    sent()

    for number in range(1, 8):
        assert drain().done == 1
        assert (the_run().status, the_run().attempts, the_run().max_attempts) == ("queued", number, None)
        lifecycle.travel(seconds=1)


@pytest.mark.django_db
@pytest.mark.row("G8")
def test_no_attempt_begins_later_than_the_total_after_the_first_began(
    behave: dict[str, Any], short: Callable[..., None], lifecycle: Kit
) -> None:
    short("print_label", retry=Retry(attempts=None, total=HOUR, backoff=25 * 60 * SECOND, factor=1, jitter=0))
    failing(behave)
    parcel = sent()
    lifecycle.travel(hours=5)  # waiting in the queue does not count
    begun = []

    for _ in range(5):
        drain()
        begun.append(the_run().attempts)
        lifecycle.travel(minutes=25)

    assert begun == [1, 2, 3, 3, 3], "at 0, 25 and 50 minutes; 75 would be too late"
    parcel.refresh_from_db()
    assert (the_run().status, parcel.status) == ("failed", "stuck")


@pytest.mark.django_db
@pytest.mark.row("G8")
def test_a_total_ends_no_attempt_and_bounds_a_moment_the_effect_asks_for(
    behave: dict[str, Any], short: Callable[..., None], lifecycle: Kit
) -> None:
    short("print_label", retry=Retry(attempts=None, total=HOUR))
    sent()

    def long(ctx: Any) -> None:
        lifecycle.travel(minutes=50)
        raise RetryAt(dt.timedelta(minutes=11))

    behave["print_label"] = long

    drain()

    assert (the_run().status, the_run().attempts) == ("failed", 1)


@pytest.mark.django_db
@pytest.mark.row("G8")
def test_the_total_counts_over_crashes_and_anew_after_an_operators_retry(
    behave: dict[str, Any], short: Callable[..., None], lifecycle: Kit
) -> None:
    short("print_label", retry=Retry(attempts=None, total=HOUR, backoff=SECOND, jitter=0))
    failing(behave)
    sent()
    first = claim().started_at
    lifecycle.travel(minutes=59)
    crashes.take_back(USING)
    lifecycle.travel(minutes=2)
    drain()
    assert (the_run().status, the_run().first_started_at) == ("failed", first)

    retry_run(the_run(), actor=SYSTEM, force=True, reason="the other side is back")
    assert (the_run().first_started_at, the_run().max_attempts) == (None, None)
    drain()

    assert (the_run().status, the_run().attempts) == ("queued", 2)


@pytest.mark.django_db(transaction=True)
@pytest.mark.row("G8")
def test_a_timeout_in_the_rows_asks_for_the_total_too(
    behave: dict[str, Any], short: Callable[..., None], own_watchdog: watchdog.Watchdog
) -> None:
    short("print_label", timeout=dt.timedelta(milliseconds=50), retry=Retry(attempts=None, total=SECOND / 100))
    sent()
    with inside(behave, "print_label"):
        until(lambda: the_run().status == "failed")


# Never entered -----------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.row("G8")
def test_a_run_that_asks_for_it_proves_that_its_code_was_never_entered(
    behave: dict[str, Any], short: Callable[..., None], lifecycle: Kit
) -> None:
    sent()
    assert not outcomes.never_ran(the_run()), "it asks for no mark, so nothing is certain"
    drain()
    assert the_run().entered_at is None
    Run.objects.all().delete()

    short("print_label", marks_entry=True)
    parcel = create(Parcel(), actor=SYSTEM)
    fire(parcel, "send", actor=SYSTEM)
    claim()
    lifecycle.travel(minutes=2)
    crashes.take_back(USING)
    assert outcomes.never_ran(the_run())
    lifecycle.travel(minutes=2)
    seen = []

    def effect(ctx: Any) -> None:
        seen.append(outcomes.never_ran(the_run()))
        raise ValueError("no")

    behave["print_label"] = effect
    drain()
    first = the_run().entered_at
    lifecycle.travel(minutes=2)
    drain()

    assert seen == [False, False]
    assert (the_run().attempts, the_run().entered_at) == (2, first)


@pytest.mark.django_db
@pytest.mark.row("G8")
def test_no_code_is_entered_without_its_mark(behave: dict[str, Any], short: Callable[..., None]) -> None:
    short("print_label", marks_entry=True)
    sent()
    held = claim()
    Run.objects.update(fence=held.fence + 1)
    called = []
    behave["print_label"] = called.append

    with pytest.raises(LeaseLost):
        attempts.perform(held, USING, lambda: None)

    assert called == []


# Code that cannot be interrupted -----------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
@pytest.mark.row("G13")
def test_an_attempt_after_code_that_could_not_be_interrupted_waits_as_long_as_for_a_lost_worker(
    behave: dict[str, Any], short: Callable[..., None], own_watchdog: watchdog.Watchdog
) -> None:
    short("print_label", timeout=dt.timedelta(milliseconds=50), lease=dt.timedelta(minutes=5))
    sent()
    with inside(behave, "print_label"):
        until(lambda: the_run().error_kind == "timeout")
        run, attempt = the_run(), RunAttempt.objects.get()
        assert run.status == "queued"
        assert run.available_at - attempt.ended_at == dt.timedelta(minutes=5), "the code may still be going on"


@pytest.mark.django_db
@pytest.mark.row("G13")
def test_an_attempt_after_code_that_was_interrupted_waits_for_its_backoff_alone(
    behave: dict[str, Any], short: Callable[..., None]
) -> None:
    short("print_label", timeout=dt.timedelta(milliseconds=50), lease=dt.timedelta(minutes=5))
    sent()
    behave["print_label"] = lambda ctx: threading.Event().wait(LIMIT)

    drain(runs=1)

    assert the_run().available_at - RunAttempt.objects.get().ended_at == dt.timedelta(seconds=2)


# What others are told ----------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.row("G8")
def test_what_has_no_limit_is_null_over_http(short: Callable[..., None]) -> None:
    short("print_label", timeout=None, retry=Retry(attempts=None))
    sent()

    definition = descriptions.describe(registry.get("parcels"), None)
    [told] = [one for one in definition["effects"] if one["name"] == "print_label"]

    assert (told["timeout"], told["attempts"]) == (None, None)
    assert representations.run(the_run())["max_attempts"] is None
