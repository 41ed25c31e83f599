"""The shop's pages: who may look, what a click does, what a stale page is told."""

from __future__ import annotations

import re
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from lifecycle.runtime import create
from lifecycle.testing import Kit
from orders.factories import OrderFactory, StrayPaymentFactory
from orders.models import Order
from orders.payments import ProviderUnavailable
from orders.web import console
from tests.orders.provider import FakePayments

pytestmark = pytest.mark.django_db

EXAMPLE = Path(__file__).resolve().parents[3] / "example_project"


@pytest.fixture(autouse=True)
def no_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider's card is empty; pages come without it."""
    monkeypatch.setattr(console, "card", lambda order: console.Card())


def draft(user: User) -> Order:
    return create(Order(customer="Ada Lindqvist", title="Two espresso cups", amount_cents=4800), actor=user)


def press(client: Client, order: Order, transition: str, version: Any, **fields: str) -> Any:
    data = {"version": version, "request_id": str(uuid.uuid4()), **fields}
    return client.post(f"/orders/{order.pk}/fire/{transition}/", data)


ADDRESSES = ["/", "/?state=all", "/orders/new/", "/orders/{pk}/"]
POSTS = [
    "/orders/new/",
    "/orders/{pk}/fire/cancel/",
    "/orders/{pk}/provider/pay/",
    "/orders/{pk}/stray/{stray}/retry/",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_only_people_who_work_here_see_pages(address: str, clerk_client: Client) -> None:
    path = address.format(pk=OrderFactory().pk)
    stranger = Client()
    assert stranger.get(path).headers["location"].startswith("/accounts/login/")
    stranger.force_login(User.objects.create_user("customer"))
    assert stranger.get(path).status_code == 403
    assert clerk_client.get(path).status_code == 200


def colleague(name: str, *permissions: str) -> Client:
    """The browser of somebody who works here, with these permissions."""
    user = User.objects.create_user(name, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    browser = Client()
    browser.force_login(user)
    return browser


def test_who_works_here_without_permissions_sees_nothing_and_is_told_whom_to_ask() -> None:
    newcomer, order = colleague("noor"), OrderFactory()
    for address in ADDRESSES:
        answer = newcomer.get(address.format(pk=order.pk))
        assert answer.status_code == 403
        assert "You may not see this page." in answer.content.decode()


def test_who_may_only_look_is_shown_every_button_closed_with_the_reason(clerk: User) -> None:
    viewer, order = colleague("vera", "view_order"), draft(clerk)
    page = viewer.get(f"/orders/{order.pk}/").content.decode()
    assert "You may look at orders, but not change them." in page
    assert re.search(r'id="do-checkout" type="button" aria-disabled="true"', page)
    assert 'action="/orders/' not in page
    listed = viewer.get("/").content.decode()
    assert "/orders/new/" not in page + listed


def test_who_may_only_look_changes_nothing(clerk: User, lifecycle: Kit) -> None:
    viewer, order = colleague("vera", "view_order"), draft(clerk)
    answer = press(viewer, order, "checkout", 1)
    assert answer.status_code == 403
    assert "You may look at orders, but not change them." in answer.content.decode()
    assert viewer.post("/orders/new/", {}).status_code == 403
    pressed = viewer.post(f"/orders/{order.pk}/provider/hold/", {"hold": "1"}, follow=True)
    assert "You may look at orders, but not change them." in pressed.content.decode()
    lifecycle.assert_history(order, ["$create"])
    assert Order.objects.count() == 1


def test_a_transition_with_a_permission_of_its_own_needs_that_one_and_to_see_the_order(lifecycle: Kit) -> None:
    shipper, order = colleague("shirin", "view_order", "ship_order"), OrderFactory(status="paid")
    listed = shipper.get("/").content.decode()
    assert press(shipper, order, "ship", 0, carrier="UPS", tracking_number="1Z").status_code == 302
    other = OrderFactory(status="refund_needs_attention")
    assert press(shipper, other, "retry_refund", 0).status_code == 403
    assert "a colleague" not in listed
    assert "a colleague" in shipper.get("/").content.decode()


@pytest.mark.parametrize("address", POSTS)
def test_only_people_who_work_here_do_things_and_only_from_our_pages(address: str, clerk: User) -> None:
    stray = StrayPaymentFactory(status="needs_attention")
    path = address.format(pk=stray.order.pk, stray=stray.pk)
    stranger = Client()
    assert stranger.post(path).headers["location"].startswith("/accounts/login/")
    stranger.force_login(User.objects.create_user("customer"))
    assert stranger.post(path).status_code == 403
    forger = Client(enforce_csrf_checks=True)
    forger.force_login(clerk)
    assert forger.post(path).status_code == 403
    stray.refresh_from_db()
    assert (stray.status, stray.order.status) == ("needs_attention", "draft")


def test_a_click_after_the_end_of_the_session_leads_back_to_the_order_with_what_was_filled_in(
    clerk: User, admin: User
) -> None:
    order = OrderFactory(status="paid")
    page, address = f"/orders/{order.pk}/", f"/orders/{order.pk}/fire/ship/"
    filled_in = {"reader": clerk.pk, "version": 0, "carrier": "UPS", "tracking_number": "1Z 999"}

    def comes_back(person: User) -> str:
        browser = Client()
        answer = browser.post(address, filled_in)
        assert answer.headers["location"] == f"/accounts/login/?next={page}"
        browser.post(answer.headers["location"], {"username": person.get_username(), "password": "x"})
        shown = browser.get(page).content.decode()
        assert "1Z 999" not in browser.get(page).content.decode()  # said once
        return shown

    assert 'name="tracking_number" value="1Z 999"' in comes_back(clerk)
    assert "1Z 999" not in comes_back(admin)  # another person's
    order.refresh_from_db()
    assert order.status == "paid"


def test_what_is_kept_of_a_click_without_a_session_is_bounded() -> None:
    browser = Client()
    browser.post("/orders/new/", {f"field{number}": "x" * 5000 for number in range(100)})
    kept = browser.session["interrupted"]["given"]
    assert (len(kept), max(map(len, kept.values()))) == (20, 500)


@pytest.mark.parametrize("address", POSTS[1:])
def test_who_comes_to_a_button_by_its_address_is_led_to_the_order(address: str, clerk_client: Client) -> None:
    stray = StrayPaymentFactory(status="needs_attention")
    page = f"/orders/{stray.order.pk}/"
    path = address.format(pk=stray.order.pk, stray=stray.pk)
    assert clerk_client.get(path).headers["location"] == page
    assert Client().get(path).headers["location"] == f"/accounts/login/?next={page}"


def test_what_is_not_there_or_not_for_one_is_a_page_with_a_way_back(clerk_client: Client, settings: Any) -> None:
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [EXAMPLE / "templates"]}]  # the site's, not the shop's
    stranger = Client()
    stranger.force_login(User.objects.create_user("customer"))
    settings.DEBUG = True  # as the demo runs
    missing, refused = clerk_client.get("/orders/999/"), stranger.get("/")
    assert (missing.status_code, refused.status_code) == (404, 403)
    assert 'href="/?state=all"' in missing.content.decode()
    assert "There is nothing at this address." in missing.content.decode()
    assert 'action="/accounts/logout/"' in refused.content.decode()
    assert "You are logged in as customer." in refused.content.decode()


