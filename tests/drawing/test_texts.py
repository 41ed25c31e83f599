"""Diagrams as text: the same definition, the same text; whatever a label says."""

from __future__ import annotations

import io
import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import translation
from django.utils.translation import gettext_lazy as _
from hypothesis import given
from hypothesis import strategies as st

from lifecycle import ANY, ANY_EXCEPT, Deadline, Lifecycle, State, Timeout, Transition, effect
from lifecycle.drawing.dot import dot, quoted
from lifecycle.drawing.mermaid import escaped, mermaid
from tests.drawing.definitions import SUBSCRIPTION
from tests.support.lifecycles import ParcelLifecycle

pytestmark = pytest.mark.once

MERMAID = """\
stateDiagram-v2
    state "Packed" as packed
    state "Labelling" as labelling
    state "Sent" as sent
    state "Stuck" as stuck
    state "Lost" as lost
    state "Returned" as returned
    [*] --> packed
    packed --> labelling : Send
    stuck --> labelling : Send
    labelling --> sent : Labelled ✓ ⚙
    labelling --> stuck : Label failed ✗ ⚙
    labelling --> lost : Label lost ✗ ⚙
    sent --> sent : Scan
    packed --> returned : Take back
    labelling --> returned : Take back
    sent --> returned : Take back
    stuck --> returned : Take back
    lost --> returned : Take back
    returned --> [*]
"""

DOT = """\
digraph "gates" {
    rankdir=LR;
    node [shape=box, style="rounded"];
    "$start" [shape=point, label=""];
    "open" [label="Open \\"wide\\""];
    "ajar" [label="Ajar", style="rounded,dashed"];
    "end" [label="End", peripheries=2];
    "$start" -> "open";
    "open" -> "end" [label="C:\\\\close ⏱"];
    "ajar" -> "end" [label="C:\\\\close ⏱"];
    "open" -> "open" [label="Knock ⏱ ⚙"];
}
"""


class Gates(Lifecycle[Any]):
    class Meta:
        name = "gates"
        states = {"open": 'Open\n"wide"', "ajar": State("Ajar", deprecated=True), "end": State("End", final=True)}
        initial = "open"

    close = Transition(["ajar", "open"], "end", label="C:\\close")
    knock = Transition("open", "open", manual=False)
    later = Timeout(close, when="open", after=timedelta(1))
    on_day = Deadline(knock, when="open", at="due_on")

    @effect(on=knock)
    def answer(self, ctx: Any) -> None: ...


def test_mermaid_shows_states_ends_and_who_fires_what() -> None:
    assert mermaid(ParcelLifecycle.definition) == MERMAID


def test_dot_shows_states_ends_and_who_fires_what() -> None:
    assert dot(Gates.definition) == DOT


def test_mermaid_survives_labels_and_names_that_mean_something_to_it() -> None:
    text = mermaid(Gates.definition)
    assert 'state "Open #quot;wide#quot;" as open' in text
    assert 'state "End" as state_3' in text  # "end" would end the diagram
    assert "open --> state_3 : C#58;\\close ⏱" in text
    assert text.endswith("classDef deprecated stroke-dasharray: 4\n    class ajar deprecated\n")


def test_a_transition_from_any_state_is_one_arrow_out_of_one_box_that_names_the_states() -> None:
    text = mermaid(SUBSCRIPTION)
    assert text.count(": End now") == 1
    assert "    %% state_6: Trial, Active, Past due, Paused\n" in text
    assert '    state "Any state" as state_6\n' in text
    assert "    state_6 --> ended : End now\n" in text
    text = dot(SUBSCRIPTION)
    assert text.count('label="End now"') == 1
    assert '"$any0" [label="Any state", tooltip="Trial, Active, Past due, Paused", style="rounded,dashed"];' in text
    assert '"$any0" -> "ended" [label="End now"];' in text


def test_transitions_out_of_the_same_states_share_a_box_and_others_have_their_own() -> None:
    class Press(Lifecycle[Any]):
        class Meta:
            name = "press"
            states = ["a", "b", "c", "end"]
            initial = ["a", "b"]
            final = "end"

        go = Transition(["a", "b"], "c")
        stop = Transition(ANY, "end")
        reset = Transition(ANY, "a")
        skip = Transition(ANY_EXCEPT("c"), "end")

    text = dot(Press.definition)
    assert text.count('"$any0" [label="Any state"') == text.count('"$any1" [label="Any state except C"') == 1
    arrows = re.findall(r'"(.+)" -> "(.+)" \[', text)
    assert arrows == [("a", "c"), ("b", "c"), ("$any0", "end"), ("$any0", "a"), ("$any1", "end")]


def test_two_states_never_share_an_id() -> None:
    class Odd(Lifecycle[Any]):
        class Meta:
            name = "odd"
            states = ["a.b", "state_1", "a-b", "state_3"]
            initial = "a.b"
            final = "state_3"

        one = Transition("a.b", "state_1")
        two = Transition("state_1", "a-b")
        three = Transition("a-b", "state_3")

    ids = re.findall(r'state ".*" as (\w+)', mermaid(Odd.definition))
    assert ids == ["state_1_", "state_1", "state_3_", "state_3"]


def test_labels_are_drawn_in_the_active_language() -> None:
    class Process(Lifecycle[Any]):
        class Meta:
            name = "process"
            states = {"a": _("Yes"), "b": State(_("No"), final=True)}
            initial = "a"

        go = Transition("a", "b", label=_("Unknown"))

    with translation.override("de"):
        assert 'state "Ja" as a' in mermaid(Process.definition)
        assert '"a" -> "b" [label="Unbekannt"];' in dot(Process.definition)
    assert 'state "Yes" as a' in mermaid(Process.definition)


@given(st.text())
def test_no_label_breaks_out_of_its_line(label: str) -> None:
    assert not set(escaped(label)) & set('"<>`%\n\r:')
    assert len(escaped(label).splitlines()) == 1
    inside = quoted(label)[1:-1]
    assert re.fullmatch(r'(?:[^"\\]|\\.)*', inside)
    assert len(inside.splitlines()) <= 1


# The command ------------------------------------------------------------------------------------------


def graph(*arguments: str) -> str:
    out = io.StringIO()
    call_command("lifecycle_graph", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_prints_the_lifecycles_named() -> None:
    assert graph("parcels") == MERMAID
    assert graph("parcels", "--format", "dot").startswith('digraph "parcels" {')


def test_the_command_prints_all_when_none_is_named() -> None:
    text = graph("--format", "dot")
    assert 'digraph "tickets"' in text
    assert 'digraph "parcels"' in text


def test_the_command_answers_an_unknown_name_with_the_nearest_right_one() -> None:
    with pytest.raises(CommandError, match="Did you mean 'parcels'?"):
        graph("parcel")
