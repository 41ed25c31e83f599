"""Why was I refused, and by whom: what people asked for in public."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.exceptions import PermissionDenied, ValidationError
from django.utils import translation
from django.utils.translation import gettext_lazy

from lifecycle import ANY_EXCEPT, SYSTEM, Lifecycle, Transition
from lifecycle.drawing.mermaid import mermaid
from lifecycle.exceptions import GuardRefused, InvalidInput, PermissionRefused, WrongState
from lifecycle.runtime import create, register_guard
from tests.support.lifecycles import TicketLifecycle
from tests.support.models import Ticket

pytestmark = pytest.mark.django_db


@pytest.fixture
def urgent() -> Ticket:
    return create(Ticket(priority=9), actor=SYSTEM)


@pytest.fixture
def ticket() -> Ticket:
    return create(Ticket(), actor=SYSTEM)


def test_the_error_carries_the_failing_guards_name_code_and_message(urgent: Ticket) -> None:
    """kmmbvnr/django-fsm #251; gocardless/statesman #254, PR #499."""
    with pytest.raises(GuardRefused) as caught:
        urgent.lifecycle.fire("solve", actor=SYSTEM, input={"answer": "x"})

    (refusal,) = caught.value.refusals
    assert (refusal.name, refusal.code) == ("is_not_urgent", "not_urgent")
    assert str(refusal) == "Urgent tickets are solved by phone."


def test_a_wrong_state_a_missing_permission_and_a_guard_are_told_apart(ticket: Ticket, urgent: Ticket) -> None:
    """kmmbvnr/django-fsm #268."""
    nobody = User.objects.create_user("nobody")

    kinds = [
        [(r.source, r.kind) for r in ticket.lifecycle.can("reopen", actor=SYSTEM).refusals],
        [(r.source, r.kind) for r in ticket.lifecycle.can("solve", actor=nobody).refusals],
        [(r.source, r.kind) for r in urgent.lifecycle.can("solve", actor=SYSTEM).refusals],
    ]

    assert kinds == [[("state", "precondition")], [("permission", "permission")], [("guard", "precondition")]]


def test_what_cannot_be_fired_now_is_listed_with_what_is_missing(urgent: Ticket) -> None:
    """kmmbvnr/django-fsm #140."""
    found = {one.name: one for one in urgent.lifecycle.available(actor=SYSTEM)}

    assert not found["solve"].allowed
    assert [str(refusal) for refusal in found["solve"].refusals] == ["Urgent tickets are solved by phone."]


def test_asking_and_firing_answer_with_equal_refusals(urgent: Ticket) -> None:
    """kmmbvnr/django-fsm #130."""
    verdict = urgent.lifecycle.can("solve", actor=SYSTEM, input={"answer": "x"})

    with pytest.raises(GuardRefused) as caught:
        urgent.lifecycle.fire("solve", actor=SYSTEM, input={"answer": "x"})
    assert tuple(caught.value.refusals) == verdict.refusals


def test_the_record_is_on_the_error_and_not_in_its_text(urgent: Ticket) -> None:
    """gocardless/statesman PR #566: a message that is the same for every record can be grouped."""
    with pytest.raises(GuardRefused) as caught:
        urgent.lifecycle.fire("solve", actor=SYSTEM, input={"answer": "x"})

    assert caught.value.record_id == str(urgent.pk)
    assert str(urgent.pk) not in str(caught.value)


def test_all_refusing_guards_are_collected(urgent: Ticket) -> None:
    """dotnet-state-machine/stateless PR #423."""
    remove = register_guard("tickets", "solve", lambda ctx: "And it is Sunday.")
    try:
        verdict = urgent.lifecycle.can("solve", actor=SYSTEM)
    finally:
        remove()

    assert [str(refusal) for refusal in verdict.refusals] == [
        "Urgent tickets are solved by phone.",
        "And it is Sunday.",
    ]


def test_a_validation_error_is_shown_field_by_field(ticket: Ticket) -> None:
    """pluginaweek/state_machine #121, #142, #243."""
    with pytest.raises(InvalidInput) as caught:
        ticket.lifecycle.fire("solve", actor=SYSTEM, input={"answer": "x" * 501, "priority": "many"})

    assert {problem.field for problem in caught.value.problems} == {"answer", "priority"}
    assert "500 characters" in str(caught.value)


