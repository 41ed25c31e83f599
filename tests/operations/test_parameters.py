"""What an operator may do about a lifecycle's parameters."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.contrib.auth.models import User

from lifecycle import Lifecycle, Timeout, Transition, operations, registry
from lifecycle.definition.parameters import InvalidParameter
from lifecycle.exceptions import Conflict, InvalidInput
from lifecycle.models import OperatorAction, ParameterOverride
from lifecycle.store import parameters
from tests.columns.models import Status, Token
from tests.support.lifecycles import TicketLifecycle
from tests.support.models import Parcel

pytestmark = pytest.mark.django_db

TICKETS = TicketLifecycle.definition


@pytest.fixture
def boss() -> User:
    return User.objects.create_superuser("ada", password="x")


class LimitedLifecycle(Lifecycle[Token]):
    class Meta:
        model = Token
        name = "limited"
        accessor = "limited"
        initial = Status.NEW
        final = [Status.SHIPPED]

    @dataclass(frozen=True)
    class Parameters:
        share: int = field(default=10, metadata={"minimum": 0, "maximum": 100})
        first: dt.timedelta = dt.timedelta(hours=1)
        last: dt.timedelta = dt.timedelta(hours=2)

        def __post_init__(self) -> None:
            if self.first > self.last:
                raise ValueError("first must not be after last.")

    pay = Transition(Status.NEW, Status.PAID)
    ship = Transition(Status.PAID, Status.SHIPPED)
    in_time = Timeout(ship, when=Status.PAID, after=lambda parameters: parameters.first)


LIMITED = LimitedLifecycle.definition


def now(definition: Any = TICKETS) -> Any:
    return parameters.read(definition, "default")


def test_a_changed_value_is_in_force_at_once_and_the_old_one_is_kept_with_the_operator_action(boss: User) -> None:
    made = operations.set_parameter(TICKETS, "patience", "PT3H", actor=boss, reason="shorter days")
    assert made.patience == now().patience == dt.timedelta(hours=3)
    row = OperatorAction.objects.get()
    assert (row.action, row.lifecycle, row.actor_label, row.reason) == (
        "set_parameter",
        "tickets",
        "ada",
        "shorter days",
    )
    assert row.before == {"parameter": "patience", "before": "P2DT00H00M00S", "after": "P0DT03H00M00S"}
    operations.set_parameter(TICKETS, "patience", 60, actor=boss)
    assert now().patience == dt.timedelta(minutes=1)
    assert ParameterOverride.objects.count() == 1
    assert now().reminders is True


def test_the_declaration_rules_again_after_a_reset(boss: User) -> None:
    operations.set_parameter(TICKETS, "patience", "PT3H", actor=boss)
    made = operations.reset_parameter(TICKETS, "patience", actor=boss, reason="as before")
    assert made.patience == now().patience == dt.timedelta(days=2)
    assert ParameterOverride.objects.count() == 0
    assert OperatorAction.objects.latest("id").action == "reset_parameter"


@pytest.mark.parametrize("value", ["soon", "", None, True, [], {"a": 1}])
def test_a_value_of_another_type_is_refused_and_nothing_is_written(boss: User, value: Any) -> None:
    with pytest.raises(InvalidParameter, match="is no duration"):
        operations.set_parameter(TICKETS, "patience", value, actor=boss)
    assert ParameterOverride.objects.count() == OperatorAction.objects.count() == 0


def test_a_duration_no_trigger_could_wait_for_is_refused(boss: User) -> None:
    with pytest.raises(InvalidParameter, match="expected zero or more"):
        operations.set_parameter(TICKETS, "patience", -60, actor=boss)
    assert ParameterOverride.objects.count() == 0


@pytest.mark.parametrize(("value", "said"), [(-1, "at least 0, got -1"), (101, "at most 100, got 101")])
def test_a_value_out_of_its_declared_range_is_refused(boss: User, value: int, said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        operations.set_parameter(LIMITED, "share", value, actor=boss)
    for edge in (0, 100):
        operations.set_parameter(LIMITED, "share", edge, actor=boss)


def test_values_that_contradict_each_other_are_refused_by_the_class_itself(boss: User) -> None:
    with pytest.raises(InvalidParameter, match="first must not be after last"):
        operations.set_parameter(LIMITED, "first", "PT3H", actor=boss)
    operations.set_parameter(LIMITED, "last", "PT4H", actor=boss)
    operations.set_parameter(LIMITED, "first", "PT3H", actor=boss)
    with pytest.raises(InvalidParameter, match="first must not be after last"):
        operations.reset_parameter(LIMITED, "last", actor=boss)
    assert now(LIMITED).last == dt.timedelta(hours=4)


def test_an_unknown_name_gets_the_nearest_right_one(boss: User) -> None:
    with pytest.raises(InvalidParameter, match="patience"):
        operations.set_parameter(TICKETS, "patienec", "PT3H", actor=boss)
    with pytest.raises(InvalidParameter, match="no parameter 'patienec'"):
        operations.reset_parameter(TICKETS, "patienec", actor=boss)
    with pytest.raises(InvalidParameter, match="no parameter"):
        operations.set_parameter(registry.of(Parcel), "patience", "PT3H", actor=boss)


def test_a_decision_made_on_another_value_is_a_conflict(boss: User) -> None:
    operations.set_parameter(TICKETS, "patience", "PT3H", actor=boss, expected="P2DT00H00M00S")
    with pytest.raises(Conflict, match="Somebody else has changed the parameter"):
        operations.set_parameter(TICKETS, "patience", "PT9H", actor=boss, expected="P2DT00H00M00S")
    with pytest.raises(Conflict):
        operations.reset_parameter(TICKETS, "patience", actor=boss, expected="P2DT00H00M00S")
    assert now().patience == dt.timedelta(hours=3)
    assert OperatorAction.objects.count() == 1


def test_somebody_has_to_do_it_and_the_reason_has_to_fit(boss: User) -> None:
    with pytest.raises(TypeError, match="actor"):
        operations.set_parameter(TICKETS, "patience", "PT3H", actor=None)
    with pytest.raises(InvalidInput, match="501 characters"):
        operations.set_parameter(TICKETS, "patience", "PT3H", actor=boss, reason="x" * 501)
    assert ParameterOverride.objects.count() == 0
