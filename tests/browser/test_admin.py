"""An operator's day, in a browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lifecycle import operations
from lifecycle.models import OperatorAction, Run, TransitionLog, TriggerHold
from orders.models import Order
from tests.admin.story import Story
from tests.browser import axe

# Once: what the pages hold on each database is what tests/admin looks at; here it is how they are used.
pytestmark = [pytest.mark.browser, pytest.mark.once]


def test_an_operator_finds_a_failed_refund_reads_why_and_has_it_done(story: Story, page_of: Callable[..., Any]) -> None:
    order = story.refund_failed()
    page = page_of(story.operator())
    page.get_by_role("link", name="Runs").first.click()
    page.get_by_role("link", name="1 failed").click()
    page.locator("#result_list").get_by_role("link", name="orders.refund").click()
    page.get_by_text("“orders.refund” has failed for good.").wait_for()
    assert page.get_by_text("502 Bad gateway").count() >= 4
    assert "fire “Retry refund” on the record instead" in page.locator("#lc-retry").inner_text()
    page.get_by_role("link", name=f"Order {order.pk}").click()
    page.locator(".object-tools").get_by_role("link", name="Retry refund").click()
    page.get_by_label("Reason").fill("the provider is back")
    page.get_by_role("button", name="Retry refund").click()
    page.get_by_text("It is now Refunding.").wait_for()
    story.kit.run_due()
    page.reload()
    badge = page.locator(".lc-panel .lc-stateline .lc-badge")
    assert badge.inner_text() == "Refunded"
    history = page.locator(".lc-log").inner_text()
    assert "the provider is back" in history
    assert "olga" in history
    order.refresh_from_db()
    assert order.status == "refunded"


def test_an_operator_runs_a_failed_run_again_with_a_reason_and_sees_the_audit_row(
    story: Story, page_of: Callable[..., Any]
) -> None:
    run = story.run_of(story.refund_failed(), "orders.refund")
    page = page_of(story.operator())
    page.goto(f"/admin/lifecycle/run/{run.pk}/change/")
    page.get_by_role("button", name="Retry").click()
    page.get_by_role("alert").get_by_text("force, with a reason").wait_for()
    page.get_by_label("Force").check()
    page.get_by_label("Reason, kept with your name").fill("the provider is back")
    page.get_by_role("button", name="Retry").click()
    page.get_by_text(f"Run {run.pk} is queued again.").wait_for()
    story.kit.run_due()
    page.reload()
    assert "Succeeded" in page.locator(".lc-stateline").first.inner_text()
    page.get_by_role("link", name="Operator actions").first.click()
    row = page.locator("#result_list tbody tr").first.inner_text()
    assert "Retry" in row
    assert "forced" in row
    assert "olga" in row
    assert "the provider is back" in row
    page.goto(f"/admin/lifecycle/run/{run.pk}/history/")
    page.get_by_text("is queued again. the provider is back (forced)").wait_for()


def test_an_operator_continues_a_blocked_follow_up_after_its_reason_is_lifted(
    story: Story, page_of: Callable[..., Any]
) -> None:
    order = story.follow_up_refused(times=10)
    page = page_of(story.operator())
    page.goto("/admin/lifecycle/lifecyclespage/")
    page.get_by_role("link", name="Follow-up abandoned: 1").click()
    page.locator("#result_list").get_by_role("link", name="orders.refund").click()
    page.get_by_text("The accounting day is being closed.").first.wait_for()
    page.get_by_role("button", name="Continue now").click()
    page.get_by_role("alert").get_by_text("The follow-up was refused.").wait_for()
    story.open_the_day()
    page.get_by_label("Reason, kept with your name").fill("the day is open")
    page.get_by_role("button", name="Continue now").click()
    page.get_by_text("“Refunded” was fired.").wait_for()
    page.get_by_role("link", name=f"Order {order.pk}").click()
    assert page.locator(".lc-panel .lc-stateline .lc-badge").inner_text() == "Refunded"
    assert OperatorAction.objects.filter(action="continue").count() == 2


def test_an_operator_cancels_queued_runs_in_the_list(story: Story, page_of: Callable[..., Any]) -> None:
    story.paid()
    story.queued()
    story.queued()
    page = page_of(story.operator())
    page.goto("/admin/lifecycle/run/?status=queued")
    page.locator("#action-toggle").check()
    page.locator('select[name="action"]').select_option(label="Cancel")
    page.locator('.actions input[name="reason"]').fill("entered twice")
    page.get_by_role("button", name="Go").click()
    assert "2 done 0 refused" in " ".join(page.get_by_role("status").inner_text().split())
    page.get_by_role("link", name="Back to the list").click()
    page.goto("/admin/lifecycle/run/?status=cancelled")
    assert page.get_by_text("Cancelled by olga: “entered twice”").count() == 2
    assert Run.objects.filter(status="cancelled").count() == 2


def test_an_operator_changes_the_payment_window_and_the_next_timeout_uses_it(
    story: Story, page_of: Callable[..., Any]
) -> None:
    order = story.awaiting()
    page = page_of(story.operator())
    page.get_by_role("link", name="Overview").first.click()
    page.get_by_role("link", name="Change payment_window").click()
    page.get_by_label("New value").fill("soon")
    page.get_by_label("Reason, kept with your name").fill("sessions end after a minute")
    page.get_by_role("button", name="Change", exact=True).click()
    page.get_by_role("alert").get_by_text("is no duration").wait_for()
    page.get_by_label("New value").fill("1 min")
    page.get_by_role("button", name="Change", exact=True).click()
    page.get_by_text("Parameter payment_window of orders is now 1 min.").wait_for()
    assert "Last changed by olga" in page.locator("#lc-orders-section").inner_text()
    story.kit.travel(seconds=70)
    story.kit.tick()
    page.goto(f"/admin/orders/order/{order.pk}/change/")
    assert page.locator(".lc-panel .lc-stateline .lc-badge").inner_text() == "Cancelled"
    assert Order.objects.get(pk=order.pk).cancel_reason == "timeout"


def test_a_clerk_ships_several_orders_at_once(story: Story, page_of: Callable[..., Any]) -> None:
    story.paid("Lamp")
    story.paid("Mirror")
    story.draft("Jug")
    clerk = story.person("shirin", "orders.view_order", "orders.ship_order")
    page = page_of(clerk)
    page.goto("/admin/orders/order/")
    page.locator("#action-toggle").check()
    page.locator('select[name="action"]').select_option(label="Ship")
    page.get_by_role("button", name="Go").click()
    page.get_by_label("Carrier").select_option("DHL")
    page.get_by_label("Tracking number").fill("00340")
    page.get_by_role("button", name="Ship: 2 rows").click()
    assert "2 done 1 refused" in " ".join(page.get_by_role("status").inner_text().split())
    assert page.get_by_text("“Ship” starts in Paid; the record is Draft.").count() == 1
    assert TransitionLog.objects.filter(transition="ship", actor_label="shirin").count() == 2


def test_the_admin_is_used_by_keyboard_alone(story: Story, page_of: Callable[..., Any]) -> None:
    order = story.draft()
    page = page_of(story.boss)
    page.goto(f"/admin/orders/order/{order.pk}/change/")
    tool = page.locator(".object-tools").get_by_role("link", name="Pay")
    tool.focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Pay").focus()
    page.keyboard.press("Enter")
    page.get_by_text("It is now Creating checkout.").wait_for()


def test_a_closed_button_is_reached_by_keyboard_and_names_its_reasons(
    story: Story, page_of: Callable[..., Any]
) -> None:
    order = story.follow_up_refused()
    run = story.run_of(order, "orders.refund")
    page = page_of(story.operator())
    page.goto(f"/admin/lifecycle/run/{run.pk}/change/")
    closed = page.get_by_role("button", name="Retry")
    closed.focus()
    assert closed.evaluate("element => element === document.activeElement")
    assert closed.get_attribute("aria-disabled") == "true"
    described = page.locator(f"#{closed.get_attribute('aria-describedby')}").inner_text()
    assert "Not possible: the effect has succeeded" in described
    page.keyboard.press("Enter")
    assert OperatorAction.objects.count() == 0


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_is_wider_than_the_screen(story: Story, page_of: Callable[..., Any], width: int, scheme: str) -> None:
    order = story.follow_up_refused()
    run = story.run_of(order, "orders.refund")
    page = page_of(story.boss, viewport={"width": width, "height": 900}, color_scheme=scheme)
    pages = [
        "/admin/lifecycle/lifecyclespage/", "/admin/lifecycle/lifecyclespage/orders/payment_window/",
        f"/admin/lifecycle/run/{run.pk}/change/", f"/admin/orders/order/{order.pk}/change/",
    ]  # fmt: skip
    for address in pages:
        page.goto(address)
        over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert over <= 0, address
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(255, 255, 255)") == (scheme == "light")


LISTS = ["run", "triggerhold", "transitionlog", "operatoraction"]


@pytest.fixture
def busy(story: Story) -> Story:
    """Every list of the library has rows."""
    story.held()
    story.open_the_day()
    run = story.run_of(story.refund_failed(), "orders.refund")
    operations.retry_run(run, actor=story.boss, reason="the provider is back, says its status page", force=True)
    story.follow_up_refused()
    story.refund_declined()
    story.paid()
    return story


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
@pytest.mark.parametrize("name", LISTS)
def test_a_list_is_no_wider_than_the_screen_and_beside_the_side_bar_no_column_is_cut(
    busy: Story, page_of: Callable[..., Any], name: str, width: int
) -> None:
    page = page_of(busy.boss, viewport={"width": width, "height": 900})
    page.goto(f"/admin/lifecycle/{name}/")
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    if width == 1280:
        assert page.locator("#main.shifted").count() == 1
        assert page.evaluate("(box => box.scrollWidth - box.clientWidth)(document.querySelector('.results'))") <= 0


def test_the_filters_open_above_the_list_where_they_do_not_fit_beside_it(
    busy: Story, page_of: Callable[..., Any]
) -> None:
    page = page_of(busy.boss)
    page.goto("/admin/lifecycle/run/")
    filters, link = page.locator("#changelist-filter"), page.get_by_role("link", name="Filters", exact=True)
    assert not filters.is_visible()
    link.focus()
    page.keyboard.press("Enter")
    filters.wait_for()
    assert filters.bounding_box()["y"] < page.locator("#result_list").bounding_box()["y"]
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#changelist-filter') !== null")
    filters.get_by_role("link", name="Succeeded").click()
    page.get_by_role("link", name="Filters (in use)").wait_for()
    assert page.locator("#result_list tbody tr").count() == Run.objects.filter(status="succeeded").count()
    page.set_viewport_size({"width": 1800, "height": 900})
    assert filters.is_visible()
    assert not page.get_by_role("link", name="Filters (in use)").is_visible()


def test_our_parts_are_dark_only_where_the_page_is(busy: Story, page_of: Callable[..., Any]) -> None:
    """Another admin's theme has neither Django's stylesheets nor its variables, and may stay light at night."""
    page = page_of(busy.boss, color_scheme="dark")
    page.goto("/admin/lifecycle/lifecyclespage/")
    ground = "getComputedStyle(document.querySelector('.lc-life')).backgroundColor"
    quiet = "getComputedStyle(document.querySelector('.lc-life .lc-table th')).color"
    assert page.evaluate(ground) != "rgb(255, 255, 255)"
    page.evaluate("document.querySelectorAll('link[href*=\"admin/css\"]').forEach(sheet => sheet.remove())")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    assert page.evaluate(quiet) == "rgb(71, 82, 100)"
    page.evaluate("document.documentElement.setAttribute('data-bs-theme', 'dark')")
    assert page.evaluate(ground) == "rgb(22, 28, 36)"
    assert page.evaluate(quiet) == "rgb(181, 191, 204)"


@pytest.mark.parametrize(("scheme", "width", "language"), [("light", 1280, "en"), ("dark", 390, "de")])
def test_axe_finds_nothing_wrong_with_our_parts_of_the_admin(
    busy: Story, page_of: Callable[..., Any], settings: Any, scheme: str, width: int, language: str
) -> None:
    """With the content of our pages, our part of a record's page and our cells of a list; the rest is Django's."""
    page = page_of(busy.boss, color_scheme=scheme, viewport={"width": width, "height": 900})
    settings.LANGUAGE_CODE = language
    run, order, hold = Run.objects.latest("id"), Order.objects.latest("id"), TriggerHold.objects.latest("id")
    pages = {
        "/admin/lifecycle/lifecyclespage/": "#content",
        "/admin/lifecycle/lifecyclespage/orders/payment_window/": "#content",
        f"/admin/lifecycle/run/{run.pk}/change/": "#content",
        f"/admin/lifecycle/run/{Run.objects.filter(status='failed').latest('id').pk}/change/": "#content",
        f"/admin/lifecycle/triggerhold/{hold.pk}/change/": "#content",
        f"/admin/orders/order/{order.pk}/lifecycle/orders/ship/": "#content",
        f"/admin/orders/order/{order.pk}/change/": ".lc-panel",
        **{f"/admin/lifecycle/{name}/": "#result_list" for name in LISTS},
        "/admin/orders/order/": "#result_list",
    }
    faults = {}
    for address, part in pages.items():
        page.goto(address)
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        faults[address] = axe.faults(page, part)
    assert not any(faults.values()), faults


@pytest.mark.parametrize(("width", "near"), [(768, True), (1280, False)])
def test_a_record_shows_the_near_diagram_where_the_side_bar_leaves_no_room_for_the_whole(
    busy: Story, page_of: Callable[..., Any], width: int, near: bool
) -> None:
    page = page_of(busy.boss, viewport={"width": width, "height": 900})
    page.goto(f"/admin/orders/order/{Order.objects.latest('id').pk}/change/")
    assert page.locator("#main.shifted").count() == 1
    assert page.locator(".lc-panel .lc-narrow").first.is_visible() == near
    assert page.locator(".lc-panel .lc-wide").first.is_visible() != near