def test_an_order_is_begun_once_however_often_the_form_is_sent(clerk_client: Client, clerk: User) -> None:
    form = {
        "customer": "Ada",
        "title": "Cups",
        "amount": "48.00",
        "currency": "EUR",
        "fail_checkouts": "0",
        "fail_refunds": "2",
        "request_id": str(uuid.uuid4()),
    }
    first, again = clerk_client.post("/orders/new/", form), clerk_client.post("/orders/new/", form)
    assert first.headers["location"] == again.headers["location"]
    order = Order.objects.get()
    assert (order.amount_cents, order.fail_refunds, order.lifecycle_version) == (4800, 2, 1)
    assert order.lifecycle.history.get().actor_id == str(clerk.pk)


@pytest.mark.parametrize(
    "wrong",
    [
        {"customer": ""},
        {"amount": "0"},
        {"amount": "1.234"},
        {"amount": "-5"},
        {"currency": "euro"},
        {"fail_refunds": "11"},
    ],
    ids=str,
)
def test_a_wrong_form_is_shown_again_with_what_is_wrong(clerk_client: Client, wrong: dict[str, str]) -> None:
    form = {
        "customer": "Ada",
        "title": "Cups",
        "amount": "48",
        "currency": "EUR",
        "fail_checkouts": "0",
        "fail_refunds": "0",
    }
    answer = clerk_client.post("/orders/new/", {**form, **wrong})
    assert answer.status_code == 400
    assert 'class="lc-error"' in answer.content.decode()
    assert not Order.objects.exists()


