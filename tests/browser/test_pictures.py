"""The pictures of the documentation: each still shows its page, or is made anew by ``make pictures``.

A picture carries the words that its page said. The words must be the same today; the picture itself is compared from
afar, because fonts and browsers differ between machines.
"""

from __future__ import annotations

import datetime as dt
import os
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from lifecycle import clock
from orders.models import Order
from orders.payments import ProviderUnavailable
from orders.web import console
from tests.admin.story import PROVIDER, Story
from tests.browser.picture import Picture
from tests.docs.newcomer import Newcomer
from tests.docs.pages import ROOT, blocks

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.sqlite, pytest.mark.timeout(240)]

MAKE = os.environ.get("LIFECYCLE_PICTURES") == "make"
NOON = dt.datetime(2026, 3, 12, 14, 1, 2, tzinfo=dt.UTC)
# Measured: a page without its style sheet is 0.16 to 0.21 away, a dark one 0.6, one in another font 0.003 to 0.017.
APART = 0.06
# Names of this machine, keys made at random, and how long things took here.
MASKS = {
    r"[\w.-]+:\d+:[0-9a-f]{8}(:\d+)?": "worker-1",
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}": "266c4dd1-a5a0-4b87-9988-6f8e44d5e113",
    r"took \d+ ms": "took 6 ms",
    r"\b\d+ ms apart": "1 ms apart",
    "RecordingDispatcher": "CeleryDispatcher",  # the suite's stand-in
}


@pytest.fixture
def shown(chromium: Any) -> Iterator[Callable[[str, Picture], None]]:
    """Compares a picture with the committed one; all complaints come at the end."""
    blank = chromium.new_page()
    complaints = []

    def look(name: str, fresh: Picture) -> None:
        if MAKE:
            fresh.save(name, blank)
        kept = Picture.committed(name)
        if kept is None:
            complaints.append(f"{name}: there is no such picture")
        elif kept.words != fresh.words:
            complaints.append(f"{name}: {difference(kept.words, fresh.words)}")
        elif (apart := kept.differs_from(fresh, blank)) > APART:
            complaints.append(f"{name}: the words are the same, the looks are not ({apart:.3f})")

    yield look
    blank.close()
    assert complaints == [], "Look at the pages, then: make pictures"


def difference(kept: str, fresh: str) -> str:
    """The first line that is another."""
    here, there = kept.split("\n"), fresh.split("\n")
    for one, other in zip(here, there, strict=False):
        if one != other:
            return f"the picture says {one!r}, the page {other!r}"
    return f"{len(here)} lines in the picture, {len(there)} on the page"


