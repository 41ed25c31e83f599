"""Rules W: what ends a wait, and which messages it takes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifecycle import SYSTEM
from lifecycle.definition.flows import evaluation
from lifecycle.definition.flows.waits import InvalidWait
from lifecycle.execution.drain import drain
from lifecycle.flows import StepOptions, Timer, Wait, force_complete, publish, start_flow, stop
from lifecycle.models import ChannelMessage, FlowRun, StepExecution, WaitCondition
from lifecycle.testing import travel
from tests.support.flows import Collect, Words

pytestmark = pytest.mark.django_db
NOW = datetime(2030, 1, 1, tzinfo=UTC)


def begun(does: dict[str, Any], wait: Any, *words: str) -> FlowRun:
    """A flow whose step waits so, with these words published before anybody looked."""
    does["Collect.wait_for"] = wait
    flow = start_flow(Words, 0, actor=SYSTEM, flow_id=f"w{FlowRun.objects.count()}").flow
    for word in words:
        publish(flow, Words.words, word, actor=SYSTEM)
    drain()
    flow.refresh_from_db()
    return flow


def left(flow: FlowRun) -> list[Any]:
    return list(flow.messages.filter(consumed_by=None).values_list("payload", flat=True))


def test_w1_any_of_is_won_by_a_timer_that_is_due_and_the_message_stays(does: dict[str, Any]) -> None:
    flow = begun(does, lambda n: Wait.any_of(Words.words.for_one(), Timer(timedelta(0), id="now")), "a")

    assert (flow.outputs, left(flow)) == ([[]], ["a"])


def test_w1_all_of_waits_for_every_condition_at_once(does: dict[str, Any]) -> None:
    flow = begun(does, lambda n: Wait.all_of(Words.words.for_one(), Timer(timedelta(hours=1))), "a")
    assert (flow.status, left(flow)) == ("running", ["a"])

    with travel(hours=2):
        drain()
        flow.refresh_from_db()

    assert flow.outputs == [["a"]]


@pytest.mark.parametrize(
    ("condition", "words", "taken"),
    [
        (Words.words.for_one, "ab", "a"),
        (lambda: Words.words.for_n(2), "a", None),
        (lambda: Words.words.for_n(2), "abc", "ab"),
        (lambda: Words.words.at_least(2), "a", None),
        (lambda: Words.words.at_least(2), "abcd", "abcd"),
        (lambda: Words.words.at_most(2), "", ""),
        (lambda: Words.words.at_most(2), "abc", "ab"),
        (lambda: Words.words.for_range(1, 2), "", None),
        (lambda: Words.words.for_range(1, 2), "abc", "ab"),
    ],
)
def test_w2_the_lower_bound_says_when_and_the_upper_how_many(
    does: dict[str, Any], condition: Any, words: str, taken: str | None
) -> None:
    flow = begun(does, lambda n: Wait.until(condition()), *words)

    assert flow.outputs == ([list(taken)] if taken is not None else [])


@pytest.mark.parametrize(("least", "most"), [(-1, 2), (3, 2)])
def test_w2_bounds_that_cannot_be_are_refused(least: int, most: int) -> None:
    with pytest.raises(InvalidWait, match="0 ≤ least ≤ most"):
        Words.words.for_range(least, most)


def test_w3_only_the_condition_that_won_consumes(does: dict[str, Any]) -> None:
    does["Collect"] = lambda ctx: force_complete([ctx.results(Words.words), ctx.results(Words.other)])
    does["Collect.wait_for"] = lambda n: Wait.any_of(Words.words.for_one(), Words.other.for_one())
    flow = start_flow(Words, 0, actor=SYSTEM, flow_id="two").flow
    publish(flow, Words.other, 1, actor=SYSTEM)
    publish(flow, Words.words, "a", actor=SYSTEM)

    drain()

    flow.refresh_from_db()
    assert flow.outputs == [[["a"], []]]
    assert list(flow.messages.filter(consumed_by=None).values_list("channel", flat=True)) == ["other"]


@dataclass
class Condition:
    """A condition as it is stored."""

    position: int
    channel: str = ""
    least: int = 0
    most: int | None = None
    due_at: datetime | None = None
    name: str = ""
    skipped: bool = False


CHANNELS = st.sampled_from(["a", "b"])
CONDITIONS = st.lists(
    st.builds(
        lambda channel, least, room: Condition(0, channel, least, None if room is None else least + room),
        CHANNELS,
        st.integers(0, 3),
        st.none() | st.integers(0, 3),
    ),
    min_size=1,
    max_size=5,
)
LYING = st.dictionaries(CHANNELS, st.lists(st.integers(), max_size=9))


@given(conditions=CONDITIONS, lying=LYING)
def test_w4_every_least_is_reserved_before_any_surplus_is_handed_out(
    conditions: list[Condition], lying: dict[str, list[int]]
) -> None:
    taken = evaluation.over("all", conditions, lying, NOW)

    for channel in ("a", "b"):
        mine = [one for one in conditions if one.channel == channel]
        there = lying.get(channel, [])
        least = sum(one.least for one in mine)
        most = None if any(one.most is None for one in mine) else sum(one.most or 0 for one in mine)
        if taken is None:
            continue
        got = list(taken.messages.get(channel, []))
        assert got == there[: len(got)], "the oldest first"
        if mine:
            assert len(got) == (len(there) if most is None else min(most, len(there)))
            assert len(got) >= least
        else:
            assert got == []
    infeasible = any(
        sum(one.least for one in conditions if one.channel == channel) > len(lying.get(channel, []))
        for channel in ("a", "b")
    )
    assert (taken is None) == infeasible


@given(conditions=CONDITIONS, lying=LYING)
def test_w1_w3_any_takes_from_one_channel_at_most_and_is_the_first_that_is_ready(
    conditions: list[Condition], lying: dict[str, list[int]]
) -> None:
    taken = evaluation.over("any", conditions, lying, NOW)

    ready = [one for one in conditions if len(lying.get(one.channel, [])) >= one.least]
    assert (taken is not None) == bool(ready)
    if taken is not None:
        assert list(taken.messages) == [ready[0].channel]


def test_w5_what_was_taken_is_the_executions_own_over_all_its_attempts(
    does: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def fails_once(ctx: Any) -> Any:
        seen.append(list(ctx.results(Words.words)))
        if len(seen) == 1:
            raise ConnectionError("not yet")
        return force_complete(len(seen))

    does["Collect"] = fails_once
    monkeypatch.setattr(Collect, "options", StepOptions())
    flow = begun(does, lambda n: Wait.until(Words.words.for_n(2)), "a", "b", "c")
    with travel(minutes=5):
        drain()

    assert seen == [["a", "b"], ["a", "b"]]
    assert left(flow) == ["c"]


def test_w6_each_message_goes_to_one_wait_the_oldest_execution_first(does: dict[str, Any]) -> None:
    from lifecycle.flows import go_to_many, move

    does["Collect"] = lambda ctx: (
        go_to_many(*(move(Collect, 1) for _ in range(3)))
        if ctx.came_from == "$start"
        else force_complete([ctx.execution, *ctx.results(Words.words)])
    )
    flow = begun(does, lambda n: Wait.until(Words.words.for_n(n)) if n else Wait.skip())
    assert [str(one) for one in StepExecution.objects.filter(phase="waiting")] == [
        "Collect-2",
        "Collect-3",
        "Collect-4",
    ]

    publish(flow, Words.words, "a", actor=SYSTEM)
    drain()

    flow.refresh_from_db()
    assert flow.outputs == [["Collect-2", "a"]]


def test_w7_a_timer_that_was_due_is_reported_though_a_message_was_there_too(does: dict[str, Any]) -> None:
    does["Collect"] = lambda ctx: force_complete([ctx.timer_fired("late"), ctx.timer_fired("later")])
    flow = begun(
        does,
        lambda n: Wait.any_of(Timer(timedelta(hours=1), id="late"), Timer(timedelta(days=9), id="later")),
    )

    with travel(hours=2):
        drain()
        flow.refresh_from_db()

    assert flow.outputs == [[True, False]]


def test_w8_a_wait_is_looked_at_when_it_is_registered(does: dict[str, Any]) -> None:
    flow = begun(does, lambda n: Wait.until(Words.words.for_one()), "before")

    assert flow.outputs == [["before"]]


def test_w9_a_wait_that_failed_for_good_may_be_gone_past(does: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from lifecycle.definition.retries import Retry

    monkeypatch.setattr(
        Collect, "options", StepOptions(wait_for_retry=Retry(attempts=1), on_wait_for_failure="proceed")
    )
    does["Collect"] = lambda ctx: force_complete([ctx.wait_failed, list(ctx.results(Words.words))])

    def broken(n: int) -> Wait:
        raise ValueError("cannot tell")

    flow = begun(does, broken, "a")

    assert flow.outputs == [[True, []]]


def test_w10_a_wait_is_gone_when_its_flow_ends_and_its_messages_stay(does: dict[str, Any]) -> None:
    flow = begun(does, lambda n: Wait.until(Words.words.for_n(2)), "a")

    stop(flow, actor=SYSTEM)
    drain()

    assert not WaitCondition.objects.exists()
    assert left(flow) == ["a"]


def test_w11_a_failing_execute_gives_nothing_back(does: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from lifecycle.definition.retries import Retry

    monkeypatch.setattr(Collect, "options", StepOptions(retry=Retry(attempts=1)))

    def broken(ctx: Any) -> Any:
        raise ValueError("no")

    does["Collect"] = broken
    flow = begun(does, lambda n: Wait.until(Words.words.for_one()), "a", "b")

    assert (flow.status, left(flow)) == ("failed", ["b"])
    assert str(ChannelMessage.objects.get(payload="a").consumed_by) == "Collect-1"
