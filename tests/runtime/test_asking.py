"""What can be fired, explained: the same answer for a button and for a click."""

from __future__ import annotations

import datetime as dt
import pickle
from typing import Any

import pytest
from django.utils import timezone, translation
from django.utils.translation import gettext_lazy

from lifecycle import SYSTEM, Refuse
from lifecycle.exceptions import LifecycleError, UnknownTransition
from lifecycle.models import ParameterOverride
from lifecycle.runtime import can, create, fire, parameters, register_guard
from lifecycle.testing import assert_statements
from tests.support.models import Ticket

pytestmark = pytest.mark.django_db


def test_can_collects_every_refusing_guard(ticket: Ticket) -> None:
    remove = register_guard("tickets", "touch", lambda ctx: Refuse("b", "Second.", kind="permission"))
    remove_too = register_guard("tickets", ["touch"], lambda ctx: "Third.")
    try:
        verdict = ticket.lifecycle.can("touch", actor=SYSTEM)
    finally:
        remove()
        remove_too()

    assert not verdict
    assert [(r.code, r.kind, str(r)) for r in verdict.refusals] == [
        ("b", "permission", "Second."),
        ("guard_refused", "precondition", "Third."),
    ]
    assert ticket.lifecycle.can("touch", actor=SYSTEM).allowed


@pytest.mark.parametrize("priority", [1, 9])
@pytest.mark.parametrize("who", ["agent", "visitor", "system"])
@pytest.mark.parametrize("transition", ["ask", "solve", "escalate", "reopen", "touch", "reply"])
def test_what_can_says_is_what_fire_does(
    new_ticket: Any, agent: Any, visitor: Any, who: str, transition: str, priority: int
) -> None:
    actor = {"agent": agent, "visitor": visitor, "system": SYSTEM}[who]
    ticket = new_ticket(priority=priority)
    given = {"answer": "Turned it on"} if transition == "solve" else {}

    verdict = can(ticket, transition, actor=actor, input=given, manual=True)

    met: tuple[Any, ...] = ()
    try:
        fire(ticket, transition, actor=actor, input=given, manual=True)
    except LifecycleError as error:
        met = tuple(error.refusals)
    assert met == verdict.refusals
    assert verdict.allowed is (met == ())


def test_can_without_input_answers_for_the_button_with_input_for_the_call(ticket: Ticket) -> None:
    assert ticket.lifecycle.can("solve", actor=SYSTEM).allowed

    verdict = ticket.lifecycle.can("solve", actor=SYSTEM, input={"priority": 10})

    assert not verdict.allowed
    assert {problem.field for problem in verdict.problems} == {"answer", "priority"}


def test_can_and_available_cost_no_statement(ticket: Ticket) -> None:
    with assert_statements(0):
        ticket.lifecycle.can("touch", actor=SYSTEM)
        ticket.lifecycle.available(actor=SYSTEM)


def test_available_lists_every_manual_transition_out_of_the_state_with_its_reasons(
    new_ticket: Any, visitor: Any
) -> None:
    ticket = new_ticket()

    found = {one.name: one for one in ticket.lifecycle.available(actor=visitor)}

    assert list(found) == ["ask", "solve", "escalate", "touch", "triage"]
    assert found["ask"].allowed
    assert [refusal.code for refusal in found["solve"].refusals] == ["permission_denied"]


def test_the_system_is_told_why_its_own_transition_is_closed(ticket: Ticket) -> None:
    verdict = ticket.lifecycle.can("reply", actor=SYSTEM)

    assert [refusal.code for refusal in verdict.refusals] == ["invalid_state"]


def test_an_unknown_name_is_an_error_not_a_refusal(ticket: Ticket) -> None:
    with pytest.raises(UnknownTransition, match="Did you mean 'ask'"):
        ticket.lifecycle.can("aks", actor=SYSTEM)


def test_an_added_guard_must_name_a_transition_that_exists() -> None:
    with pytest.raises(UnknownTransition, match="Did you mean 'solve'"):
        register_guard("tickets", "slove", lambda ctx: True)


def test_a_guard_that_answers_nothing_is_a_bug_not_a_yes(ticket: Ticket) -> None:
    remove = register_guard("tickets", "touch", lambda ctx: None)
    try:
        with pytest.raises(TypeError, match="answered None: expected True, False, a message or Refuse"):
            ticket.lifecycle.fire("touch", actor=SYSTEM)
    finally:
        remove()
    assert Ticket.objects.get(pk=ticket.pk).lifecycle_version == 1