@pytest.fixture
def day(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Story:
    """A day on which the clock stands still, and numbers begin where they would after some months."""
    story: Story = request.getfixturevalue("story")
    story.kit.travel(NOON, stop=True)
    monkeypatch.setattr(timezone, "now", clock.now)
    random.seed(1034)  # pauses between attempts
    numbered("orders_order", 1034)
    numbered("lifecycle_run", 2117)
    return story


def numbered(table: str, first: int) -> None:
    """The table's next row gets this number."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM sqlite_sequence WHERE name = %s", [table])
        cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, first - 1])


@pytest.fixture
def visitor(page_of: Callable[..., Any], day: Story) -> Callable[..., Any]:
    """Somebody at a page at this moment of the day, with the admin's side bar out of the way."""
    here: dict[str, Any] = {}

    def at(address: str, scheme: str = "light", width: int = 1200) -> Any:
        if scheme not in here:
            here[scheme] = page_of(day.boss, color_scheme=scheme)
            here[scheme].evaluate("localStorage.setItem('django.admin.navSidebarIsOpen', 'false')")
            # The page's own clocks stand still, too: it neither counts down nor asks again.
            here[scheme].clock.install(time=clock.now())
            here[scheme].clock.pause_at(clock.now() + dt.timedelta(minutes=1))
        page = here[scheme]
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(address)
        return page

    return at


def a_day_of(story: Story) -> None:
    """Orders in most states, one of them in trouble."""
    story.paid("Floor mirror", cents=18900, customer="Chidi Eze").lifecycle.fire(
        "ship", actor=story.boss, input={"carrier": "UPS", "tracking_number": "1Z 999 AA1"}
    )
    story.kit.run_due()
    story.refund_failed("Oak stool")
    story.follow_up_refused("Reading chair")
    story.kit.travel(minutes=2)
    story.paid("Walnut reading lamp", cents=12900, customer="Mei Tanaka")
    story.draft("Tea pot", cents=3600, customer="Noor Haddad")
    story.kit.travel(seconds=40)


def declined_and_tried_again(story: Story) -> Order:
    """An order whose first card was declined and whose second checkout needed two attempts."""
    story.kit.travel(seconds=20)
    order = story.draft("Two espresso cups", cents=4800, customer="Ada Lindqvist")
    story.kit.travel(seconds=12)
    order.lifecycle.fire("checkout", actor=story.boss)
    story.kit.run_due()
    story.kit.travel(seconds=76)
    order.refresh_from_db()
    order.lifecycle.fire(
        "payment_declined", actor=PROVIDER, input={"reason": "Insufficient funds"}, request_id="sandbox:evt_88"
    )
    story.kit.travel(seconds=24)
    order.lifecycle.fire("checkout", actor=story.boss)
    story.payments.trouble = [ProviderUnavailable("503 Provider unavailable")]
    story.kit.run_due(retries=True)
    story.kit.travel(seconds=52)
    order.refresh_from_db()
    return order


def card_of(order: Order) -> console.Card:
    """What the provider would say about it."""
    session = {"id": order.payment_session_id, "status": "open", "amount_cents": 4800, "currency": "EUR"}
    delivery = {"status_code": 200, "answer": {"outcome": "applied", "version": 4}}
    declined = {"id": "evt_88", "type": "payment.declined", "status": "delivered", "deliveries": [delivery]}
    created_at = order.lifecycle.history.get(transition="payment_declined").at.isoformat()
    return console.Card(sessions=[session], events=[{**declined, "created_at": created_at}])


def test_the_pages_are_as_their_pictures_show_them(
    day: Story, visitor: Callable[..., Any], shown: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    a_day_of(day)
    order = declined_and_tried_again(day)
    monkeypatch.setattr(console, "card", card_of)
    failed = day.run_of(Order.objects.get(title="Oak stool"), "orders.refund")
    paid = Order.objects.get(title="Walnut reading lamp")
    day.kit.tick()

    for scheme, name in (("light", "order"), ("dark", "order-dark")):
        page = visitor(f"/orders/{order.pk}/", scheme)
        shown(name, Picture.of(page, "#head", "#where", "#actions", frame=("body > header", "#where"), masks=MASKS))
    for scheme, name in (("light", "lifecycles"), ("dark", "lifecycles-dark")):
        page = visitor("/admin/lifecycle/lifecyclespage/", scheme)
        shown(name, Picture.of(page, ".lc-tiles", "#lc-orders-section", masks=MASKS))

    page = visitor(f"/admin/orders/order/{paid.pk}/change/")
    shown(
        "admin-record", Picture.of(page, ".object-tools", ".lc-panel", frame=("#content h1", ".lc-panel"), masks=MASKS)
    )
    page = visitor("/admin/orders/order/", width=1300)
    shown("admin-list", Picture.of(page, "#changelist", frame=("#content h1", "#changelist"), masks=MASKS))
    page = visitor("/admin/lifecycle/run/", width=1400)
    rows = "#changelist-form .results"
    shown("runs", Picture.of(page, rows, frame=("#content h1", rows), edge=rows, masks=MASKS))
    page = visitor(f"/admin/lifecycle/run/{failed.pk}/change/")
    shown("run", Picture.of(page, "#content-main", frame=("#content h1", "#content-main"), masks=MASKS))


def test_the_page_in_plain_javascript_is_as_its_picture_shows_it(
    day: Story, page_of: Callable[..., Any], shown: Callable[..., None]
) -> None:
    order = day.awaiting("Walnut reading lamp")
    clerk = day.person("chidi", "orders.view_order", "orders.ship_order")
    code = {block.title: block.text for block in blocks(ROOT / "docs" / "how-to" / "browser.md") if block.title}
    # It looks once and not again, or it would see what somebody else does before the button is pressed.
    served = {
        "order.html": ("text/html", code["order.html"].replace("17", str(order.pk))),
        "order.js": ("text/javascript", code["order.js"].replace("onError: explain", "onError: explain, every: 1e9")),
    }
    page = page_of(clerk, viewport={"width": 640, "height": 400})

    def serve(name: str) -> None:
        kind, text = served[name]
        page.route(f"**/shown/{name}", lambda route: route.fulfill(body=text, content_type=kind))

    for name in served:
        serve(name)
    page.goto("/shown/order.html")
    page.get_by_role("heading", name="awaiting_payment").wait_for()
    order.lifecycle.fire("payment_succeeded", actor=PROVIDER, input={"payment_ref": "pay_1"})
    page.get_by_role("button", name="Cancel order").click()
    page.get_by_text("Somebody was faster.").wait_for()
    shown("browser", Picture.of(page, "#order"))


def test_the_readmes_lifecycle_is_as_its_diagram_shows_it(
    chromium: Any, shown: Callable[..., None], tmp_path: Path
) -> None:
    newcomer = Newcomer(tmp_path, settings="mysite.settings")
    newcomer.types("$ django-admin startproject mysite .\n$ python manage.py startapp team\n", "a project")
    for block in blocks(ROOT / "README.md"):
        if block.title:
            newcomer.writes(block)
    command = [sys.executable, "manage.py", "lifecycle_graph", "invitations", "--format", "svg"]
    svg = newcomer.runs(command, "the diagram")
    for scheme, name, ground in (("light", "diagram", "#ffffff"), ("dark", "diagram-dark", "#0d1117")):
        page = chromium.new_page(color_scheme=scheme)
        page.set_content(f'<!doctype html><body style="background: {ground}"><main>{svg}</main>')
        shown(name, Picture.of(page, "main", frame=("svg",)))
        page.close()