def test_a_button_fires_for_the_person_who_clicked(
    clerk_client: Client, clerk: User, lifecycle: Kit, payments: FakePayments
) -> None:
    order = draft(clerk)
    assert press(clerk_client, order, "checkout", 1).status_code == 302
    lifecycle.assert_history(order, ["$create", "checkout"])
    assert order.lifecycle.history.last().actor_label == "chidi"
    page = clerk_client.get(f"/orders/{order.pk}/").content.decode()
    assert "Creating checkout" in page
    assert "create_checkout" in page


def test_a_double_click_counts_once(clerk_client: Client, clerk: User, lifecycle: Kit) -> None:
    order = draft(clerk)
    data = {"version": 1, "request_id": str(uuid.uuid4())}
    answers = [clerk_client.post(f"/orders/{order.pk}/fire/checkout/", data) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [302, 302]
    lifecycle.assert_history(order, ["$create", "checkout"])


def test_who_comes_second_is_told_who_was_first_and_keeps_what_was_typed(
    clerk_client: Client, clerk: User, admin: User, lifecycle: Kit
) -> None:
    order = OrderFactory(status="paid")
    order.lifecycle.fire("ship", actor=admin, input={"carrier": "UPS", "tracking_number": "1Z"})
    answer = press(clerk_client, order, "ship", 0, carrier="DHL", tracking_number="00340434161094021501")
    page = answer.content.decode()
    assert answer.status_code == 409
    assert "Handled by someone else, please look again." in page
    assert "ada shipped this order 0 s before you." in page
    assert "You were looking at version 0; it is now at version 1." in page
    assert "00340434161094021501" in page
    order.refresh_from_db()
    assert order.tracking_number == "1Z"


def test_what_is_missing_is_marked_in_the_form_and_nothing_is_done(clerk_client: Client) -> None:
    order = OrderFactory(status="paid")
    answer = press(clerk_client, order, "ship", 0, carrier="DHL")
    assert answer.status_code == 400
    assert "This field is required." in answer.content.decode()
    order.refresh_from_db()
    assert order.status == "paid"


def test_a_closed_button_says_why_and_its_click_meets_the_same(clerk_client: Client) -> None:
    order = OrderFactory(status="paid")
    page = clerk_client.get(f"/orders/{order.pk}/").content.decode()
    closed = re.search(r'aria-describedby="why-refund_order">Refund order</button>.*?</li></ul>', page, re.DOTALL)
    assert closed is not None
    reason = re.search(r"<span>(.*?)</span>", closed[0])
    assert reason is not None
    assert reason[1] == "You need the permission “Can refund orders”."
    answer = press(clerk_client, order, "refund_order", 0)
    assert answer.status_code == 403
    assert f"<p>{reason[1]}</p>" in answer.content.decode()
    order.refresh_from_db()
    assert order.status == "paid"


@pytest.mark.parametrize(
    ("transition", "version", "status"),
    [
        ("expire", "0", 404),
        ("payment_succeeded", "0", 404),
        ("fly", "0", 404),
        ("cancel", "", 404),
        ("cancel", "x", 404),
    ],
)
def test_what_people_may_not_fire_is_not_there(
    clerk_client: Client, transition: str, version: str, status: int
) -> None:
    order = OrderFactory(status="awaiting_payment")
    assert press(clerk_client, order, transition, version).status_code == status
    order.refresh_from_db()
    assert order.status == "awaiting_payment"


@pytest.mark.parametrize("state", [*Order.Status.values])
def test_every_state_has_a_page_and_a_list(clerk_client: Client, state: str) -> None:
    order = OrderFactory(status=state, last_error="<b>x</b>")
    page = clerk_client.get(f"/orders/{order.pk}/")
    assert page.status_code == 200
    assert "<b>x</b>" not in page.content.decode()
    assert f"/orders/{order.pk}/" in clerk_client.get(f"/?state={state}").content.decode()


def test_a_filter_that_does_not_exist_is_not_found(clerk_client: Client) -> None:
    assert clerk_client.get("/?state=lost").status_code == 404
    assert clerk_client.get("/orders/999999999999999999999/").status_code == 404


def test_a_list_costs_the_same_however_long_it_is(clerk_client: Client, django_assert_num_queries: Any) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    OrderFactory(status="paid")
    with CaptureQueriesContext(connection) as few:
        clerk_client.get("/?state=all")
    OrderFactory.create_batch(20, status="awaiting_payment")
    with django_assert_num_queries(len(few)):
        clerk_client.get("/?state=all")


def test_a_stray_payment_stands_on_the_page_and_its_refund_is_retried(
    lifecycle: Kit, payments: FakePayments, admin: User
) -> None:
    stray = StrayPaymentFactory(status="needs_attention")
    client = Client()
    client.force_login(admin)
    page = client.get(f"/orders/{stray.order.pk}/").content.decode()
    assert stray.payment_ref in page
    assert stray.reason in page
    client.post(f"/orders/{stray.order.pk}/stray/{stray.pk}/retry/", {"request_id": str(uuid.uuid4())})
    lifecycle.run_due()
    stray.refresh_from_db()
    assert stray.status == "refunded"


def test_the_provider_being_away_is_told_on_the_page(clerk_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*args: Any, **options: Any) -> None:
        raise ProviderUnavailable("503 The provider is down.")

    monkeypatch.setattr(console, "pay", away)
    order = OrderFactory(status="awaiting_payment")
    answer = clerk_client.post(f"/orders/{order.pk}/provider/pay/", {"session": "cs_1"}, follow=True)
    assert answer.status_code == 200
    assert "503 The provider is down." in answer.content.decode()


@pytest.mark.parametrize("session", ["", "../switches", "cs_1/../x", "cs 1", "cs_1?x=1"])
def test_an_id_that_could_leave_its_place_in_an_address_is_not_found(clerk_client: Client, session: str) -> None:
    order = OrderFactory(status="awaiting_payment")
    assert clerk_client.post(f"/orders/{order.pk}/provider/pay/", {"session": session}).status_code == 404


@pytest.mark.parametrize("address", ["/", "/orders/new/", "/orders/{pk}/", "/accounts/login/"])
def test_no_page_has_a_script_or_a_style_inside_it(clerk_client: Client, settings: Any, address: str) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "example_project.headers.ContentSecurityPolicy"]
    order = OrderFactory(status="paid")
    answer = clerk_client.get(address.format(pk=order.pk))
    page = answer.content.decode()
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'self';")
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", page)
    assert all('src="/static/' in tag for tag in re.findall(r"<script[^>]*>", page))
