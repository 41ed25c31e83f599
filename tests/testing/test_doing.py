"""run_due, fail_effect, use_services: effects in tests."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.exceptions import UnknownEffect
from lifecycle.execution import interference
from lifecycle.models import Run
from lifecycle.testing import fail_effect, reset, run_due, use_services
from lifecycle.testing.kit import Kit
from tests.support.lifecycles import ParcelLifecycle
from tests.support.models import Parcel
from tests.testing.conftest import fired

pytestmark = pytest.mark.django_db


def test_what_is_due_is_done_here_and_now(lifecycle: Kit, parcel: Parcel) -> None:
    fired(parcel, "send")
    [run] = lifecycle.run_due()
    assert (run.effect, run.status) == ("print_label", "succeeded")
    parcel.refresh_from_db()
    assert (parcel.status, parcel.label) == ("sent", "L-1")
    assert lifecycle.run_due() == []


@pytest.mark.django_db(transaction=True)
def test_it_is_done_with_real_commits_too(lifecycle: Kit, parcel: Parcel) -> None:
    fired(parcel, "send")
    assert lifecycle.dispatcher.published == ["default"]
    assert [run.status for run in lifecycle.run_due()] == ["succeeded"]
    parcel.refresh_from_db()
    assert parcel.status == "sent"


def test_only_the_queue_that_was_asked_for_is_drained(lifecycle: Kit, parcel: Parcel) -> None:
    fired(parcel, "send")
    assert lifecycle.run_due("slow") == []
    lifecycle.assert_pending("print_label", parcel)


def test_a_failing_effect_fails_so_often_and_no_more(lifecycle: Kit, parcel: Parcel) -> None:
    fired(parcel, "send")
    failing = lifecycle.fail_effect("parcels.print_label", times=2)
    [run] = lifecycle.run_due()
    assert (run.status, run.attempts) == ("queued", 1)

    lifecycle.run_due(retries=True)

    run.refresh_from_db()
    assert (run.status, run.attempts) == ("succeeded", 3)
    assert (failing.thing.times, failing.thing.left) == (2, 0)
    parcel.refresh_from_db()
    assert parcel.label == "L-3"


def test_retries_wait_for_their_time(lifecycle: Kit, parcel: Parcel) -> None:
    fired(parcel, "send")
    lifecycle.fail_effect("print_label")
    lifecycle.run_due()
    assert lifecycle.run_due() == []
    lifecycle.travel(seconds=2.1)
    assert [run.status for run in lifecycle.run_due()] == ["succeeded"]


def test_an_effect_that_always_fails_ends_in_its_failure(lifecycle: Kit, parcel: Parcel) -> None:
    fired(parcel, "send")
    lifecycle.fail_effect(ParcelLifecycle.print_label, times=3, error=OSError("no paper"))
    lifecycle.run_due(retries=True)
    parcel.refresh_from_db()
    assert parcel.status == "stuck"
    assert "no paper" in parcel.problem
    lifecycle.assert_history(parcel, ["$create", "send", "label_failed"])


@pytest.mark.parametrize("error", [OSError, OSError("x"), lambda: OSError("made")])
def test_an_error_is_an_exception_its_class_or_a_function(lifecycle: Kit, parcel: Parcel, error: Any) -> None:
    fired(parcel, "send")
    lifecycle.fail_effect("print_label", error=error)
    [run] = lifecycle.run_due()
    assert "OSError" in run.error


def test_a_failure_ends_with_its_block(lifecycle: Kit, parcel: Parcel) -> None:
    fired(parcel, "send")
    with fail_effect("print_label", times=99) as failing:
        assert failing.left == 99
    assert interference.before is None
    assert [run.status for run in lifecycle.run_due()] == ["succeeded"]


def test_only_the_effect_that_was_named_fails(lifecycle: Kit, parcel: Parcel) -> None:
    fired(parcel, "send")
    lifecycle.fail_effect("refund_postage", times=9)
    assert [run.status for run in lifecycle.run_due()] == ["succeeded"]
    fired(Parcel.objects.get(), "take_back")
    assert [run.status for run in lifecycle.run_due()] == ["failed"]


def test_an_unknown_effect_is_named_with_the_nearest_right_one() -> None:
    with pytest.raises(UnknownEffect, match=r"Did you mean 'parcels\.print_label'\?"):
        fail_effect("parcels.print_lable")


def test_nothing_stays_after_a_reset(lifecycle: Kit) -> None:
    lifecycle.fail_effect("print_label")
    reset()
    assert interference.before is None


def test_run_due_says_what_ran_also_when_it_was_queued_again(parcel: Parcel) -> None:
    fired(parcel, "send")
    with fail_effect("print_label"):
        [run] = run_due()
    assert run == Run.objects.get()
    assert run.error_kind == "error"


def test_services_are_replaced_and_put_back() -> None:
    class Printer:
        pass

    printer = Printer()
    owner = ParcelLifecycle.definition.owner
    with use_services(ParcelLifecycle, printer) as used:
        assert used is printer
        assert owner.services is printer
        with use_services("parcels", "another"):
            assert owner.services == "another"
        assert owner.services is printer
