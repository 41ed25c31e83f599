"""Pages that ask again: unchanged ones cost one query and no page, changed ones are sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.messages import constants
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import translation

from lifecycle.models import Run
from lifecycle.runtime import create
from lifecycle.testing import Kit
from orders.factories import OrderFactory, StrayPaymentFactory
from orders.lifecycles import OrderLifecycle
from orders.models import Order
from orders.payments import ProviderUnavailable
from orders.web import console, fingerprints
from tests.orders.provider import FakePayments

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider's card is empty, and no page grows old while a test runs."""
    monkeypatch.setattr(console, "card", lambda order: console.Card())
    monkeypatch.setattr(fingerprints, "TRUSTED", 10**12)


@pytest.fixture(autouse=True)
def languages(settings: Any) -> Iterator[None]:
    """The reader's language, as on the example's site; the next test begins in the suite's own."""
    place = settings.MIDDLEWARE.index("django.contrib.sessions.middleware.SessionMiddleware") + 1
    settings.MIDDLEWARE = [
        *settings.MIDDLEWARE[:place],
        "django.middleware.locale.LocaleMiddleware",
        *settings.MIDDLEWARE[place:],
    ]
    yield
    translation.activate(settings.LANGUAGE_CODE)


def asked_again(client: Client, path: str, tag: str, **headers: str) -> Any:
    """As the page's own script asks."""
    return client.get(path, headers={"if-none-match": tag, "hx-request": "true", **headers})


def again(client: Client, path: str, tag: str) -> int:
    return int(asked_again(client, path, tag).status_code)


@pytest.fixture
def order(clerk: User, payments: FakePayments) -> Order:
    return create(Order(customer="Ada Lindqvist", title="Two espresso cups", amount_cents=4800), actor=clerk)


def test_an_unchanged_order_answers_304_with_one_query_of_its_own(clerk_client: Client, order: Order) -> None:
    path = f"/orders/{order.pk}/"
    tag = clerk_client.get(path).headers["etag"]
    with CaptureQueriesContext(connection) as asked:
        answer = asked_again(clerk_client, path, tag)
    assert (answer.status_code, answer.content) == (304, b"")
    ours = [query["sql"] for query in asked if "session" not in query["sql"] and "auth_user" not in query["sql"]]
    assert len(ours) == 1, ours


def test_a_browser_that_loads_a_page_again_gets_it_anew(clerk_client: Client, order: Order) -> None:
    for path in (f"/orders/{order.pk}/", "/"):
        answer = clerk_client.get(path, headers={"if-none-match": clerk_client.get(path).headers["etag"]})
        assert answer.status_code == 200


def test_an_unchanged_list_answers_304_with_one_query_of_its_own(clerk_client: Client, order: Order) -> None:
    tag = clerk_client.get("/").headers["etag"]
    with CaptureQueriesContext(connection) as asked:
        assert again(clerk_client, "/", tag) == 304
    assert len([query for query in asked if "session" not in query["sql"] and "auth_user" not in query["sql"]]) == 1


def test_an_entry_a_run_and_a_stray_payment_make_a_new_page(
    clerk_client: Client, order: Order, clerk: User, lifecycle: Kit
) -> None:
    path = f"/orders/{order.pk}/"

    def changed(tag: str, page: str = path) -> str:
        answer = asked_again(clerk_client, page, tag)
        assert answer.status_code == 200
        return answer.headers["etag"]

    tag, listed = (clerk_client.get(page).headers["etag"] for page in (path, "/"))
    order.lifecycle.fire(OrderLifecycle.checkout, actor=clerk)
    tag, listed = changed(tag), changed(listed, "/")
    Run.objects.update(fence=7)
    tag, listed = changed(tag), changed(listed, "/")
    StrayPaymentFactory(order=order)
    tag = changed(tag)
    OrderFactory(status="paid")  # the number beside "To ship"
    changed(tag)


