"""What one firing writes, answers and refuses."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import translation

from lifecycle import SYSTEM, Actor
from lifecycle.exceptions import (
    Conflict,
    GuardRefused,
    InvalidInput,
    InvalidRequestId,
    PermissionRefused,
    RecordNotFound,
    RequestReused,
    StateWriteRefused,
    UnknownTransition,
    UnsavedEdits,
    WrongState,
)
from lifecycle.models import Run, TransitionLog
from lifecycle.runtime import create, fire
from lifecycle.testing import assert_statements
from tests.support import lifecycles
from tests.support.models import Agent, Parcel, Ticket

pytestmark = pytest.mark.django_db


def row(ticket: Ticket) -> tuple[str, int]:
    return Ticket.objects.values_list("status", "lifecycle_version").get(pk=ticket.pk)  # type: ignore[return-value]


def history(ticket: Any) -> list[str]:
    return [entry.transition for entry in ticket.lifecycle.history]


def test_creation_writes_the_first_entry_at_version_one() -> None:
    ticket = create(Ticket(title="No paper"), actor=Actor("importer", label="Importer"), reason="moved in")

    entry = ticket.lifecycle.history.get()
    assert row(ticket) == ("open", 1)
    assert (entry.transition, entry.source, entry.target, entry.version) == ("$create", None, "open", 1)
    assert (entry.actor_kind, entry.actor_id, entry.actor_label) == ("machine", "importer", "Importer")
    assert entry.reason == "moved in"
    assert ticket.status_changed_at == entry.at


def test_firing_moves_the_row_the_history_and_the_instance_together(ticket: Ticket) -> None:
    fired = ticket.lifecycle.fire("ask", actor=SYSTEM, input={"note": "Which printer?"}, reason="unclear")

    stored = Ticket.objects.get(pk=ticket.pk)
    assert fired.record is ticket
    assert (stored.status, stored.lifecycle_version, stored.note, stored.priority) == (
        "waiting",
        2,
        "Which printer?",
        2,
    )
    assert (ticket.status, ticket.lifecycle_version, ticket.note, ticket.priority) == (
        "waiting",
        2,
        "Which printer?",
        2,
    )
    entry = TransitionLog.objects.get(pk=fired.entry.pk)
    assert (entry.transition, entry.source, entry.target, entry.version) == ("ask", "open", "waiting", 2)
    assert entry.input == {"note": "Which printer?"}
    assert entry.reason == "unclear"
    assert stored.status_changed_at == entry.at
    assert entry.definition_hash == lifecycles.TicketLifecycle.definition.hash != ""


def test_a_plain_fire_is_three_statements(ticket: Ticket) -> None:
    with assert_statements(3):
        ticket.lifecycle.fire("touch", actor=SYSTEM)


def test_a_fire_with_effects_is_four_statements(db: Any) -> None:
    parcel = create(Parcel(), actor=SYSTEM)

    with assert_statements(4):
        parcel.lifecycle.fire("send", actor=SYSTEM)


def test_a_request_id_costs_one_statement_more(ticket: Ticket) -> None:
    with assert_statements(4):
        ticket.lifecycle.fire("touch", actor=SYSTEM, request_id="one")


def test_a_replay_writes_nothing(ticket: Ticket) -> None:
    ticket.lifecycle.fire("touch", actor=SYSTEM, request_id="one")

    with assert_statements(2):
        ticket.lifecycle.fire("touch", actor=SYSTEM, request_id="one")


def test_an_effect_on_entering_a_state_is_enqueued_bound_to_the_stay() -> None:
    parcel = create(Parcel(), actor=SYSTEM)

    fired = parcel.lifecycle.fire("send", actor=SYSTEM)

    run = Run.objects.get(lifecycle="parcels", record_id=str(parcel.pk))
    assert [pending.pk for pending in fired.runs] == [run.pk]
    assert (run.effect, run.status, run.stay_version, run.entry_id) == ("print_label", "queued", 2, fired.entry.pk)
    assert (run.max_attempts, run.queue, run.available_at) == (3, "default", fired.entry.at)


def test_an_effect_of_the_transition_is_enqueued_unbound(ticket: Ticket) -> None:
    ticket.lifecycle.fire("solve", actor=SYSTEM, input={"answer": "Turned it on"})

    fired = ticket.lifecycle.fire("reopen", actor=SYSTEM)

    assert [(run.effect, run.stay_version) for run in fired.runs] == [("tell_agent", None)]


def test_a_reminder_is_enqueued_for_the_stay_at_its_time(ticket: Ticket) -> None:
    fired = ticket.lifecycle.fire("ask", actor=SYSTEM)

    (run,) = fired.runs
    assert (run.effect, run.reminder, run.stay_version) == ("nudge", "nudge_customer", 2)
    assert (run.available_at - fired.entry.at).total_seconds() == 4 * 3600


def test_an_unknown_transition_names_the_nearest_and_the_list(ticket: Ticket) -> None:
    with pytest.raises(UnknownTransition, match=r"no transition 'slove'\. Did you mean 'solve'\? Known: ask, reply"):
        ticket.lifecycle.fire("slove", actor=SYSTEM)


def test_firing_without_an_actor_is_a_type_error(ticket: Ticket) -> None:
    with pytest.raises(TypeError, match="expected a user, SYSTEM or Actor"):
        ticket.lifecycle.fire("touch", actor=None)
    assert row(ticket) == ("open", 1)


def test_a_wrong_state_says_where_it_starts_and_where_the_record_is(ticket: Ticket) -> None:
    with pytest.raises(WrongState) as caught:
        ticket.lifecycle.fire("reopen", actor=SYSTEM)

    (refusal,) = caught.value.refusals
    assert (refusal.source, refusal.kind, refusal.code) == ("state", "precondition", "invalid_state")
    assert str(caught.value) == "“Reopen” starts in Solved; the record is Open."
    assert (caught.value.lifecycle, caught.value.record_id) == ("tickets", str(ticket.pk))
    assert row(ticket) == ("open", 1)


def test_a_missing_permission_is_djangos_permission_denied_and_hides_the_guards(new_ticket: Any, visitor: Any) -> None:
    ticket = new_ticket(priority=9)

    with pytest.raises(PermissionDenied) as caught:
        ticket.lifecycle.fire("solve", actor=visitor, input={"answer": "x"})

    assert isinstance(caught.value, PermissionRefused)
    assert [refusal.source for refusal in caught.value.refusals] == ["permission"]
    assert "phone" not in str(caught.value)
    assert row(ticket) == ("open", 1)


def test_a_permission_is_asked_of_people_not_of_the_system(ticket: Ticket, agent: Any) -> None:
    ticket.lifecycle.fire("solve", actor=agent, input={"answer": "Turned it on"})

    entry = ticket.lifecycle.history.last()
    assert (entry.actor_kind, entry.actor_id, entry.actor_label) == ("user", str(agent.pk), "agent")
    ticket.lifecycle.fire("escalate", actor=SYSTEM)
    assert row(ticket) == ("escalated", 3)


def test_a_system_transition_is_refused_to_people_before_the_row_is_read(ticket: Ticket) -> None:
    with assert_statements(0), pytest.raises(PermissionRefused) as caught:
        ticket.lifecycle.fire("reply", actor=SYSTEM, manual=True)

    assert caught.value.code == "not_manual"


def test_every_problem_of_an_input_is_reported_at_once_and_nothing_is_written(ticket: Ticket, agent: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        ticket.lifecycle.fire("solve", actor=agent, input={"priority": 99, "anwser": "x"}, manual=True)

    problems = {problem.field: str(problem.message) for problem in caught.value.problems}
    assert set(problems) == {"answer", "priority", "anwser"}
    assert "Did you mean 'answer'?" in problems["anwser"]
    assert row(ticket) == ("open", 1)
    assert history(ticket) == ["$create"]


def test_the_form_cleans_what_guards_and_accept_see(ticket: Ticket, agent: Any) -> None:
    ticket.lifecycle.fire("solve", actor=agent, input={"answer": "  Turned it on  "})

    assert Ticket.objects.get(pk=ticket.pk).answer == "Turned it on"


def test_an_accepted_field_is_validated_by_its_model_field(ticket: Ticket) -> None:
    with pytest.raises(InvalidInput) as caught:
        ticket.lifecycle.fire("ask", actor=SYSTEM, input={"note": "x" * 201})

    assert [problem.field for problem in caught.value.problems] == ["note"]
    assert row(ticket) == ("open", 1)


def test_an_input_that_is_not_json_names_the_path(ticket: Ticket) -> None:
    with pytest.raises(InvalidInput, match=r"at \$\.items\[1\] there is object") as caught:
        ticket.lifecycle.fire("touch", actor=SYSTEM, input={"items": [1, object()]})

    assert [problem.field for problem in caught.value.problems] == ["items[1]"]


def test_an_input_larger_than_the_limit_is_refused(ticket: Ticket, settings: Any) -> None:
    settings.LIFECYCLE = {"PAYLOAD_LIMIT": 1000}

    with pytest.raises(InvalidInput, match="more than the 1000 allowed"):
        ticket.lifecycle.fire("touch", actor=SYSTEM, input={"text": "x" * 1001})
    assert row(ticket) == ("open", 1)


def test_secrets_stay_out_of_the_history(ticket: Ticket) -> None:
    ticket.lifecycle.fire("touch", actor=SYSTEM, input={"token": "s3cret", "colour": "red"})

    assert ticket.lifecycle.history.last().input == {"token": "[redacted]", "colour": "red"}


def test_a_guard_refuses_with_its_code_message_and_facts(new_ticket: Any) -> None:
    ticket = new_ticket(priority=9)

    with pytest.raises(GuardRefused) as caught:
        ticket.lifecycle.fire("solve", actor=SYSTEM, input={"answer": "x"})

    (refusal,) = caught.value.refusals
    assert (refusal.code, refusal.name, str(refusal)) == (
        "not_urgent",
        "is_not_urgent",
        "Urgent tickets are solved by phone.",
    )
    assert caught.value.code == "not_urgent"
    assert row(ticket) == ("open", 1)


def test_errors_survive_pickling(new_ticket: Any) -> None:
    with pytest.raises(GuardRefused) as caught:
        new_ticket(priority=9).lifecycle.fire("solve", actor=SYSTEM, input={"answer": "x"})

    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again), again.code, again.refusals, again.record_id) == (
        GuardRefused,
        str(caught.value),
        "not_urgent",
        caught.value.refusals,
        caught.value.record_id,
    )


def test_a_route_chooses_the_target(new_ticket: Any) -> None:
    calm, hot = new_ticket(priority=1), new_ticket(priority=7)

    calm.lifecycle.fire("triage", actor=SYSTEM)
    hot.lifecycle.fire("triage", actor=SYSTEM)

    assert (row(calm)[0], row(hot)[0]) == ("waiting", "escalated")


def test_hooks_run_leave_then_own_then_enter(ticket: Ticket) -> None:
    ticket.lifecycle.fire("ask", actor=SYSTEM)

    assert lifecycles.calls == [("leave", "ask"), ("hook", "ask"), ("enter", "ask")]


def test_a_hook_that_raises_rolls_everything_back_and_raises_its_own_error(
    ticket: Ticket, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(list[Any]):
        def append(self, item: Any) -> None:
            if item == ("enter", "ask"):
                raise ZeroDivisionError("the hook's own")

    monkeypatch.setattr(lifecycles, "calls", Broken())

    with pytest.raises(ZeroDivisionError, match="the hook's own"):
        ticket.lifecycle.fire("ask", actor=SYSTEM, input={"note": "lost?"})

    assert row(ticket) == ("open", 1)
    assert history(ticket) == ["$create"]
    assert not Run.objects.filter(lifecycle="tickets").exists()
    assert (ticket.status, ticket.lifecycle_version, ticket.note) == ("open", 1, "")


def test_a_stale_instance_is_harmless(ticket: Ticket) -> None:
    stale = Ticket.objects.get(pk=ticket.pk)
    ticket.lifecycle.fire("ask", actor=SYSTEM, input={"note": "first"})

    stale.lifecycle.fire("reply", actor=SYSTEM)

    assert (stale.status, stale.lifecycle_version, stale.note) == ("open", 3, "first")


def test_a_decision_on_an_older_version_is_a_conflict(ticket: Ticket) -> None:
    ticket.lifecycle.fire("touch", actor=SYSTEM)

    with pytest.raises(Conflict, match="at version 2, you decided on version 1. Please look again") as caught:
        ticket.lifecycle.fire("touch", actor=SYSTEM, expect_version=1)

    assert caught.value.retryable
    assert (caught.value.expected, caught.value.got) == (1, 2)
    assert row(ticket) == ("open", 2)


def test_a_stay_that_began_too_late_is_a_conflict(ticket: Ticket) -> None:
    with pytest.raises(Conflict):
        ticket.lifecycle.fire("touch", actor=SYSTEM, expect_changed_before=ticket.status_changed_at)
    assert row(ticket) == ("open", 1)


def test_unsaved_edits_are_refused_and_kept(ticket: Ticket) -> None:
    ticket.title = "Edited"

    with pytest.raises(UnsavedEdits, match="title"):
        ticket.lifecycle.fire("touch", actor=SYSTEM)

    assert ticket.title == "Edited"
    assert row(ticket) == ("open", 1)
    ticket.save()
    ticket.lifecycle.fire("touch", actor=SYSTEM)
    assert Ticket.objects.get(pk=ticket.pk).title == "Edited"


def test_an_assigned_state_is_refused_with_the_right_call(ticket: Ticket) -> None:
    ticket.status = "closed"

    with pytest.raises(StateWriteRefused, match="only a transition changes it"):
        ticket.lifecycle.fire("touch", actor=SYSTEM)
    assert row(ticket) == ("open", 1)


def test_an_unsaved_instance_is_told_how_to_begin(db: Any) -> None:
    with pytest.raises(RecordNotFound, match=r"lifecycle\.runtime\.create"):
        fire(Ticket(), "touch", actor=SYSTEM)


def test_a_deleted_record_is_not_found(ticket: Ticket) -> None:
    Ticket.objects.filter(pk=ticket.pk).delete()

    with pytest.raises(RecordNotFound):
        ticket.lifecycle.fire("touch", actor=SYSTEM)


def test_a_cached_relation_follows_what_a_transition_wrote(ticket: Ticket, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = Agent.objects.create(name="old"), Agent.objects.create(name="new")
    ticket.agent = old
    ticket.save()
    assert ticket.agent.name == "old"
    Ticket.objects.filter(pk=ticket.pk).update(agent=new)

    ticket.lifecycle.fire("touch", actor=SYSTEM)

    assert ticket.agent.name == "new"


def test_being_there_already_is_a_replay_where_declared(ticket: Ticket) -> None:
    first = ticket.lifecycle.fire("escalate", actor=SYSTEM)

    again = ticket.lifecycle.fire("escalate", actor=SYSTEM)

    assert again.replayed
    assert again.entry.pk == first.entry.pk
    assert row(ticket) == ("escalated", 2)


def test_being_there_already_is_still_refused_without_the_permission(ticket: Ticket, visitor: Any) -> None:
    ticket.lifecycle.fire("escalate", actor=SYSTEM)

    with pytest.raises(PermissionRefused):
        ticket.lifecycle.fire("escalate", actor=visitor)


# Request ids ------------------------------------------------------------------------------------


def test_the_same_request_gets_the_first_answer(ticket: Ticket) -> None:
    first = ticket.lifecycle.fire("touch", actor=SYSTEM, request_id="r1", input={"a": 1})
    ticket.lifecycle.fire("ask", actor=SYSTEM)

    again = ticket.lifecycle.fire("touch", actor=SYSTEM, request_id="r1", input={"a": 1})

    assert again.replayed
    assert again.entry.pk == first.entry.pk
    assert again.record.status == "waiting"
    assert history(ticket) == ["$create", "touch", "ask"]


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"transition": "ask"}, "the transition 'touch', not 'ask'"),
        ({"actor": Actor("other")}, "another actor"),
        ({"input": {"a": 2}}, "another input"),
    ],
)
def test_a_request_id_spent_on_something_else_says_in_what_it_differs(
    ticket: Ticket, change: dict[str, Any], difference: str
) -> None:
    call: dict[str, Any] = {"transition": "touch", "actor": Actor("one"), "input": {"a": 1}}
    ticket.lifecycle.fire(**call, request_id="r1")

    with pytest.raises(RequestReused, match=difference):
        ticket.lifecycle.fire(**{**call, **change}, request_id="r1")
    assert row(ticket) == ("open", 2)


@pytest.mark.parametrize("bad", ["", "   ", "$run:1:succeeded", "x" * 201, "a\x00b", 7])
def test_a_request_id_that_may_not_be_used_is_refused(ticket: Ticket, bad: Any) -> None:
    with pytest.raises(InvalidRequestId):
        ticket.lifecycle.fire("touch", actor=SYSTEM, request_id=bad)
    assert row(ticket) == ("open", 1)


def test_a_refused_request_does_not_spend_its_id(ticket: Ticket) -> None:
    with pytest.raises(WrongState):
        ticket.lifecycle.fire("reopen", actor=SYSTEM, request_id="r1")

    ticket.lifecycle.fire("touch", actor=SYSTEM, request_id="r1")

    assert row(ticket) == ("open", 2)


# Transactions -----------------------------------------------------------------------------------


def test_a_refusal_caught_in_a_transaction_leaves_it_usable(ticket: Ticket) -> None:
    with transaction.atomic():
        ticket.lifecycle.fire("touch", actor=SYSTEM)
        with pytest.raises(WrongState):
            ticket.lifecycle.fire("reopen", actor=SYSTEM)
        ticket.lifecycle.fire("touch", actor=SYSTEM)

    assert history(ticket) == ["$create", "touch", "touch"]


def test_what_an_outer_transaction_rolls_back_did_not_happen(ticket: Ticket) -> None:
    """dbos-py PR #709, #634: enqueued in the caller's transaction."""
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        ticket.lifecycle.fire("ask", actor=SYSTEM)
        raise ZeroDivisionError

    assert row(ticket) == ("open", 1)
    assert not Run.objects.exists()
    ticket.lifecycle.fire("touch", actor=SYSTEM)
    assert (ticket.status, ticket.lifecycle_version) == ("open", 2)


def test_who_decided_on_an_old_version_is_told_in_their_language(ticket: Ticket) -> None:
    fire(ticket, "touch", actor=SYSTEM)

    with pytest.raises(Conflict) as caught, translation.override("de"):
        fire(ticket, "touch", actor=SYSTEM, expect_version=1)

    assert "Jetzt ist es Version 2, Sie haben über Version 1 entschieden." in str(caught.value)
