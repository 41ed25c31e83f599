"""The breaker: one try per period, periods that double, one word at the start and one at the end."""

from __future__ import annotations

import threading

import pytest

from lifecycle import clock
from lifecycle.dispatch.breaker import Breaker

pytestmark = pytest.mark.once


class Seconds:
    """A monotonic clock that moves when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> Seconds:
    source = Seconds()
    monkeypatch.setattr(clock, "monotonic", source)
    return source


def test_a_working_broker_is_never_held_up(seconds: Seconds) -> None:
    breaker = Breaker(10)
    for _ in range(5):
        assert breaker.permit() is not None
        assert breaker.succeeded() is False
    assert not breaker.open


def test_after_a_failure_nobody_tries_until_the_period_is_over_and_then_one_does(seconds: Seconds) -> None:
    breaker = Breaker(10)
    permit = breaker.permit()
    assert permit is not None
    assert breaker.failed(permit) is True
    seconds.now += 0.99
    assert breaker.permit() is None
    seconds.now += 0.02
    assert breaker.permit() is not None
    assert breaker.permit() is None


def test_the_periods_double_up_to_the_maximum(seconds: Seconds) -> None:
    breaker = Breaker(10)
    waited = []
    for _ in range(7):
        start = seconds.now
        while (permit := breaker.permit()) is None:
            seconds.now += 0.5
        waited.append(seconds.now - start)
        breaker.failed(permit)
    assert waited == [0, 1, 2, 4, 8, 10, 10]


def test_an_outage_is_announced_once_and_its_end_once(seconds: Seconds) -> None:
    breaker = Breaker(10)
    begins, ends = [], []
    for working in (False, False, True, True, False, True):
        seconds.now += 60
        permit = breaker.permit()
        assert permit is not None
        if working:
            ends.append(breaker.succeeded())
        else:
            begins.append(breaker.failed(permit))
    assert begins == [True, False, True]
    assert ends == [True, False, True]


def test_those_who_were_already_trying_when_it_broke_do_not_lengthen_the_pause(seconds: Seconds) -> None:
    breaker = Breaker(10)
    permits = [breaker.permit() for _ in range(5)]
    assert [breaker.failed(permit) for permit in permits if permit is not None] == [True, False, False, False, False]
    seconds.now += 1.01
    assert breaker.permit() is not None


def test_a_try_that_never_reports_back_does_not_block_the_others_for_ever(seconds: Seconds) -> None:
    breaker = Breaker(10)
    permit = breaker.permit()
    assert permit is not None
    breaker.failed(permit)
    seconds.now += 1.01
    assert breaker.permit() is not None  # this caller's thread dies here
    seconds.now += 1.01
    assert breaker.permit() is not None


def test_of_many_threads_one_gets_the_half_open_try() -> None:
    breaker = Breaker(0.0)
    breaker.maximum = 0.05
    permit = breaker.permit()
    assert permit is not None
    breaker.failed(permit)
    breaker._closed_until = 0.0
    breaker.maximum = 60
    start, got = threading.Barrier(8), []

    def try_it() -> None:
        start.wait(5)
        if breaker.permit() is not None:
            got.append(1)

    threads = [threading.Thread(target=try_it) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert len(got) == 1
