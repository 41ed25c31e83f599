"""Sample: orders in every kind of state and of trouble, each brought there as people and the provider would do it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from lifecycle.exceptions import LifecycleError
from lifecycle.operations import set_parameter
from lifecycle.runtime import create
from orders.lifecycles import OrderLifecycle
from orders.models import Order
from orders.payments import ProviderRefused, ProviderUnavailable
from orders.web import console

S = Order.Status

# Nothing expires while people read; one order has expired before.
SOON, LATER = timedelta(seconds=3), timedelta(hours=12)

# What is done with an order: between two steps it yields the state that it waits for.
Steps = Generator[str, None, None]
Wait = Callable[[str, Callable[[], Any], float], Any]


@dataclass(frozen=True, kw_only=True)
class People:
    """Who works in the shop."""

    admin: Any
    clerk: Any


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One order, and what becomes of it."""

    customer: str
    title: str
    cents: int
    steps: Callable[[Order, People], Steps]
    demo: dict[str, int] = field(default_factory=dict)


def make(people: People, wait: Wait) -> None:
    """Begins all orders at once and brings each where it belongs; workers do their part meanwhile.

    Args:
        wait: waits until a probe's answer is true: what for, the probe, and for how many seconds at most.
    """
    begun = [(_begin(sample, people), sample) for sample in SAMPLES]
    _let_one_expire(begun, people, wait)
    under_way = {order.pk: sample.steps(order, people) for order, sample in begun if sample.steps is not expired}
    wanted: dict[int, str] = dict.fromkeys(under_way, S.DRAFT)

    def all_arrived() -> bool:
        states = dict(Order.objects.filter(pk__in=wanted).values_list("pk", "status"))
        for pk in [pk for pk, state in wanted.items() if states[pk] == state]:
            following = _next(under_way[pk])
            if following is None:
                del wanted[pk]
            else:
                wanted[pk] = following
        return not wanted

    with suppress(TimeoutError):  # somebody has taken an order elsewhere, and may keep it there
        wait("the sample orders", all_arrived, 120)


def _next(steps: Steps) -> str | None:
    try:
        return next(steps, None)
    except (LifecycleError, ProviderRefused, ProviderUnavailable):  # somebody at the pages was faster
        return None


def _begin(sample: Sample, people: People) -> Order:
    order = Order(customer=sample.customer, title=sample.title, amount_cents=sample.cents, **sample.demo)
    return create(order, actor=people.clerk, input={"title": sample.title, "amount_cents": sample.cents})


def _let_one_expire(begun: list[tuple[Order, Sample]], people: People, wait: Wait) -> None:
    """Lets the order that nobody pays expire while no other waits for its payment."""
    order, sample = next(one for one in begun if one[1].steps is expired)
    _window(SOON, people, "One sample order is to expire.")
    try:
        for _ in sample.steps(order, people):  # to be cancelled
            wait("the order that expires", lambda: _fresh(order).status == S.CANCELLED, 60)
    finally:
        _window(LATER, people, "Nothing expires while you look around. Make it shorter to see orders expire.")


def _window(length: timedelta, people: People, reason: str) -> None:
    set_parameter(OrderLifecycle, "payment_window", length, actor=people.admin, reason=reason)


# What becomes of orders -----------------------------------------------------------------------------


def draft(order: Order, people: People) -> Steps:
    """Nobody has pressed Pay."""
    yield from ()


def expired(order: Order, people: People) -> Steps:
    """The customer never paid."""
    _fire(order, "checkout", people.clerk)
    yield S.CANCELLED


def awaiting(order: Order, people: People) -> Steps:
    _fire(order, "checkout", people.clerk)
    yield S.AWAITING_PAYMENT


def checkout_failed(order: Order, people: People) -> Steps:
    """The provider was down three times."""
    _fire(order, "checkout", people.clerk)
    yield S.PAYMENT_FAILED


def declined(order: Order, people: People) -> Steps:
    """The customer's bank said no."""
    yield from awaiting(order, people)
    console.decline(_session(order))
    yield S.PAYMENT_FAILED


def second_round(order: Order, people: People) -> Steps:
    """Declined, and asked to pay again."""
    yield from declined(order, people)
    yield from awaiting(order, people)


def wrong_amount(order: Order, people: People) -> Steps:
    """The customer paid another amount; that money goes back, and the order waits on."""
    yield from awaiting(order, people)
    console.pay(_session(order), amount_cents=order.amount_cents - 100)


def paid(order: Order, people: People) -> Steps:
    yield from awaiting(order, people)
    console.pay(_session(order))
    yield S.PAID


def paid_twice(order: Order, people: People) -> Steps:
    """The customer had two windows open; the second payment goes back."""
    yield from paid(order, people)
    console.pay(_session(order), again=True)


def shipped(order: Order, people: People) -> Steps:
    yield from paid(order, people)
    _fire(order, "ship", people.clerk, carrier="UPS", tracking_number="1Z 999 AA1 01 2345 6784")
    yield S.FULFILLED


def refund_failed(order: Order, people: People) -> Steps:
    """The provider was down three times when the money was to go back."""
    yield from paid(order, people)
    _fire(order, "refund_order", people.admin)
    yield S.REFUND_NEEDS_ATTENTION


def cancelled_while_paid(order: Order, people: People) -> Steps:
    """The payment's event is held back; whoever presses Deliver sees the money go back."""
    yield from awaiting(order, people)
    console.hold(order, True)
    console.pay(_session(order))
    _fire(order, "cancel", people.clerk)
    yield S.CANCELLED


def refunded(order: Order, people: People) -> Steps:
    """The customer paid in the moment of the cancelling, and has the money back."""
    yield from cancelled_while_paid(order, people)
    console.deliver(console.card(order).events[0]["id"])
    yield S.REFUNDED


SAMPLES = [
    Sample(customer="Sam Reed", title="Tea pot", cents=5800, steps=draft),
    Sample(customer="Marta Silva", title="Walnut reading lamp", cents=12900, steps=awaiting),
    Sample(customer="Jonas Weber", title="Linen apron", cents=3650, steps=awaiting, demo={"fail_checkouts": 2}),
    Sample(customer="Priya Nair", title="Cast-iron pan", cents=8900, steps=checkout_failed, demo={"fail_checkouts": 3}),
    Sample(customer="Tomás Ruiz", title="Umbrella stand", cents=4450, steps=expired),
    Sample(customer="Nils Berg", title="Reading chair", cents=38900, steps=refund_failed, demo={"fail_refunds": 3}),
    Sample(customer="Ada Lindqvist", title="Two espresso cups", cents=4800, steps=second_round),
    Sample(customer="Omar Haddad", title="Floor mirror", cents=16900, steps=paid_twice),
    Sample(customer="Lea Roth", title="Wool blanket", cents=7900, steps=paid),
    Sample(customer="Kofi Mensah", title="Bread knife", cents=2600, steps=shipped),
    Sample(customer="Ines Duarte", title="Cable organiser", cents=3200, steps=declined),
    Sample(customer="Yuki Tanaka", title="Picture frame", cents=5400, steps=cancelled_while_paid),
    Sample(customer="Greta Olsen", title="Oak stool", cents=9800, steps=refunded),
    Sample(customer="Ravi Patel", title="Bookends", cents=4700, steps=wrong_amount),
]


def _fire(order: Order, transition: str, actor: Any, **given: str) -> None:
    _fresh(order).lifecycle.fire(transition, actor=actor, input=given or None)


def _session(order: Order) -> str:
    return _fresh(order).payment_session_id


def _fresh(order: Order) -> Order:
    return Order.objects.get(pk=order.pk)
