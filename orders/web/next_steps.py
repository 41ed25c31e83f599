"""NextStep: what happens next with an order, and who has to do it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext_lazy as _

from lifecycle.models import Run
from orders.models import Order
from orders.web.expiry import Expiry

S = Order.Status

# Follow-ups that wait for somebody.
STUCK = ("pending", "abandoned")
SOON = dt.timedelta(seconds=30)


@dataclass(frozen=True, kw_only=True)
class NextStep:
    """One line of the list's last column."""

    what: Any
    who: Any
    tone: str
    icon: str
    permission: str = ""  # what "you" need for it
    expiry: Expiry | None = None  # what the clock in ``what`` counts down to, where there is one


def of(order: Order, expiry: Expiry | None, run: Run | None, reader: Any) -> NextStep | None:
    """The next thing, and whether it is the reader's; None when there is nothing more to do."""
    if run is not None and run.follow_up in STUCK:
        refunded = run.effect == "orders.refund"
        what: Any = _("Refund done, follow-up refused") if refunded else _("Done, follow-up refused")
        return NextStep(what=what, who=_("an operator"), tone="danger", icon="warn")
    if run is not None and run.status == "dead":
        what = _("%(effect)s was given up") % {"effect": short(run.effect)}
        return NextStep(what=what, who=_("an operator"), tone="danger", icon="bolt")
    if expiry is not None:
        tone = "danger" if expiry.left < SOON else "waiting"
        return NextStep(what=_("Expires in %(left)s"), who=_("the customer"), tone=tone, icon="clock", expiry=expiry)
    if order.status in (S.CREATING_CHECKOUT, S.REFUNDING) and run is not None:
        return NextStep(what=working(run), who=_("the system"), tone="progress", icon="half")
    step = FIXED.get(order.status)
    if step is not None and step.permission and not reader.has_perm(step.permission):
        return replace(step, who=_("a colleague"))
    return step


FIXED: Mapping[str, NextStep] = {
    S.DRAFT: NextStep(what=_("Pay"), who=_("the customer"), tone="neutral", icon="dot"),
    S.PAID: NextStep(what=_("Ship"), who=_("you"), tone="progress", icon="truck", permission="orders.ship_order"),
    S.REFUND_NEEDS_ATTENTION: NextStep(
        what=_("Retry the refund"), who=_("you"), tone="danger", icon="undo", permission="orders.refund_order"
    ),
    S.CREATING_CHECKOUT: NextStep(what=_("Creating the checkout"), who=_("the system"), tone="progress", icon="half"),
    S.REFUNDING: NextStep(what=_("Refunding"), who=_("the system"), tone="progress", icon="half"),
}

# What the card beside the title says about a stay without a limit.
STANDING: Mapping[str, Any] = {
    S.DRAFT: _("in Draft, waiting for somebody to press Pay"),
    S.CREATING_CHECKOUT: _("in Creating checkout, the provider is asked"),
    S.PAID: _("in Paid, waiting to be shipped"),
    S.CANCELLED: _("in Cancelled, nothing is left to do"),
    S.REFUNDING: _("in Refunding, the provider is asked"),
    S.REFUND_NEEDS_ATTENTION: _("in Refund needs attention, waiting for a person"),
}

# What an order waits for besides the people who look at it: who, and what then.
WAITS: dict[str, list[tuple[Any, Any]]] = {
    S.CREATING_CHECKOUT: [
        (_("The system"), _("opens a checkout → Awaiting payment, or cannot → Payment failed")),
        (_("The customer"), _("may already have paid → Paid")),
    ],
    S.AWAITING_PAYMENT: [(_("The customer"), _("pays → Paid, or is declined → Payment failed"))],
    S.PAYMENT_FAILED: [(_("The customer"), _("may have paid an earlier checkout → Paid"))],
    S.CANCELLED: [(_("The customer"), _("may have paid; that money is given back → Refunding"))],
    S.REFUNDING: [(_("The system"), _("gives the money back → Refunded, or cannot → Refund needs attention"))],
}


def working(run: Run) -> str:
    """``create_checkout, attempt 1 of 3``."""
    number = run.attempts + run.crashes + 1
    if run.max_attempts is not None:
        number = min(number, run.max_attempts + run.crashes)
    return _("%(effect)s, attempt %(number)s of %(most)s") % {
        "effect": short(run.effect),
        "number": number,
        "most": run.max_attempts,
    }


def short(effect: str) -> str:
    """The effect's name without the app's."""
    return effect.removeprefix("orders.")