def test_a_validation_error_of_a_guard_of_ones_own_reaches_the_caller_as_it_is(ticket: Ticket) -> None:
    """pluginaweek/state_machine #121: nothing vanishes behind "cannot transition"."""

    def guard(ctx: Any) -> bool:
        raise ValidationError({"title": "Too vague."})

    remove = register_guard("tickets", "touch", guard)
    try:
        with pytest.raises(ValidationError, match="Too vague"):
            ticket.lifecycle.fire("touch", actor=SYSTEM)
    finally:
        remove()


def test_asking_has_no_side_effect(ticket: Ticket) -> None:
    """fgmacedo/python-statemachine #520."""
    before = dict(ticket.__dict__)

    ticket.lifecycle.can("solve", actor=SYSTEM, input={"answer": "x"})
    ticket.lifecycle.available(actor=SYSTEM)

    assert {k: v for k, v in ticket.__dict__.items() if k != "_state"} == {
        k: v for k, v in before.items() if k != "_state"
    }
    assert ticket.lifecycle.history.count() == 1


def test_being_refused_is_loud(ticket: Ticket) -> None:
    """fgmacedo/python-statemachine #631."""
    with pytest.raises(WrongState):
        ticket.lifecycle.fire("reopen", actor=SYSTEM)


def test_a_guard_sees_the_validated_input(ticket: Ticket) -> None:
    """kmmbvnr/django-fsm #117."""
    seen: list[Any] = []
    remove = register_guard("tickets", "solve", lambda ctx: seen.append(ctx.input["priority"]) is None)
    try:
        ticket.lifecycle.fire("solve", actor=SYSTEM, input={"answer": "x", "priority": "7"})
    finally:
        remove()

    assert seen == [7]


# Permissions ------------------------------------------------------------------------------------


def test_a_declared_permission_is_enforced_by_every_fire_of_a_person(ticket: Ticket) -> None:
    """kmmbvnr/django-fsm #263, #134."""
    nobody = User.objects.create_user("nobody")

    with pytest.raises(PermissionRefused):
        ticket.lifecycle.fire("solve", actor=nobody, input={"answer": "x"})
    nobody.user_permissions.add(Permission.objects.get(codename="solve_ticket"))
    ticket.lifecycle.fire("solve", actor=User.objects.get(pk=nobody.pk), input={"answer": "x"})

    assert ticket.status == "solved"


def test_a_missing_permission_is_djangos_own_permission_denied(ticket: Ticket) -> None:
    """viewflow/viewflow PR #497."""
    with pytest.raises(PermissionDenied):
        ticket.lifecycle.fire("solve", actor=User.objects.create_user("nobody"), input={"answer": "x"})


def test_a_forgotten_actor_is_no_free_pass(ticket: Ticket) -> None:
    """Borderless360/django-logic, README: a forgotten user skipped every check."""
    with pytest.raises(TypeError):
        ticket.lifecycle.fire("touch", actor=None)
    with pytest.raises(TypeError, match="actor"):
        ticket.lifecycle.fire("touch")  # type: ignore[call-arg]
    assert ticket.lifecycle.history.count() == 1


def test_the_transition_declared_for_the_current_state_is_the_one_that_is_asked(ticket: Ticket) -> None:
    """django-commons/django-fsm-2 #151, PR #153: one name is one edge with one set of permissions."""
    edge = TicketLifecycle.definition.transitions["solve"]

    assert edge.sources == {"open", "waiting", "escalated"}
    assert edge.permissions == ("support.solve_ticket",)


# Language, types, diagrams ----------------------------------------------------------------------


def test_labels_are_resolved_in_the_language_of_whoever_looks() -> None:
    """aasm/aasm #709; kmmbvnr/django-fsm #87, #119: a label is not frozen in the language of the first reader."""

    class Bilingual(Lifecycle[Any]):
        class Meta:
            name = "bilingual"
            states = ["a", "b"]
            initial = "a"
            final = ["b"]

        go = Transition(ANY_EXCEPT("b"), "b", label=gettext_lazy("Yes"))

    label = Bilingual.definition.transitions["go"].label
    with translation.override("de"):
        assert str(label) == "Ja"
    with translation.override("en"):
        assert str(label) == "Yes"


def test_a_lifecycle_is_text_for_a_diagram() -> None:
    """kmmbvnr/django-fsm #241."""
    text = mermaid(TicketLifecycle.definition)

    assert text.startswith("stateDiagram-v2")
    assert "open" in text


def test_a_refusal_survives_a_pickle(urgent: Ticket) -> None:
    """kmmbvnr/django-fsm #251: errors cross processes."""
    (refusal,) = urgent.lifecycle.can("solve", actor=SYSTEM).refusals

    assert pickle.loads(pickle.dumps(refusal)) == refusal
