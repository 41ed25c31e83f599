"""The acceptance table of the example, clicked: what people do on the pages, and what they see there."""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from playwright.sync_api import expect

from tests.browser.shop.people import Person, Provider
from tests.browser.shop.stage import Stage

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.timeout(300)]

SHIPPED = ["Created", "Pay", "Checkout created", "Payment succeeded", "Ship"]


@dataclass(frozen=True, kw_only=True)
class Begun:
    """Orders whose work takes a while because tries fail first: begun together, looked at later."""

    two_checkouts_fail: int
    three_checkouts_fail: int
    three_refunds_fail: int


@pytest.fixture(scope="module")
def begun(admin: Person) -> Begun:
    two = admin.new_order("Linen apron", fail_checkouts=2)
    admin.press("checkout")
    three = admin.new_order("Cast-iron pan", fail_checkouts=3)
    admin.press("checkout")
    refunds = admin.paid(fail_refunds=3)
    admin.press("refund_order")
    admin.sees("Refunding")
    return Begun(two_checkouts_fail=two, three_checkouts_fail=three, three_refunds_fail=refunds)


def test_pay_pay_in_the_sandbox_ship(begun: Begun, admin: Person) -> None:
    admin.paid()
    admin.ship("DHL", "00340434161094021501")
    admin.sees("Fulfilled")
    assert admin.story() == SHIPPED
    admin.sees_in("facts", "DHL 00340434161094021501")
    admin.sees_in("actions", "Nothing: the order is done.")
    admin.sees_in("head", "Nothing is pending, nothing can be done")


def test_the_third_attempt_succeeds(begun: Begun, admin: Person) -> None:
    admin.look_at(begun.two_checkouts_fail)
    admin.sees("Awaiting payment", 30)
    admin.sees_in("work", "attempt 3 of 3")
    admin.sees_in("work", re.compile(r"First error.*503.*tried again after \d+ s.*Second error", re.DOTALL))
    admin.sees_in("work", re.compile(r"Applied\s+Checkout created, version 3"))
    assert admin.page.locator("#work .lc-pip-bad").count() == 2


def test_checkouts_that_fail_three_times_can_be_paid_again(begun: Begun, admin: Person, provider: Provider) -> None:
    order = begun.three_checkouts_fail
    admin.look_at(order)
    admin.sees("Payment failed", 30)
    admin.sees_in("facts", "unavailable")
    assert provider.sessions(order) == []
    admin.press("checkout")
    admin.sees("Awaiting payment")
    admin.sees_in("head", "second payment round")
    expect(admin.page.locator("#facts")).not_to_contain_text("Last error")
    assert [session["idempotency_key"] for session in provider.sessions(order)] == [f"order-checkout:{order}:2"]


def test_a_refund_that_fails_three_times_is_retried_by_a_person(
    begun: Begun, admin: Person, provider: Provider
) -> None:
    order = begun.three_refunds_fail
    admin.look_at(order)
    admin.sees("Refund needs attention", 30)
    assert provider.refunds(order) == []
    admin.press("retry_refund")
    admin.sees("Refunded")
    assert len(provider.refunds(order)) == 1


def test_an_unpaid_order_expires_and_its_session_cannot_be_paid(stage: Stage, admin: Person) -> None:
    admin.awaiting()
    expect(admin.page.locator(".lc-left")).to_have_text(re.compile(r"^2:5\d$"))
    admin.sees_in("head", "it is cancelled by itself, unless paid")
    with stage.payment_window(seconds=1):
        admin.sees("Cancelled")
    admin.sees_in("facts", "it was not paid in time")
    admin.sees_in("provider", "expired")
    admin.provider("pay")  # "Try to pay"
    expect(admin.page.get_by_role("alert")).to_contain_text("Payment provider:")
    admin.sees("Cancelled")


def test_after_a_decline_one_pays_again_in_another_session(admin: Person) -> None:
    admin.awaiting()
    first = admin.session()
    admin.provider("decline")
    admin.sees("Payment failed")
    admin.sees_in("facts", "Insufficient funds")
    admin.press("checkout")
    admin.sees("Awaiting payment")
    expect(admin.page.locator("#provider > .lc-facts code")).not_to_have_text(first)
    admin.provider("pay")
    admin.sees("Paid")


def test_money_that_comes_after_the_cancelling_goes_back(admin: Person, provider: Provider) -> None:
    order = admin.awaiting()
    admin.provider("hold")
    admin.sees_in("provider", "Holding events")
    admin.provider("pay")
    admin.sees_in("provider", re.compile(r"Held\s+not delivered yet"))
    admin.press("cancel")
    admin.sees("Cancelled")
    admin.page.locator("#provider").get_by_role("button", name="Deliver", exact=True).click()
    admin.sees("Refunded")
    told = ["Created", "Pay", "Checkout created", "Cancel order", "Paid after cancel", "Refunded"]
    assert admin.story() == told
    assert len(provider.refunds(order)) == 1


def test_an_event_that_is_delivered_twice_changes_nothing(admin: Person) -> None:
    admin.paid()
    before = admin.story()
    admin.page.get_by_role("button", name="Deliver again").click()
    admin.sees_in("provider", "Delivered again, answered 200: replayed, nothing changed")
    assert admin.story() == before


