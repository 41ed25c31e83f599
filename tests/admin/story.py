"""A shop in the middle of a day: runs of every kind, made by the machinery itself."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Permission, User

from lifecycle import Actor
from lifecycle.models import Run
from lifecycle.runtime import create, register_guard
from lifecycle.testing import Kit
from orders.models import Order
from orders.payments import ProviderRefused, ProviderUnavailable

PROVIDER = Actor("webhook:sandbox", label="Sandbox provider")


class Story:
    """The shop's people, its provider, and orders brought where a test needs them."""

    def __init__(self, lifecycle: Kit, payments: Any) -> None:
        self.kit = lifecycle
        self.payments = payments
        self.boss = User.objects.create_superuser("ben", password="x")
        self.days_closed = False
        self.guards: list[Any] = []

    # People -----------------------------------------------------------------------------------------

    def person(self, name: str, *permissions: str, staff: bool = True) -> User:
        """Somebody with these permissions (``app.codename``)."""
        user = User.objects.create_user(name, password="x", is_staff=staff)
        for permission in permissions:
            app, codename = permission.split(".")
            user.user_permissions.add(Permission.objects.get(content_type__app_label=app, codename=codename))
        return User.objects.get(pk=user.pk)

    def operator(self, name: str = "olga") -> User:
        """Works in the admin: sees orders, operates, may refund."""
        return self.person(name, "lifecycle.operate", "orders.view_order", "orders.refund_order")

    def viewer(self, name: str = "vic") -> User:
        """Sees everything, does nothing."""
        names = ["run", "transitionlog", "triggerhold", "operatoraction"]
        return self.person(name, "orders.view_order", *(f"lifecycle.view_{one}" for one in names))

    # Orders -----------------------------------------------------------------------------------------

    def draft(self, title: str = "Floor mirror", cents: int = 16400, **values: Any) -> Order:
        made = Order(**{"customer": "Omar Haddad", **values}, title=title, amount_cents=cents)
        order: Order = create(made, actor=self.boss, input={"title": title, "amount_cents": cents})
        return order

    def awaiting(self, title: str = "Reading chair", **values: Any) -> Order:
        order = self.draft(title, **values)
        order.lifecycle.fire("checkout", actor=self.boss)
        return self._settled(order)

    def paid(self, title: str = "Walnut reading lamp", **values: Any) -> Order:
        order = self.awaiting(title, **values)
        self.kit.travel(seconds=40)
        facts = {"payment_ref": f"pay_{order.pk}"}
        order.lifecycle.fire("payment_succeeded", actor=PROVIDER, input=facts, request_id=f"sandbox:evt_{order.pk}")
        return order

    def refunding(self, title: str = "Cast-iron pan", **values: Any) -> Order:
        """Its refund is pending and not started."""
        order = self.paid(title, **values)
        order.lifecycle.fire("refund_order", actor=self.boss, reason="sent back by the customer")
        return order

    def refund_failed(self, title: str = "Oak stool") -> Order:
        """Three attempts failed; it needs attention."""
        order = self.refunding(title)
        self.payments.trouble = [ProviderUnavailable("502 Bad gateway")] * 3
        self.kit.run_due(retries=True)
        order.refresh_from_db()
        return order

    def refund_declined(self, title: str = "Linen apron") -> Order:
        """The provider said no for good."""
        order = self.refunding(title)
        self.payments.trouble = [ProviderRefused("card_closed", "The card was closed")]
        self.kit.run_due()
        order.refresh_from_db()
        return order

    def follow_up_refused(self, title: str = "Reading chair", times: int = 1) -> Order:
        """Refunded at the provider; the record must not know it before the accounting day is open."""
        order = self.refunding(title)
        self.close_the_day()
        self.kit.run_due()
        run = self.run_of(order, "orders.refund")
        while run.follow_up == "pending" and run.follow_up_tries < times:
            self.kit.travel(hours=1, minutes=1)
            self.kit.tick()
            run.refresh_from_db()
        order.refresh_from_db()
        return order

    def queued(self, title: str = "Tea pot") -> Order:
        """Its checkout is pending and not started."""
        order = self.draft(title)
        order.lifecycle.fire("checkout", actor=self.boss)
        return order

    def held(self, title: str = "Two espresso cups") -> Order:
        """Its time ran out while nothing may be cancelled."""
        order = self.awaiting(title)
        self.close_the_day("expire")
        self.kit.travel(minutes=4)
        self.kit.tick()
        return order

    # The accounting day -----------------------------------------------------------------------------

    def close_the_day(self, transition: str = "refunded") -> None:
        def day_open(ctx: Any) -> Any:
            return True if not self.days_closed else "The accounting day is being closed."

        self.days_closed = True
        self.guards.append(register_guard("orders", transition, day_open))

    def open_the_day(self) -> None:
        self.days_closed = False

    # Looking ----------------------------------------------------------------------------------------

    def run_of(self, order: Order, effect: str) -> Run:
        found: Run = Run.objects.filter(record_id=str(order.pk), effect=effect).latest("id")
        return found

    def close(self) -> None:
        for remove in self.guards:
            remove()

    def _settled(self, order: Order) -> Order:
        self.kit.run_due()
        order.refresh_from_db()
        return order
