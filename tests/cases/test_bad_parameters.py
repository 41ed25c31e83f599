"""Bad parameters: values nobody can use are refused; one that is stored all the same stops no record and no page."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from lifecycle import SYSTEM, Lifecycle, Timeout, Transition, clock, doctor, operations
from lifecycle.definition.parameters import InvalidParameter
from lifecycle.exceptions import InvalidDefinition
from lifecycle.models import OperatorAction, ParameterOverride
from lifecycle.runtime import create, fire, parameters, view
from lifecycle.testing import Kit
from orders.lifecycles import OrderLifecycle
from orders.models import Order
from tests.cases.lifecycles.bad_parameters import MeasuredLifecycle
from tests.cases.models.bad_parameters import Measured

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop(settings: Any) -> None:
    """The example's pages."""
    settings.ROOT_URLCONF = "example_project.urls"
    settings.PAYMENTS = {"URL": "http://127.0.0.1:1/", "TOKEN": "shop", "TIMEOUT": 1.0, "WEBHOOK_SECRETS": []}


INF = float("inf")
UNUSABLE = [
    ("wait", dt.timedelta.max, "at most 365000 days"),
    ("wait", -dt.timedelta(days=400_000), "at most 365000 days"),
    ("wait", "P999999999D", "at most 365000 days"),
    ("wait", "P999999999999D", "at most 365000 days"),
    ("wait", 10**400, "at most 365000 days"),
    ("wait", INF, "at most 365000 days"),
    ("wait", float("nan"), "is no duration"),
    ("wait", dt.timedelta(days=300_000), "at most 365000 days"),  # twice that is what the timeout waits
    ("share", INF, "no finite number"),
    ("share", float("nan"), "no finite number"),
    ("share", 10**400, "is no number"),
    ("word", "half\x00", "NUL"),
    ("word", "half \ud83d", "surrogate"),
    ("count", 2**63, "64 bits"),
    ("count", 10**5000, "64 bits"),
    ("price", Decimal("Infinity"), "is no decimal"),
    ("price", Decimal("sNaN"), "is no decimal"),
    ("opened", "9999-12-31T23:59:59-14:00", "outside the calendar"),
    ("opened", "0001-01-01T00:00:00+14:00", "outside the calendar"),
    ("words", ["fine", "half\x00"], "NUL"),
    ("shares", {"a": INF}, "no finite number"),
    ("shares", {"a\x00": 1.0}, "NUL"),
    ("low", 11, "must not be above high"),
]


@pytest.mark.row("D7", "D8")
@pytest.mark.parametrize(("name", "value", "said"), UNUSABLE, ids=range(len(UNUSABLE)))
def test_a_value_that_cannot_be_kept_or_waited_for_is_refused_with_the_reason(name: str, value: Any, said: str) -> None:
    with pytest.raises(InvalidParameter, match=f"'{name}'.*{said}"):
        operations.set_parameter(MeasuredLifecycle, name, value, actor=SYSTEM)

    assert not ParameterOverride.objects.exists()


@pytest.mark.row("D7", "D8")
@pytest.mark.parametrize(
    "typed", ["999999999 d", "1e308 d", "1e999 d", "nan d", "P999999999999D", "9" * 5000, "-1", "½", "1\x00 d"]
)
def test_a_duration_typed_in_the_admin_is_answered_in_the_form(admin_client: Client, typed: str) -> None:
    address = "/admin/lifecycle/lifecyclespage/measured/wait/"

    answer = admin_client.post(address, {"value": typed, "seen": '"P0DT01H00M00S"', "reason": ""})

    assert answer.status_code == 400
    assert "Nothing was changed" in answer.content.decode()


@pytest.mark.row("D7", "D8")
@pytest.mark.parametrize(
    ("name", "typed"), [("share", "inf"), ("share", "1e999"), ("count", "9" * 5000), ("word", "\x00")], ids=range(4)
)
def test_other_values_typed_in_the_admin_are_answered_in_the_form(admin_client: Client, name: str, typed: str) -> None:
    seen = json.dumps(getattr(MeasuredLifecycle.Parameters(), name))

    answer = admin_client.post(
        f"/admin/lifecycle/lifecyclespage/measured/{name}/", {"value": typed, "seen": seen, "reason": ""}
    )

    assert answer.status_code == 400