def test_a_lazy_message_is_resolved_when_it_is_shown(ticket: Ticket) -> None:
    remove = register_guard("tickets", "touch", lambda ctx: Refuse("x", gettext_lazy("Yes")))
    try:
        (refusal,) = ticket.lifecycle.can("touch", actor=SYSTEM).refusals
    finally:
        remove()

    with translation.override("de"):
        assert refusal.as_dict()["message"] == "Ja"
    assert refusal.as_dict()["message"] == "Yes"


def test_a_view_shows_one_picture_in_three_statements(ticket: Ticket) -> None:
    ticket.lifecycle.fire("ask", actor=SYSTEM)
    stale = Ticket.objects.get(pk=ticket.pk)
    ticket.lifecycle.fire("solve", actor=SYSTEM, input={"answer": "x"})
    ticket.lifecycle.fire("reopen", actor=SYSTEM)

    with assert_statements(3):
        view = stale.lifecycle.view(actor=SYSTEM)

    assert (view.state, view.version) == ("open", 4)
    assert [entry.version for entry in view.history] == [4, 3, 2, 1]
    assert [run.effect for run in view.runs] == ["tell_agent", "nudge"]
    assert "ask" in [one.name for one in view.available]


def test_a_view_keeps_to_the_number_of_entries_asked_for(ticket: Ticket) -> None:
    for _ in range(5):
        ticket.lifecycle.fire("touch", actor=SYSTEM)

    assert len(create(Ticket(), actor=SYSTEM).lifecycle.view(actor=SYSTEM).history) == 1
    assert [entry.version for entry in ticket.lifecycle.view(actor=SYSTEM, history=2).history] == [6, 5]


def test_parameters_are_the_defaults_under_the_operators_overrides() -> None:
    assert parameters("tickets").patience == dt.timedelta(days=2)

    ParameterOverride.objects.create(lifecycle="tickets", name="patience", value="P1D", updated_at=timezone.now())

    assert parameters(Ticket).patience == dt.timedelta(days=1)
    assert parameters(Ticket).reminders is True
    assert parameters("parcels") is None


def test_who_may_not_fire_what_would_change_nothing_is_told_the_same_by_both(new_ticket: Any, visitor: Any) -> None:
    ticket = new_ticket()
    fire(ticket, "escalate", actor=SYSTEM)

    verdict = can(ticket, "escalate", actor=visitor)

    with pytest.raises(LifecycleError) as caught:
        fire(ticket, "escalate", actor=visitor)
    assert verdict.refusals == tuple(caught.value.refusals)
    assert [refusal.source for refusal in verdict.refusals] == ["permission"]


def test_the_runtimes_own_sentences_speak_the_language_of_the_reader(ticket: Ticket) -> None:
    (refusal,) = ticket.lifecycle.can("reopen", actor=SYSTEM).refusals

    with translation.override("de"):
        assert str(refusal).startswith("„Reopen“ beginnt in ")
    assert str(refusal) == "“Reopen” starts in Solved; the record is Open."
    assert pickle.loads(pickle.dumps(refusal)) == refusal


def test_a_refusal_says_labels_to_people_and_names_to_programs(ticket: Ticket, visitor: Any) -> None:
    fire(ticket, "solve", actor=SYSTEM, input={"answer": "42"})

    wrong_state, permission = can(ticket, "solve", actor=visitor).refusals

    assert str(wrong_state) == ("“Solve” starts in Open, Waiting for the customer or Escalated; the record is Solved.")
    assert wrong_state.as_dict()["params"] == {
        "transition": "solve",
        "state": "solved",
        "sources": ["open", "waiting", "escalated"],
    }
    assert str(permission) == "You have no permission for “Solve”."
    assert permission.as_dict()["params"] == {"transition": "solve", "permission": "support.solve_ticket"}
    with translation.override("de"):
        assert str(wrong_state).startswith("„Solve“ beginnt in ")
        assert ", Waiting for the customer oder Escalated; der Datensatz ist " in str(wrong_state)
        assert str(permission) == "Ihnen fehlt das Recht für „Solve“."


def test_a_guard_that_gives_no_reason_is_named_beside_its_transition(ticket: Ticket) -> None:
    def is_office_hours(ctx: Any) -> bool:
        return False

    remove = register_guard("tickets", "ask", is_office_hours)

    (refusal,) = can(ticket, "ask", actor=SYSTEM).refusals

    remove()
    assert str(refusal) == "“Ask the customer” is refused: is office hours does not hold."
    assert refusal.as_dict()["params"] == {"transition": "ask", "guard": "is_office_hours"}