def test_a_payment_before_the_checkout_is_recorded_counts(admin: Person, provider: Provider) -> None:
    order = admin.new_order()
    provider.latency(3)
    try:
        admin.press("checkout")
        provider.until_sessions(order, admin.page)
        admin.look_at(order)
        admin.sees("Creating checkout")
        admin.provider("pay")
        admin.sees("Paid")
    finally:
        provider.latency(0)
    admin.sees_in("work", re.compile(r"Follow-up\s*Dropped\s+\S"))
    assert "Checkout created" not in admin.story()


def test_events_that_fit_nowhere_are_ignored_with_the_reason(admin: Person, provider: Provider) -> None:
    order = admin.new_order()
    answer = provider.declines(order).json()
    assert (answer["outcome"], answer["code"]) == ("ignored", "invalid_state")
    assert answer["reason"]
    assert provider.declines(999_999_999).json()["code"] == "record_not_found"
    admin.look_at(order)
    admin.sees("Draft")
    assert admin.story() == ["Created"]


def test_forged_stale_and_repeated_events_change_nothing(admin: Person, provider: Provider) -> None:
    order = admin.awaiting()
    wrong = "whsec_" + base64.b64encode(b"somebody else's secret").decode()
    assert provider.declines(order, secret=wrong).status_code == 401
    assert provider.declines(order, timestamp=int(time.time()) - 301).status_code == 401
    admin.look_at(order)
    admin.sees("Awaiting payment")
    assert provider.declines(order, "evt_once").json()["outcome"] == "applied"
    admin.sees("Payment failed")
    story = admin.story()
    assert provider.declines(order, "evt_once").json()["outcome"] == "replayed"
    admin.look_at(order)
    assert admin.story() == story


def test_a_wrong_amount_is_given_back_in_full(admin: Person, provider: Provider) -> None:
    order = admin.awaiting()
    admin.page.get_by_text("Pay another amount…").click()
    admin.page.fill("#other-amount", "47,00")
    admin.page.get_by_role("button", name="Pay this").click()
    admin.sees("Payment failed")
    admin.sees_in("facts", "€47.00 was paid instead of €48.00")
    admin.sees_in("strays", re.compile(r"€47\.00\s*Refunded"))
    admin.sees_in("strays", "€47.00 was paid instead of €48.00")
    assert [refund["amount_cents"] for refund in provider.refunds(order)] == [4700]


def test_a_second_payment_is_given_back_and_seen(admin: Person, provider: Provider) -> None:
    order = admin.paid()
    admin.provider("pay")  # "Pay once more"
    admin.sees_in("strays", re.compile(r"€48\.00\s*Refunded"))
    admin.sees("Paid")
    assert len(provider.refunds(order)) == 1


def test_a_worker_that_is_killed_has_its_work_done_by_the_next(stage: Stage, admin: Person, provider: Provider) -> None:
    order = admin.new_order()
    provider.latency(6)
    try:
        admin.press("checkout")
        provider.until_sessions(order, admin.page)
        stage.ask("kill_worker")
    finally:
        provider.latency(0)
    admin.sees("Creating checkout")
    stage.ask("start_worker")
    admin.sees("Awaiting payment", 60)
    admin.sees_in("work", "a worker was lost once")
    assert admin.page.locator("#work .lc-pip-crash").count() == 1
    (session,) = provider.sessions(order)
    assert (session["idempotency_key"], session["times_asked"]) == (f"order-checkout:{order}:1", 2)


def test_while_redis_is_stopped_the_page_answers_at_once_and_the_tick_does_the_work(
    stage_on_redis: Stage, person: Callable[..., Person]
) -> None:
    admin = person("admin", at=stage_on_redis)
    admin.new_order()
    stage_on_redis.ask("stop_redis")
    try:
        with admin.page.expect_response(re.compile("/fire/checkout/")) as answer:
            admin.press("checkout")
        answer.value.finished()
        took = answer.value.request.timing["responseStart"] / 1000
        admin.sees("Creating checkout")
    finally:
        stage_on_redis.ask("start_redis")
    assert took < 2, f"the page took {took:.2f} s"
    admin.sees("Awaiting payment", 60)


def test_of_two_people_who_press_ship_one_ships_and_the_other_is_told(
    admin: Person, person: Callable[..., Person]
) -> None:
    order = admin.paid()
    clerk = person("clerk")
    clerk.look_at(order)
    clerk.page.select_option("#id_carrier", "UPS")
    clerk.page.fill("#id_tracking_number", "1Z 999 AA1 01 2345 6784")
    admin.ship("DHL", "00340434161094021501")
    admin.sees("Fulfilled")
    clerk.sees("Fulfilled")  # the page moves on, the form in use stays
    expect(clerk.page.locator("#id_tracking_number")).to_have_value("1Z 999 AA1 01 2345 6784")
    clerk.press("ship")
    notice = clerk.page.get_by_role("alert")
    expect(notice).to_contain_text("Handled by someone else, please look again.")
    expect(notice).to_contain_text(re.compile(r"admin shipped this order \d+ s before you\."))
    expect(notice).to_contain_text("You were looking at version 4; it is now at version 5.")
    expect(notice).to_contain_text("1Z 999 AA1 01 2345 6784")
    expect(notice).to_be_focused()
    assert clerk.story() == SHIPPED
    clerk.screenshot("conflict")