def test_another_language_is_another_page(clerk_client: Client, order: Order) -> None:
    tag = clerk_client.get("/").headers["etag"]
    answer = asked_again(clerk_client, "/", tag, **{"accept-language": "de"})
    assert answer.status_code == 200
    assert '<html lang="de">' in answer.content.decode()


def test_a_page_grows_old(clerk_client: Client, order: Order, monkeypatch: pytest.MonkeyPatch) -> None:
    tag = clerk_client.get(f"/orders/{order.pk}/").headers["etag"]
    monkeypatch.setattr(fingerprints, "TRUSTED", 7)
    assert again(clerk_client, f"/orders/{order.pk}/", tag) == 200


def test_what_is_to_be_said_is_said_though_nothing_has_changed(
    clerk_client: Client, order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*args: Any, **options: Any) -> None:
        raise ProviderUnavailable("503 The provider is down.")

    monkeypatch.setattr(console, "pay", away)
    path = f"/orders/{order.pk}/"
    tag = clerk_client.get(path).headers["etag"]
    clerk_client.post(f"/orders/{order.pk}/provider/pay/", {"session": "cs_1"})
    answer = asked_again(clerk_client, path, tag)
    assert answer.status_code == 200
    assert [message.level for message in answer.context["messages"]] == [constants.ERROR]


def test_the_providers_card_comes_alone_and_only_when_it_differs(
    clerk_client: Client, order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/orders/{order.pk}/provider/"
    first = clerk_client.get(path)
    page = first.content.decode()
    assert page.startswith('<section class="shop-card shop-outside" id="provider">')
    assert again(clerk_client, path, first.headers["etag"]) == 304
    monkeypatch.setattr(console, "card", lambda order: console.Card(holding=True))
    assert "Holding events" in asked_again(clerk_client, path, first.headers["etag"]).content.decode()


def test_no_order_has_no_page_and_no_card(clerk_client: Client) -> None:
    for number in ("999", "9" * 30):
        assert clerk_client.get(f"/orders/{number}/").status_code == 404
        assert clerk_client.get(f"/orders/{number}/provider/").status_code == 404


def test_who_was_faster_with_oneself_is_told_so(clerk_client: Client, clerk: User) -> None:
    order = OrderFactory(status="paid")
    order.lifecycle.fire("ship", actor=clerk, input={"carrier": "UPS", "tracking_number": "1Z"})
    answer = clerk_client.post(
        f"/orders/{order.pk}/fire/ship/", {"version": 0, "carrier": "DHL", "tracking_number": "2"}
    )
    assert answer.status_code == 409
    assert "You did “Ship” yourself 0 s earlier, perhaps in another window." in answer.content.decode()


def test_what_was_typed_is_in_the_form_again_when_it_is_still_open(clerk_client: Client) -> None:
    order = OrderFactory(status="paid")
    answer = clerk_client.post(
        f"/orders/{order.pk}/fire/ship/", {"version": 5, "carrier": "UPS", "tracking_number": "1Z9"}
    )
    page = answer.content.decode()
    assert answer.status_code == 409
    assert 'value="1Z9"' in page
    assert "Nothing you entered was saved:" in page


def test_an_amount_is_read_as_the_language_writes_it(clerk_client: Client) -> None:
    form = {"customer": "A", "title": "B", "amount": "48,50", "currency": "EUR"}
    form |= {"fail_checkouts": "0", "fail_refunds": "0"}
    assert 'value="48,00"' in clerk_client.get("/orders/new/", headers={"accept-language": "de"}).content.decode()
    assert clerk_client.post("/orders/new/", form).status_code == 400
    assert clerk_client.post("/orders/new/", form, headers={"accept-language": "de"}).status_code == 302
    assert Order.objects.get().amount_cents == 4850


def test_the_language_is_chosen_by_a_button_and_kept(clerk_client: Client, order: Order) -> None:
    answer = clerk_client.post("/language/", {"language": "de", "next": f"/orders/{order.pk}/"}, follow=True)
    page = answer.content.decode()
    assert '<html lang="de">' in page
    assert "48,00 €" in page
