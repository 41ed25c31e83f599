"""How a record's life begins, and what a repeated creation answers."""

from __future__ import annotations

import pytest

from lifecycle import SYSTEM, Actor
from lifecycle.exceptions import InvalidInput, NotAnInitialState, RequestReused
from lifecycle.models import Run, TransitionLog
from lifecycle.runtime import create
from lifecycle.runtime.verbs.creation import begin
from tests.support.models import Parcel, Ticket

pytestmark = pytest.mark.django_db


def test_another_initial_state_is_taken_when_asked_for() -> None:
    ticket = create(Ticket(status="escalated"), actor=SYSTEM)

    assert (ticket.status, ticket.lifecycle_version) == ("escalated", 1)
    assert ticket.lifecycle.history.get().target == "escalated"


def test_a_state_where_no_record_begins_is_refused_and_nothing_is_written() -> None:
    with pytest.raises(NotAnInitialState, match="no record begins in 'closed'. Begin in 'open' or 'escalated'"):
        create(Ticket(status="closed"), actor=SYSTEM)

    assert not Ticket.objects.exists()
    assert not TransitionLog.objects.exists()


def test_every_invalid_field_is_reported_at_once_and_the_instance_stays_new() -> None:
    ticket = Ticket(title="x" * 101, priority=-1)

    with pytest.raises(InvalidInput) as caught:
        create(ticket, actor=SYSTEM)

    assert {problem.field for problem in caught.value.problems} == {"title", "priority"}
    assert ticket.pk is None
    assert ticket._state.adding
    assert not Ticket.objects.exists()


def test_an_existing_record_is_not_created_again() -> None:
    ticket = create(Ticket(), actor=SYSTEM)

    with pytest.raises(NotAnInitialState, match="exists already"):
        create(ticket, actor=SYSTEM)
    assert ticket.lifecycle.history.count() == 1


def test_creating_an_uuid_record_names_it_in_text() -> None:
    parcel = create(Parcel(), actor=SYSTEM)

    assert parcel.lifecycle.history.get().record_id == str(parcel.pk)


def test_the_same_creation_request_answers_the_first_record() -> None:
    first = create(Ticket(title="No paper"), actor=Actor("shop"), request_id="order-1")

    again = begin(Ticket(title="No paper"), actor=Actor("shop"), request_id="order-1")

    assert again.replayed
    assert again.record.pk == first.pk
    assert Ticket.objects.count() == 1


def test_a_creation_request_with_other_values_is_refused() -> None:
    create(Ticket(title="No paper"), actor=Actor("shop"), request_id="order-1")

    with pytest.raises(RequestReused, match="another input"):
        create(Ticket(title="No ink"), actor=Actor("shop"), request_id="order-1")
    assert Ticket.objects.count() == 1


def test_a_creation_request_of_another_actor_is_refused() -> None:
    create(Ticket(), actor=Actor("shop"), request_id="order-1")

    with pytest.raises(RequestReused, match="another actor"):
        create(Ticket(), actor=Actor("thief"), request_id="order-1")


def test_a_request_id_of_a_creation_may_be_used_again_by_another_records_transition() -> None:
    create(Ticket(), actor=SYSTEM, request_id="k")
    other = create(Ticket(), actor=SYSTEM)

    other.lifecycle.fire("touch", actor=SYSTEM, request_id="k")

    assert other.lifecycle_version == 2


def test_creation_without_an_actor_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="expected a user, SYSTEM or Actor"):
        create(Ticket(), actor=None)
    assert not Run.objects.exists()