@pytest.mark.row("D7")
@pytest.mark.usefixtures("shop")
def test_a_stored_value_that_nobody_can_use_stops_no_page_and_no_timeout(lifecycle: Kit, admin_client: Client) -> None:
    order = create(Order(customer="Ada", title="Lamp", amount_cents=100), actor=SYSTEM)
    fire(order, "checkout", actor=SYSTEM)
    fire(order, "checkout_created", actor=SYSTEM, input={"payment_session_id": "s", "checkout_url": "http://a.test/"})
    store("orders", payment_window="P999999999DT00H00M00S")

    pages = {
        "/": "Lamp",
        f"/orders/{order.pk}/": "Lamp",
        "/admin/lifecycle/lifecyclespage/": "The stored value does not fit; the declared one counts.",
        "/admin/lifecycle/lifecyclespage/orders/payment_window/": "at most 365000 days",
        f"/admin/orders/order/{order.pk}/change/": "unless it moves on before",
        f"/api/orders/{order.pk}/lifecycle/": "awaiting_payment",
        "/api/orders/lifecycle/": "180",
    }
    for address, shown in pages.items():
        answer = admin_client.get(address)
        assert (answer.status_code, shown in answer.content.decode()) == (200, True), address
    assert view(order, actor=SYSTEM).available
    lifecycle.travel(minutes=4)
    lifecycle.tick()
    order.refresh_from_db()
    assert order.status == "cancelled"


@pytest.mark.row("D7", "D8")
def test_a_stored_value_that_does_not_fit_is_named_by_the_doctor_and_can_be_set_anew_or_reset(
    admin_client: Client, admin_user: User
) -> None:
    store("measured", wait="P999999999DT00H00M00S", share="much", gone=1, count=7)

    assert parameters(MeasuredLifecycle) == MeasuredLifecycle.Parameters(count=7)
    found = doctor.examine(only=["unfit_parameters"])
    assert len(found) == 3
    assert all(one.lifecycle == "measured" for one in found)

    operations.set_parameter(MeasuredLifecycle, "wait", dt.timedelta(minutes=5), actor=admin_user)
    address = "/admin/lifecycle/lifecyclespage/measured/share/"
    assert admin_client.post(address, {"reset": "1", "seen": "0.5", "reason": ""}).status_code == 302
    assert parameters(MeasuredLifecycle).wait == dt.timedelta(minutes=5)
    assert [one.remedy for one in doctor.examine(only=["unfit_parameters"])] == [
        "Nothing reads it any more: delete the ParameterOverride of 'gone'."
    ]
    assert OperatorAction.objects.order_by("id").first().before["before"] == "P999999999DT00H00M00S"  # type: ignore[union-attr]


@pytest.mark.row("D7")
def test_stored_values_that_contradict_each_other_leave_the_declaration_in_force_until_one_is_set(
    admin_user: User,
) -> None:
    store("measured", low=20, high=5)

    assert (parameters(MeasuredLifecycle).low, parameters(MeasuredLifecycle).high) == (1, 10)
    assert len(doctor.examine(only=["unfit_parameters"])) == 2
    operations.set_parameter(MeasuredLifecycle, "low", 2, actor=admin_user)
    assert (parameters(MeasuredLifecycle).low, parameters(MeasuredLifecycle).high) == (2, 5)


@pytest.mark.row("D7")
@pytest.mark.usefixtures("shop")
def test_an_order_that_may_not_wait_at_all_has_a_page(admin_client: Client) -> None:
    order = create(Order(customer="Ada", title="Lamp", amount_cents=100), actor=SYSTEM)
    fire(order, "checkout", actor=SYSTEM)
    fire(order, "checkout_created", actor=SYSTEM, input={"payment_session_id": "s", "checkout_url": "http://a.test/"})
    operations.set_parameter(OrderLifecycle, "payment_window", dt.timedelta(0), actor=SYSTEM)

    assert admin_client.get(f"/orders/{order.pk}/").status_code == 200


@pytest.mark.row("D7")
def test_a_declared_wait_that_no_calendar_holds_is_an_error_of_the_declaration() -> None:
    with pytest.raises(InvalidDefinition, match="at most 365000 days"):

        class Endless(Lifecycle[Measured]):
            class Meta:
                model = Measured
                name = "endless"
                accessor = "endless"
                initial = Measured.Status.NEW
                final = [Measured.Status.PAID]

            pay = Transition(Measured.Status.NEW, Measured.Status.PAID)
            too_late = Timeout(pay, when=Measured.Status.NEW, after=lambda parameters: dt.timedelta.max)


def store(lifecycle: str, **values: Any) -> None:
    """Rows as older code, or somebody by hand, may have left them."""
    now = clock.now()
    ParameterOverride.objects.bulk_create(
        ParameterOverride(lifecycle=lifecycle, name=name, value=value, updated_at=now) for name, value in values.items()
    )
