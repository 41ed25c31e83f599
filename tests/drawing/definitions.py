"""Definitions to draw: known ones, and any."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from lifecycle.definition.compiled import CompiledTimeout, CompiledTransition, Definition, State

ANY = "*"


@dataclass(frozen=True)
class Way:
    """A transition, briefly."""

    name: str
    sources: str
    target: str
    manual: bool = True
    label: Any = None

    def compiled(self, states: Sequence[str], final: Iterable[str]) -> CompiledTransition:
        open_states = [state for state in states if state not in final]
        sources = open_states if self.sources == ANY else self.sources.split()
        return CompiledTransition(
            name=self.name,
            label=self.label if self.label is not None else self.name.replace("_", " ").capitalize(),
            sources=frozenset(sources),
            targets=tuple(self.target.split()),
            any_source=self.sources == ANY,
            manual=self.manual,
        )


def define(
    states: dict[str, Any],
    ways: Sequence[Way],
    *,
    initial: str,
    final: str = "",
    times: Iterable[tuple[str, str]] = (),
    name: str = "things",
) -> Definition:
    """A definition without a model: all that drawing asks for."""
    return Definition(
        name=name,
        lifecycle=object,
        owner=None,
        model=None,
        state_field="status",
        changed_at_field="status_changed_at",
        version_field="lifecycle_version",
        accessor="lifecycle",
        queue="default",
        states={
            state: State(name=state, label=label, initial=state in initial.split(), final=state in final.split())
            for state, label in states.items()
        },
        initial=tuple(initial.split()),
        final=frozenset(final.split()),
        transitions={way.name: way.compiled(list(states), final.split()) for way in ways},
        effects={},
        timeouts={
            f"{transition}_{number}": CompiledTimeout(
                name=f"{transition}_{number}",
                transition=transition,
                when=tuple(when.split()),
                after=lambda parameters: dt.timedelta(days=7),
            )
            for number, (transition, when) in enumerate(times)
        },
    )


SUBSCRIPTION = define(
    {"trial": "Trial", "active": "Active", "past_due": "Past due", "paused": "Paused", "ended": "Ended"},
    [
        Way("extend_trial", "trial", "trial"),
        Way("convert", "trial", "active"),
        Way("renew", "active", "active", manual=False),
        Way("change_plan", "active", "active"),
        Way("charge_failed", "active", "past_due", manual=False),
        Way("charge_succeeded", "past_due", "active", manual=False),
        Way("remind", "past_due", "past_due", manual=False),
        Way("pause", "active", "paused"),
        Way("resume", "paused", "active"),
        Way("end_now", ANY, "ended"),
    ],
    initial="trial",
    final="ended",
    times=[("renew", "active"), ("remind", "past_due")],
    name="subscriptions",
)

REVIEW = define(
    {"draft": "Draft", "review": "In review", "approved": "Approved", "published": "Published"},
    [
        Way("submit", "draft", "review"),
        Way("approve", "review", "approved"),
        Way("publish", "approved", "published", manual=False),
    ],
    initial="draft",
    final="published",
    times=[("publish", "approved")],
    name="articles",
)

TICKET = define(
    {
        "new": "New",
        "triage": "Triage",
        "assigned": "Assigned",
        "in_progress": "In progress",
        "waiting": "Waiting for customer",
        "in_review": "In review",
        "vendor": "Waiting for vendor",
        "escalated": "Escalated",
        "resolved": "Resolved",
        "reopened": "Reopened",
        "closed": "Closed",
        "spam": "Spam",
    },
    [
        Way("triage", "new", "triage"),
        Way("mark_as_spam", "new triage", "spam"),
        Way("assign", "triage reopened escalated", "assigned"),
        Way("start", "assigned", "in_progress"),
        Way("hand_back", "assigned in_progress", "triage"),
        Way("ask_customer", "in_progress assigned", "waiting"),
        Way("customer_answered", "waiting", "in_progress", manual=False),
        Way("submit_fix", "in_progress", "in_review"),
        Way("reject_fix", "in_review", "in_progress"),
        Way("accept_fix", "in_review", "resolved"),
        Way("ask_vendor", "in_progress", "vendor"),
        Way("vendor_answered", "vendor", "in_progress", manual=False),
        Way("escalate", "assigned in_progress vendor", "escalated"),
        Way("take_over", "escalated", "in_progress"),
        Way("no_answer", "waiting", "resolved", manual=False, label="No answer for 7 days"),
        Way("close", "resolved", "closed", manual=False, label="Close after 14 days"),
        Way("confirm", "resolved waiting", "closed", manual=False, label="Customer confirmed"),
        Way("reopen", "resolved", "reopened"),
        Way("back_to_triage", "reopened", "triage"),
    ],
    initial="new",
    final="closed spam",
    times=[("no_answer", "waiting"), ("close", "resolved")],
    name="tickets",
)


def long(count: int) -> Definition:
    """A process of so many states, one after the other, with ways back and forth between every part of it."""
    names = [f"s{number}" for number in range(count)]
    ways = [Way(f"t{number}", names[number], names[number + 1]) for number in range(count - 1)]
    ways += [Way(f"u{number}", names[number * 7 % count], names[number * 11 % count]) for number in range(1, 25)]
    return define({name: name.upper() for name in names}, ways, initial="s0", name="long")


LABELS = st.one_of(
    st.sampled_from(["Pay", "Refund needs attention", "Zahlung fehlgeschlagen", "支払い待ち", "<b>&\"'", "", "x" * 60]),
    st.text(max_size=30),
)


@st.composite
def definitions(draw: st.DrawFn, least_states: int = 1, most_states: int = 8, most_ways: int = 11) -> Definition:
    """Any lifecycle: reachable or not, with loops, there and back, ANY, several initial states, odd labels."""
    count = draw(st.integers(least_states, most_states))
    names = [f"s{number}" for number in range(count)]
    states = {name: draw(LABELS) for name in names}
    final = draw(st.lists(st.sampled_from(names[1:]), unique=True, max_size=3)) if count > 1 else []
    open_states = [name for name in names if name not in final]
    initial = draw(st.lists(st.sampled_from(open_states), unique=True, min_size=1, max_size=2))
    ways = []
    times = []
    for number in range(draw(st.integers(0, most_ways))):
        any_source = draw(st.integers(0, 9)) == 0
        sources = ANY if any_source else " ".join(draw(st.lists(st.sampled_from(open_states), unique=True, min_size=1)))
        targets = " ".join(draw(st.lists(st.sampled_from(names), unique=True, min_size=1, max_size=2)))
        way = Way(f"t{number}", sources, targets, manual=draw(st.booleans()), label=draw(LABELS))
        ways.append(way)
        if draw(st.integers(0, 3)) == 0:
            times.append((way.name, " ".join(open_states) if any_source else sources))
    return define(states, ways, initial=" ".join(initial), final=" ".join(final), times=times)


@st.composite
def paths(draw: st.DrawFn, definition: Definition) -> list[tuple[int, str, str, str]]:
    """A way a record may have gone."""
    here = draw(st.sampled_from(definition.initial))
    steps = [(1, "$create", "", here)]
    for version in range(2, 2 + draw(st.integers(0, 12))):
        leaving = definition.leaving(here)
        if not leaving:
            break
        transition = draw(st.sampled_from(list(leaving)))
        target = draw(st.sampled_from(transition.targets))
        steps.append((version, transition.name, here, target))
        here = target
    return steps
