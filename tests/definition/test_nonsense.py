"""Whatever is declared, it compiles or is refused with sentences: never another error, never silence."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from lifecycle import (
    ANY,
    ANY_EXCEPT,
    CREATE,
    Deadline,
    InvalidDefinition,
    Lifecycle,
    Reminder,
    Retry,
    State,
    Timeout,
    Transition,
    effect,
    guard,
    on_enter,
)
from lifecycle.definition import lifecycle as declarations
from lifecycle.drawing.dot import dot
from lifecycle.drawing.mermaid import mermaid

NAMES = st.sampled_from(["open", "closed", "gone", "go", "back", "ring", "x", "", "$x", "a b", "é"])
THINGS: st.SearchStrategy[Any] = st.one_of(
    NAMES,
    st.sampled_from([None, 0, -1, 1.5, True, object(), print, len, int, ANY, CREATE, b"x", timedelta(0), timedelta(1)]),
    st.sampled_from([Retry(), Retry(attempts=0), State("x"), State(5), State(deprecated=True), ANY_EXCEPT("x")]),
    st.lists(NAMES, max_size=3),
    st.dictionaries(NAMES, st.sampled_from([None, 5, "x", State("x"), {"label": "y"}, {"z": 1}]), max_size=3),
)
WORDS = st.sampled_from(
    ["label", "permission", "form", "accept", "manual", "effects", "guards", "set", "route", "hooks", "on_same", "meta"]
)
EFFECT_WORDS = st.sampled_from(
    ["name", "retry", "timeout", "lease", "queue", "on_success", "on_failure", "on_dead", "atomic", "delay", "nmae"]
)
META_WORDS = st.sampled_from(
    ["model", "initial", "final", "states", "state_field", "version_field", "accessor", "services", "queue", "x"]
)


def function(self: Any, ctx: Any) -> None: ...


@st.composite
def bodies(draw: Any) -> dict[str, Any]:
    meta: dict[str, Any] = {
        "name": "nonsense",
        "states": ["open", "closed", "gone"],
        "initial": "open",
        "final": "gone",
    }
    meta.update(draw(st.dictionaries(META_WORDS, THINGS, max_size=2)))
    body: dict[str, Any] = {
        "go": Transition("open", "closed"),
        "back": Transition("closed", "open"),
        "end": Transition(ANY, "gone"),
    }
    options = draw(st.dictionaries(WORDS, THINGS, max_size=3))
    more = {
        "odd": lambda: Transition(draw(THINGS), draw(THINGS), **options),
        "work": lambda: effect(
            on=draw(THINGS), on_enter=draw(THINGS), **draw(st.dictionaries(EFFECT_WORDS, THINGS, max_size=3))
        )(function),
        "later": lambda: Timeout(draw(THINGS), draw(THINGS), draw(THINGS)),
        "on_day": lambda: Deadline(draw(THINGS), draw(THINGS), draw(THINGS)),
        "remind": lambda: Reminder(draw(THINGS), draw(THINGS), draw(THINGS), draw(THINGS)),
        "ask": lambda: guard(on=draw(THINGS), code=draw(THINGS), kind=draw(THINGS))(function),
        "enter": lambda: on_enter(draw(THINGS))(function),
        "go": lambda: draw(THINGS),
        "Parameters": lambda: draw(THINGS),
    }
    for name in draw(st.sets(st.sampled_from(sorted(more)), max_size=3)):
        body[name] = more[name]()
    return {"Meta": type("Meta", (), meta), **body}


@settings(max_examples=300, deadline=None)
@given(bodies())
def test_nonsense_compiles_or_is_refused_with_sentences(body: dict[str, Any]) -> None:
    made = declared(body)
    if isinstance(made, InvalidDefinition):
        assert made.problems
        assert all(problem.message and problem.hint and problem.where for problem in made.problems)
        assert str(made)
    else:
        assert len(made.definition.hash) == 32
        assert mermaid(made.definition)
        assert dot(made.definition)


def declared(body: dict[str, Any]) -> type[Lifecycle[Any]] | InvalidDefinition:
    before = len(declarations.declared)
    try:
        return type("Nonsense", (Lifecycle,), body)
    except InvalidDefinition as refusal:
        return refusal
    finally:
        del declarations.declared[before:]
