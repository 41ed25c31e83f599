"""The assertions: they pass when they should, and say what happened when they fail."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser

from lifecycle import SYSTEM
from lifecycle.exceptions import GuardRefused
from lifecycle.refusals import Refusal
from lifecycle.runtime import fire
from lifecycle.testing import (
    assert_history,
    assert_nothing_pending,
    assert_pending,
    assert_refused,
    assert_statements,
    create_in_state,
    force_state,
)
from tests.support.lifecycles import ParcelLifecycle, TicketLifecycle
from tests.support.models import Parcel, Ticket
from tests.testing.conftest import fired

pytestmark = pytest.mark.django_db


def test_a_refusal_is_recognised_by_its_code(ticket: Ticket) -> None:
    with assert_refused("invalid_state", ticket) as refused:
        fired(ticket, "reopen")
    assert refused.error.code == "invalid_state"
    with assert_refused("permission_denied", ticket):
        fire(ticket, "solve", actor=AnonymousUser())
    with assert_refused("required", ticket):
        fire(ticket, "solve", actor=SYSTEM, input={})
    with assert_refused("conflict"):
        fire(ticket, "touch", actor=SYSTEM, expect_version=9)


def test_any_of_several_refusals_counts() -> None:
    refusals = [Refusal(source="guard", kind="precondition", code=code, message=code) for code in ("a", "b")]
    for code in ("a", "b"):
        with assert_refused(code):
            raise GuardRefused("No.", code="a", refusals=refusals)


def test_another_refusal_than_expected_is_told() -> None:
    with pytest.raises(AssertionError, match="Refused with a instead of 'b'"), assert_refused("b"):
        raise GuardRefused("No.", code="a")


def test_no_refusal_at_all_is_told(ticket: Ticket) -> None:
    expected = "Nothing was refused; expected 'invalid_state'"
    with pytest.raises(AssertionError, match=expected), assert_refused("invalid_state"):
        fired(ticket, "touch")


def test_other_exceptions_pass_through() -> None:
    with pytest.raises(ZeroDivisionError), assert_refused("a"):
        raise ZeroDivisionError


def test_a_refusal_that_left_something_behind_is_told(ticket: Ticket) -> None:
    with pytest.raises(AssertionError, match="but something was written"), assert_refused("invalid_state", ticket):
        fired(ticket, "touch", "reopen")


def test_history_is_compared_as_a_whole(ticket: Ticket) -> None:
    fired(ticket, "ask")
    entries = assert_history(ticket, ["$create", TicketLifecycle.ask])
    assert [entry.version for entry in entries] == [1, 2]
    with pytest.raises(AssertionError, match=r"2\. ask: open → waiting"):
        assert_history(ticket, ["$create"])


def test_enqueued_work_is_found_by_effect_and_record(parcel: Parcel) -> None:
    fired(parcel, "send")
    for name in ("print_label", "parcels.print_label", ParcelLifecycle.print_label):
        assert assert_pending(name, parcel, times=1).status == "queued"
    with pytest.raises(AssertionError, match=r"'refund_postage' to be pending; pending is parcels\.print_label"):
        assert_pending("refund_postage")
    with pytest.raises(AssertionError, match="2 times"):
        assert_pending("print_label", times=2)
    with pytest.raises(AssertionError, match="Still pending: parcels.print_label"):
        assert_nothing_pending(parcel)


def test_nothing_enqueued_means_nothing_unfinished(parcel: Parcel) -> None:
    assert_nothing_pending()
    assert_nothing_pending(parcel)


def test_statements_are_counted_without_transaction_control(ticket: Ticket) -> None:
    with assert_statements(3) as sent:
        fired(ticket, "touch")
    assert len(sent) == 3
    with pytest.raises(AssertionError, match=r"(?s)Expected 0 statements, got 1:.*1\. SELECT"), assert_statements(0):
        list(Ticket.objects.all())


def test_a_record_is_forced_into_a_state(ticket: Ticket) -> None:
    before = ticket.status_changed_at
    assert force_state(ticket, Ticket.Status.SOLVED) is ticket
    assert (ticket.status, ticket.lifecycle_version) == ("solved", 2)
    assert ticket.status_changed_at > before
    fresh = Ticket.objects.get()
    assert (fresh.status, fresh.lifecycle_version) == ("solved", 2)
    assert_history(ticket, ["$create"])
    assert fired(ticket, "reopen").status == "open"


def test_an_unknown_state_is_named_with_the_nearest_right_one(ticket: Ticket) -> None:
    with assert_refused("unknown_state", ticket) as refused:
        force_state(ticket, "sloved")
    assert "Did you mean 'solved'?" in str(refused.error)


def test_a_record_may_begin_in_any_state() -> None:
    ticket = create_in_state(Ticket, "closed", title="Old")
    fresh = Ticket.objects.get()
    assert (fresh.status, fresh.title, fresh.lifecycle_version) == ("closed", "Old", 0)
    assert fired(create_in_state(Ticket, Ticket.Status.SOLVED), "reopen").status == "open"
    assert ticket.pk == fresh.pk
