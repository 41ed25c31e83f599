"""The list: orders by state, what is to ship, and each order's next step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from lifecycle.models import Run
from orders.lifecycles import OrderLifecycle
from orders.models import Order
from orders.web import etags, expiry, fingerprints, next_steps, to_ship
from orders.web.access import staff

S = Order.Status

CLOSED = (S.CANCELLED, S.FULFILLED, S.REFUNDED)
OPEN = [state for state in S if state not in CLOSED]
PER_PAGE = 25


@staff
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Orders by state, what is to ship, and each order's next step."""
    shown = request.GET.get("state", "open")
    if shown not in ("all", "open", *S.values):
        raise Http404
    etag = fingerprints.of_list(request.user)
    return etags.unchanged(request, etag) or etags.tagged(_list(request, shown, etag), etag)


def _list(request: HttpRequest, shown: str, etag: str) -> HttpResponse:
    counts: dict[str, int] = dict(Order.objects.order_by().values_list("status").annotate(Count("pk")))
    found = Order.objects.all()
    if shown == "open":
        found = found.filter(status__in=OPEN)
    elif shown != "all":
        found = found.filter(status=shown)
    page = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    now = timezone.now()
    return render(
        request,
        "orders/list.html",
        {
            "rows": _rows(list(page.object_list), now, request.user),
            "page": page,
            "shown": shown,
            "chips": _chips(counts),
            "open_count": sum(counts.get(state, 0) for state in OPEN),
            "refunds_count": counts.get(S.REFUND_NEEDS_ATTENTION, 0),
            "stuck_count": _stuck(),
            "to_ship": to_ship.oldest(now),
            "to_ship_shown": to_ship.SHOWN,
            "to_ship_count": counts.get(S.PAID, 0),
            "etag": etag,
            "now": now,
            "here": "to_ship" if shown == S.PAID else "list",
        },
    )


@dataclass(frozen=True, kw_only=True)
class Row:
    """One order in the list."""

    order: Order
    next_step: next_steps.NextStep | None


def _rows(orders: list[Order], now: Any, reader: Any) -> list[Row]:
    window = expiry.payment_window()
    runs: dict[str, Run] = {}
    latest = Run.objects.filter(
        lifecycle=OrderLifecycle.definition.name, record_id__in=[str(order.pk) for order in orders]
    ).order_by("id")
    for run in latest:
        runs[run.record_id] = run
    return [
        Row(order=order, next_step=next_steps.of(order, expiry.of(order, now, window), runs.get(str(order.pk)), reader))
        for order in orders
    ]


def _stuck() -> int:
    """Orders whose work was done or given up, and that nobody but an operator can move on."""
    waiting = Run.objects.filter(lifecycle=OrderLifecycle.definition.name, follow_up__in=next_steps.STUCK)
    return waiting.order_by().values("record_id").distinct().count()


def _chips(counts: Mapping[str, int]) -> list[tuple[str, Any, int]]:
    chips: list[tuple[str, Any, int]] = [
        ("all", _("All"), sum(counts.values())),
        ("open", _("Open"), sum(counts.get(state, 0) for state in OPEN)),
    ]
    return chips + [(state.value, state.label, counts.get(state.value, 0)) for state in (*OPEN, *CLOSED)]
