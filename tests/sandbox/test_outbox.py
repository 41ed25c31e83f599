"""Events are told until somebody listens."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from django.utils import timezone

from orders.sandbox import outbox, provider
from orders.sandbox.models import Delivery, Event
from orders.webhook import signatures
from tests.sandbox.conftest import SECRET, Api

pytestmark = pytest.mark.django_db


class Merchant:
    """A server that answers what it is told to, and keeps what came."""

    def __init__(self) -> None:
        self.answers: list[int] = []
        self.came: list[tuple[dict[str, str], bytes]] = []
        merchant = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                merchant.came.append(({name.lower(): value for name, value in self.headers.items()}, body))
                self.send_response(merchant.answers.pop(0) if merchant.answers else 200)
                self.end_headers()
                self.wfile.write(b'{"outcome": "applied"}')

            def log_message(self, *args: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(5)


@pytest.fixture
def merchant(settings: Any) -> Iterator[Merchant]:
    listening = Merchant()
    settings.SANDBOX = {**settings.SANDBOX, "WEBHOOK_URL": listening.url}
    yield listening
    listening.close()


def paid(api: Api) -> Event:
    provider.pay(api.open_session().json()["id"])
    return Event.objects.get()


def make_due() -> None:
    Event.objects.update(next_try_at=timezone.now() - timedelta(seconds=1))


def test_an_event_is_delivered_signed_with_what_happened(api: Api, merchant: Merchant) -> None:
    event = paid(api)
    assert outbox.deliver_due() == 1
    ((headers, body),) = merchant.came
    assert signatures.verify(headers, body, [SECRET], timezone.now().timestamp()) == event.id
    told = json.loads(body)
    assert told["type"] == "payment.succeeded"
    assert told["data"]["reference"] == "order-1"
    assert told["data"]["metadata"] == {"payment_attempt": 1}
    assert (told["data"]["amount_cents"], told["data"]["currency"]) == (4800, "EUR")
    event.refresh_from_db()
    assert event.status == "delivered"
    assert Delivery.objects.get().answer == {"outcome": "applied"}
    assert outbox.deliver_due() == 0


def test_what_fails_is_delivered_again_byte_for_byte_after_growing_pauses(api: Api, merchant: Merchant) -> None:
    merchant.answers = [503, 500]
    event = paid(api)
    pauses = []
    for _ in range(3):
        outbox.deliver_due()
        event.refresh_from_db()
        pauses.append(round((event.next_try_at - timezone.now()).total_seconds()))
        assert outbox.deliver_due() == 0
        make_due()
    assert pauses[:2] == [1, 2]
    assert event.status == "delivered"
    assert len({body for _, body in merchant.came}) == 1
    assert [delivery.status_code for delivery in Delivery.objects.order_by("id")] == [503, 500, 200]


def test_nobody_there_is_written_down_and_given_up_after_the_last_try(api: Api) -> None:
    event = paid(api)
    for _ in range(outbox.LAST_TRY + 1):
        outbox.deliver_due()
        make_due()
    event.refresh_from_db()
    assert (event.status, event.tries) == ("failed", outbox.LAST_TRY)
    assert all(delivery.status_code is None and delivery.error for delivery in Delivery.objects.all())


def test_a_held_event_waits_to_be_delivered_by_hand(api: Api, merchant: Merchant) -> None:
    api("PUT", "references/order-1/hold", {"hold": True})
    event = paid(api)
    assert event.status == "held"
    assert outbox.deliver_due() == 0
    answer = api("POST", f"events/{event.id}/deliver")
    assert (answer.json()["status"], answer.json()["delivery"]["status_code"]) == ("delivered", 200)
    api("POST", f"events/{event.id}/deliver")
    assert len(merchant.came) == 2
    api("PUT", "references/order-1/hold", {"hold": False})
    assert not api("GET", "events?reference=order-1").json()["holding"]


def test_while_secrets_are_rotated_both_sign(api: Api, merchant: Merchant, settings: Any) -> None:
    settings.SANDBOX = {**settings.SANDBOX, "WEBHOOK_SECRETS": ["whsec_bmV3", SECRET]}
    paid(api)
    outbox.deliver_due()
    headers, body = merchant.came[0]
    for known in (["whsec_bmV3"], [SECRET]):
        signatures.verify(headers, body, known, timezone.now().timestamp())
