"""The shop's pages for everybody: light and dark, wide and narrow, English and German, by keyboard, without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Response, expect

from tests.browser import axe
from tests.browser.shop.people import Person

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.timeout(300)]

LOOKS = (Path(__file__).parent / "looks.js").read_text()
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
VIEWS = {
    "light-wide-en": {"color_scheme": "light", "viewport": WIDE, "locale": "en-US"},
    "dark-wide-de": {"color_scheme": "dark", "viewport": WIDE, "locale": "de-DE"},
    "light-narrow-de": {"color_scheme": "light", "viewport": NARROW, "locale": "de-DE"},
    "dark-narrow-en": {"color_scheme": "dark", "viewport": NARROW, "locale": "en-US"},
    "light-narrowest-de": {"color_scheme": "light", "viewport": {"width": 320, "height": 640}, "locale": "de-DE"},
    "light-tablet-de": {"color_scheme": "light", "viewport": {"width": 768, "height": 1024}, "locale": "de-DE"},
    # What is left of a wide window at 200 %.
    "dark-zoomed-de": {"color_scheme": "dark", "viewport": {"width": 640, "height": 450}, "locale": "de-DE"},
}


@pytest.fixture(scope="module")
def gallery(admin: Person) -> dict[str, int]:
    """One order per state in which something is to be seen."""
    orders = {"refund-needs-attention": admin.paid(fail_refunds=3)}
    admin.press("refund_order")
    admin.sees("Refunding")
    orders["draft"] = admin.new_order("Tea pot")
    orders["fulfilled"] = admin.paid()
    admin.ship("UPS", "1Z 999 AA1 01 2345 6784")
    admin.sees("Fulfilled")
    orders["refunded"] = admin.awaiting()
    admin.provider("hold")
    admin.sees_in("provider", "Holding events")
    admin.provider("pay")
    admin.press("cancel")
    admin.page.locator("#provider").get_by_role("button", name="Deliver", exact=True).click()
    admin.sees("Refunded")
    orders["paid"] = admin.paid()
    orders["failed"] = admin.awaiting(fail_checkouts=1)
    admin.provider("decline")
    admin.sees("Payment failed")
    orders["cancelled"] = admin.awaiting()
    admin.press("cancel")
    admin.sees("Cancelled")
    orders["awaiting"] = admin.awaiting()
    admin.provider("decline")
    admin.sees("Payment failed")
    admin.press("checkout")
    admin.sees("Awaiting payment")
    admin.look_at(orders["refund-needs-attention"])
    admin.sees("Refund needs attention", 30)
    return orders


@pytest.mark.parametrize("view", VIEWS)
def test_every_page_is_for_everybody(view: str, gallery: dict[str, int], person: Callable[..., Person]) -> None:
    visitor = person("admin", **VIEWS[view])
    visitor.expects("status of 404")
    visitor.look_at(gallery["awaiting"])
    checkout = visitor.page.locator("#facts a").get_attribute("href")
    pages = {
        "list": "/",
        "list-all": "/?state=all",
        "list-empty": "/?state=refunding",
        "new": "/orders/new/",
        **{f"order-{state}": f"/orders/{order}/" for state, order in gallery.items()},
        "missing": "/orders/999999/",
        "checkout": str(checkout).removeprefix(visitor.url),
        "checkout-missing": "/sandbox/pay/cs_NOSUCH",
    }
    faults: dict[str, Any] = {}

    def examine(name: str) -> None:
        visitor.screenshot(f"{name}-{view}")
        faults[name] = [*visitor.page.evaluate(LOOKS), *axe.faults(visitor.page)]

    for name, address in pages.items():
        visitor.page.goto(visitor.url + address)
        examine(name)
    visitor.page.goto(f"{visitor.url}/orders/new/")
    visitor.page.locator("#main button[type=submit]").click()  # nothing is filled in
    expect(visitor.page.locator("#id_customer_error")).to_be_visible()
    examine("new-wrong")
    visitor.look_at(gallery["paid"])
    visitor.page.locator("#ship [name=version]").evaluate("field => { field.value = 0 }")
    visitor.press("ship")
    expect(visitor.page.get_by_role("alert")).to_be_visible()
    examine("order-stale")
    visitor.page.context.clear_cookies()
    visitor.page.goto(f"{visitor.url}/accounts/login/")
    examine("log-in")
    assert {name: found for name, found in faults.items() if found} == {}


@pytest.mark.parametrize("width", [320, 640, 768, 900])
def test_in_one_column_what_can_be_done_comes_first(
    width: int, gallery: dict[str, int], person: Callable[..., Person]
) -> None:
    visitor = person("clerk", viewport={"width": width, "height": 900})
    visitor.look_at(gallery["paid"])
    tops = {part: visitor.page.locator(f"#{part}").bounding_box() for part in ("actions", "where", "history", "work")}
    order = sorted(tops, key=lambda part: tops[part]["y"])  # type: ignore[index]
    assert order == ["actions", "where", "history", "work"]
    reached = visitor.page.locator("main").evaluate(
        "main => main.querySelector('button, select, .lc-scroll').closest('section').id"
    )
    assert reached == "actions"  # by keyboard, too


@pytest.mark.parametrize("width", [390, 640, 768, 900, 1280])
def test_the_diagram_that_is_shown_is_seen_whole(
    width: int, gallery: dict[str, int], person: Callable[..., Person]
) -> None:
    visitor = person("clerk", viewport={"width": width, "height": 900}, locale="de-DE")
    for state in ("paid", "awaiting", "refund-needs-attention"):
        visitor.look_at(gallery[state])
        box = visitor.page.locator("#where .lc-scroll").filter(visible=True)
        expect(box).to_have_count(1)
        assert box.evaluate("box => box.scrollWidth - box.clientWidth") <= 0, state


@pytest.mark.parametrize("language", ["en-US", "de-DE"])
def test_the_whole_navigation_is_seen_on_the_narrowest_phone(language: str, person: Callable[..., Person]) -> None:
    visitor = person("clerk", viewport={"width": 320, "height": 640}, locale=language)
    for link in visitor.page.locator(".shop-top a, .shop-top button").all():
        box = link.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 320, link.inner_text()


def test_a_clerk_reads_beside_a_closed_button_why_it_is_closed(
    gallery: dict[str, int], person: Callable[..., Person]
) -> None:
    clerk = person("clerk")
    clerk.look_at(gallery["awaiting"])
    elsewhere = clerk.page.locator("#actions .lc-elsewhere").last
    expect(elsewhere).to_contain_text("only from Draft or Payment failed")
    expect(clerk.page.locator("#where .lc-diagram").first).to_be_visible()
    assert "Path: 1 Created to Draft" in clerk.page.locator("#order-wide-desc").text_content()  # type: ignore[operator]


def test_an_unchanged_page_is_answered_304_and_says_when_it_was_last_right(admin: Person, gallery: Any) -> None:
    admin.look_at(gallery["draft"])
    seen = admin.page.locator("#refresh time").inner_text()
    marked = admin.page.locator("#where").evaluate("part => part.marked = true")

    def unchanged(answer: Response) -> bool:
        return answer.url.endswith(f"/orders/{gallery['draft']}/") and answer.status == 304

    with admin.page.expect_response(unchanged):
        pass
    expect(admin.page.locator("#refresh time")).not_to_have_text(seen)
    assert admin.page.locator("#where").evaluate("part => part.marked") is marked is True


def test_a_page_that_moves_on_keeps_focus_place_and_what_is_being_typed(
    admin: Person, person: Callable[..., Person]
) -> None:
    order = admin.awaiting()
    reader = person("clerk", viewport=NARROW)
    reader.look_at(order)
    reader.page.locator("#full-diagram summary").click()
    reader.page.locator("#full-diagram .lc-scroll").evaluate("box => { box.scrollLeft = 120 }")
    reader.page.get_by_text("Pay another amount…").click()
    reader.page.fill("#other-amount", "12")
    reader.page.locator("#other-amount").focus()
    top = reader.page.evaluate("scrollY")
    assert top > 300
    admin.provider("decline")
    reader.sees("Payment failed")
    expect(reader.page.locator("#history li.is-new")).to_have_count(1)
    expect(reader.page.locator("#other-amount")).to_have_value("12")
    expect(reader.page.locator("#other-amount")).to_be_focused()
    expect(reader.page.locator(".shop-kept")).to_be_visible()
    expect(reader.page.locator("#full-diagram")).to_have_attribute("open", "")
    assert reader.page.locator("#full-diagram .lc-scroll").evaluate("box => box.scrollLeft") == 120
    assert reader.page.evaluate("document.activeElement.getBoundingClientRect().bottom <= innerHeight")
    # The form is let go: the part that was kept is brought up to date.
    reader.page.fill("#other-amount", "")
    reader.page.locator("#do-checkout").focus()
    reader.sees_in("provider", "declined")
    expect(reader.page.locator(".shop-kept")).to_be_hidden()
    expect(reader.page.locator("#do-checkout")).to_be_focused()


def test_everything_can_be_done_by_keyboard(admin: Person) -> None:
    page = admin.page
    admin.new_order()

    def tab_to(selector: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
                assert outline != "none", f"{selector} does not show that it has the focus"
                return
        pytest.fail(f"the keyboard does not reach {selector}")

    page.goto(page.url)
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    tab_to("#do-checkout")
    page.keyboard.press("Enter")
    admin.sees("Awaiting payment")
    tab_to("#provider-pay")
    page.keyboard.press("Space")
    admin.sees("Paid")
    tab_to("#id_carrier")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.type("1Z9")
    page.keyboard.press("Enter")
    admin.sees("Fulfilled")
    admin.sees_in("facts", "UPS 1Z9")


def test_what_is_missing_is_marked_and_has_the_focus(admin: Person, gallery: dict[str, int]) -> None:
    admin.look_at(gallery["paid"])
    admin.press("ship")
    field = admin.page.locator("#id_tracking_number")
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(admin.page.locator("#id_tracking_number_error")).to_have_text("This field is required.")
    admin.sees("Paid")


def test_without_scripts_everything_works_and_nothing_is_promised(person: Callable[..., Person]) -> None:
    plain = person("admin", java_script_enabled=False)
    plain.new_order()
    plain.press("checkout")
    expect(plain.page.locator("h1 .lc-badge")).to_have_text(re.compile("Creating checkout|Awaiting payment"))
    expect(plain.page.get_by_text("This page refreshes by itself.")).to_be_hidden()
    look_again_until(plain.page, "Awaiting payment")
    plain.provider("pay")
    look_again_until(plain.page, "Paid")
    plain.ship("DHL", "0034")
    plain.sees("Fulfilled")


def look_again_until(page: Page, state: str) -> None:
    for _ in range(40):
        if page.locator("h1 .lc-badge").inner_text() == state:
            return
        page.wait_for_timeout(250)
        page.get_by_role("link", name="Look again").click()
    pytest.fail(f"the order never was in {state}")


def test_the_language_is_switched_by_a_button(person: Callable[..., Person], gallery: dict[str, int]) -> None:
    visitor = person("admin")
    visitor.look_at(gallery["paid"])
    visitor.page.get_by_role("button", name="Deutsch").click()
    expect(visitor.page.locator("h1")).to_contain_text(f"Bestellung {gallery['paid']}")
    assert visitor.page.url.endswith(f"/orders/{gallery['paid']}/")
    expect(visitor.page.locator("#where .lc-diagram").first).to_contain_text("Wartet auf Zahlung")
    visitor.page.get_by_role("button", name="English").click()
    expect(visitor.page.locator("h1")).to_contain_text(f"Order {gallery['paid']}")


def test_who_was_logged_out_is_led_to_the_log_in(person: Callable[..., Person], gallery: dict[str, int]) -> None:
    visitor = person("clerk")
    visitor.look_at(gallery["paid"])
    visitor.context.clear_cookies()
    visitor.page.wait_for_url(re.compile("/accounts/login/"))
