"""What a page does when something goes wrong between the browser and the shop: no network, an error, a session over."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.shop.people import Person

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.timeout(300)]

SHIPPED = ["Created", "Pay", "Checkout created", "Payment succeeded", "Ship"]
SESSION = "example_session"

# How far the countdown is from the moment that is written beside it, in seconds; the browser and the shop have one
# clock here.
ASTRAY = """() => {
  const [left, until] = [document.querySelector(".lc-left"), document.querySelector(".lc-clockcard time")];
  const [minutes, seconds] = left.textContent.split(":").map(Number);
  return Math.abs(60 * minutes + seconds - (Date.parse(until.dateTime) - Date.now()) / 1000);
}"""


def left(page: Page) -> int:
    minutes, seconds = page.locator(".lc-left").inner_text().split(":")
    return 60 * int(minutes) + int(seconds)


def let_time_pass(page: Page, seconds: int = 4) -> None:
    """Until the countdown has gone on."""
    page.wait_for_function(
        "wanted => { const [m, s] = document.querySelector('.lc-left').textContent.split(':').map(Number);"
        " return 60 * m + s <= wanted }",
        arg=left(page) - seconds,
    )


@pytest.fixture
def clerk(person: Callable[..., Person]) -> Person:
    return person("clerk")


@pytest.fixture(scope="module")
def paid(admin: Person) -> Callable[[], int]:
    """Has an order paid by somebody else."""
    return admin.paid


# A page loaded again ------------------------------------------------------------------------------


def test_the_countdown_of_a_page_that_is_loaded_again_is_right(clerk: Person) -> None:
    clerk.awaiting()
    page = clerk.page
    page.reload()
    let_time_pass(page)
    answer = page.reload()
    assert answer is not None
    assert answer.status == 200
    assert page.evaluate(ASTRAY) < 2


def test_the_countdown_of_a_page_one_comes_back_to_is_right(clerk: Person) -> None:
    order = clerk.awaiting()
    page = clerk.page
    clerk.look_at(order)
    let_time_pass(page)
    page.goto(f"{clerk.url}/orders/new/")
    page.go_back()
    page.wait_for_function(f"() => ({ASTRAY})() < 2")


def test_a_screen_reader_is_told_how_much_is_left_now(clerk: Person) -> None:
    clerk.awaiting()
    let_time_pass(clerk.page, 2)
    said, shown = clerk.page.evaluate(
        "[document.querySelector('[role=timer]').ariaLabel, document.querySelector('.lc-left').textContent]"
    )
    minutes, seconds = (int(part) for part in shown.split(":"))
    assert said.startswith(f"Expires in {minutes} min {seconds} s, at ")


# A click that is not answered -----------------------------------------------------------------------


def test_a_click_without_network_is_told_and_can_be_made_again(clerk: Person, paid: Callable[[], int]) -> None:
    clerk.look_at(paid())
    clerk.expects("net::ERR_INTERNET_DISCONNECTED", "htmx:sendError", "htmx:afterRequest")
    clerk.context.set_offline(True)
    clerk.ship("UPS", "1Z 999")
    alert = clerk.page.get_by_role("alert")
    expect(alert).to_contain_text("No answer to your click.")
    expect(alert).to_contain_text("If the button is still there, press it again: both clicks together count once.")
    expect(alert).to_be_focused()
    expect(clerk.page.locator("#id_tracking_number")).to_have_value("1Z 999")
    expect(clerk.page.locator("#refresh")).to_contain_text(re.compile(r"No answer since \d\d:\d\d:\d\d"))
    expect(clerk.page.locator("#refresh")).not_to_contain_text("refreshes by itself", use_inner_text=True)
    clerk.context.set_offline(False)
    clerk.press("ship")
    clerk.sees("Fulfilled")
    expect(clerk.page.get_by_role("alert")).to_have_count(0)
    assert clerk.story() == SHIPPED


def test_a_click_answered_by_an_error_though_it_was_done_counts_once(clerk: Person, paid: Callable[[], int]) -> None:
    def done_but_not_said(route: Route) -> None:
        route.fetch()
        route.fulfill(status=500, body="<h1>Server Error (500)</h1>", content_type="text/html")

    clerk.look_at(paid())
    clerk.expects("status of 500")
    clerk.page.route("**/fire/**", done_but_not_said, times=1)
    clerk.ship("UPS", "1Z 999")
    alert = clerk.page.get_by_role("alert")
    expect(alert).to_contain_text("The shop answered your click with an error (500).")
    expect(alert).to_contain_text("If the button is still there, press it again: both clicks together count once.")
    expect(alert).to_be_focused()
    expect(clerk.page.locator("#id_tracking_number")).to_have_value("1Z 999")
    clerk.press("ship")
    clerk.sees("Fulfilled")
    assert clerk.story() == SHIPPED


def test_a_button_shows_that_its_click_is_on_its_way(clerk: Person, paid: Callable[[], int]) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    clerk.look_at(paid())
    clerk.page.route("**/fire/**", hold)
    clerk.ship("UPS", "1Z 999")
    button = clerk.page.locator("#do-ship")
    expect(button).to_have_attribute("aria-busy", "true")
    expect(clerk.page.locator("#on-its-way")).to_have_text("Your click is on its way.")
    clerk.press("ship")  # once more, out of impatience
    expect(button).to_have_attribute("aria-busy", "true")
    assert len(held) == 1
    held[0].continue_()
    clerk.sees("Fulfilled")
    expect(clerk.page.locator("[aria-busy]")).to_have_count(0)
    expect(clerk.page.locator("#on-its-way")).to_have_text("")


def test_a_page_that_is_not_answered_says_since_when_and_goes_on_when_it_is(
    clerk: Person, paid: Callable[[], int], admin: Person
) -> None:
    order = paid()
    clerk.look_at(order)
    clerk.expects("net::ERR_INTERNET_DISCONNECTED", "htmx:sendError", "htmx:afterRequest")
    foot = clerk.page.locator("#refresh")
    expect(foot).to_contain_text("This page refreshes by itself.", use_inner_text=True)
    clerk.context.set_offline(True)
    expect(foot).to_contain_text(re.compile(r"No answer since \d\d:\d\d:\d\d"), use_inner_text=True)
    clerk.context.set_offline(False)
    expect(foot).to_contain_text("This page refreshes by itself.", use_inner_text=True)
    expect(foot).not_to_contain_text("No answer", use_inner_text=True)
    admin.look_at(order)
    admin.press("refund_order")
    clerk.sees("Refunded")


# A session that is over -------------------------------------------------------------------------------


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_who_ships_after_the_session_is_over_logs_in_and_finds_the_form_as_it_was(
    scripts: bool, person: Callable[..., Person], paid: Callable[[], int]
) -> None:
    clerk = person("clerk", java_script_enabled=scripts)
    order = paid()
    clerk.look_at(order)
    clerk.page.select_option("#id_carrier", "UPS")
    clerk.page.fill("#id_tracking_number", "1Z 999")
    clerk.context.clear_cookies(name=SESSION)
    clerk.press("ship")
    clerk.page.wait_for_url(re.compile("/accounts/login/"))
    log_in_again(clerk)
    clerk.page.wait_for_url(re.compile(rf"/orders/{order}/$"))
    expect(clerk.page.get_by_role("alert")).to_contain_text("You had to log in again.")
    expect(clerk.page.locator("#id_carrier")).to_have_value("UPS")
    expect(clerk.page.locator("#id_tracking_number")).to_have_value("1Z 999")
    clerk.press("ship")
    clerk.sees("Fulfilled")
    clerk.sees_in("facts", "UPS 1Z 999")


def test_a_session_that_ends_while_somebody_types_leaves_what_is_typed(clerk: Person, paid: Callable[[], int]) -> None:
    order = paid()
    clerk.look_at(order)
    clerk.page.fill("#id_tracking_number", "1Z 999")
    clerk.context.clear_cookies(name=SESSION)
    expect(clerk.page.get_by_role("alert")).to_contain_text("You are logged out.")
    expect(clerk.page.locator("#refresh")).to_contain_text("when you were still logged in", use_inner_text=True)
    expect(clerk.page.locator("#refresh")).not_to_contain_text("No answer", use_inner_text=True)
    expect(clerk.page.locator("#id_tracking_number")).to_have_value("1Z 999")
    clerk.press("ship")
    log_in_again(clerk)
    expect(clerk.page.locator("#id_tracking_number")).to_have_value("1Z 999")


def test_a_new_order_survives_the_end_of_a_session_too(clerk: Person) -> None:
    page = clerk.page
    page.goto(f"{clerk.url}/orders/new/")
    page.fill("#id_customer", "Ada Lindqvist")
    page.fill("#id_title", "Tea pot")
    clerk.context.clear_cookies(name=SESSION)
    page.locator("#main button[type=submit]").click()
    log_in_again(clerk)
    page.wait_for_url(re.compile(r"/orders/new/$"))
    expect(page.locator("#id_customer")).to_have_value("Ada Lindqvist")
    expect(page.locator("#id_title")).to_have_value("Tea pot")
    expect(page.get_by_role("alert")).to_contain_text("You had to log in again.")


def log_in_again(who: Any) -> None:
    who.page.fill("#id_username", "clerk")
    who.page.fill("#id_password", "admin")
    who.page.locator("#main button[type=submit]").click()
