"""Fingerprint: what a page was made from, told by one query, so that a page that asks again is made anew only then."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Count, Max, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import JSONObject
from django.utils import timezone
from django.utils.translation import get_language

from lifecycle.models import Run, TransitionLog
from orders.lifecycles import OrderLifecycle
from orders.models import Order, StrayPayment

# Guards may ask for more than these rows hold, and pages say how long ago something was: after so many seconds a page
# is made anew even if no row has changed.
TRUSTED = 30


def of_order(pk: int, reader: Any) -> str | None:
    """The fingerprint of an order's page for one reader; None when there is no such order."""
    runs = Run.objects.filter(lifecycle=OrderLifecycle.definition.name, record_id=str(pk)).order_by()
    strays = StrayPayment.objects.filter(order=OuterRef("pk")).order_by()
    row = (
        Order.objects.filter(pk=pk)
        .annotate(
            seen_runs=Subquery(
                runs.values("record_id")
                .annotate(seen=JSONObject(n=Count("id"), at=Max("updated_at"), fences=Sum("fence")))
                .values("seen")
            ),
            seen_strays=Subquery(
                strays.values("order")
                .annotate(seen=JSONObject(n=Count("id"), versions=Sum("lifecycle_version")))
                .values("seen")
            ),
            to_ship=_to_ship(),
        )
        .values_list("lifecycle_version", "status", "seen_runs", "seen_strays", "to_ship")
        .first()
    )
    return None if row is None else _digest(row, reader)


def of_list(reader: Any) -> str:
    """The fingerprint of every list of orders for one reader.

    The ends of two primary keys and the runs that are moving, each by an index: nothing here grows with the number of
    orders.
    """
    row = (
        TransitionLog.objects.order_by("-id")
        .annotate(
            last_run=Subquery(Run.objects.order_by("-id").values("id")[:1]),
            queued=_moving(status="queued"),
            running=_moving(lease_until__isnull=False),
        )
        .values_list("id", "last_run", "queued", "running")
        .first()
    )
    return _digest(row, reader)


def _moving(**which: Any) -> Subquery:
    runs = Run.objects.filter(lifecycle=OrderLifecycle.definition.name, **which).order_by().values("lifecycle")
    return Subquery(
        runs.annotate(seen=JSONObject(n=Count("id"), at=Max("updated_at"), fences=Sum("fence"))).values("seen")
    )


def _to_ship() -> Subquery:
    paid: QuerySet[Any] = Order.objects.filter(status=Order.Status.PAID).order_by()
    return Subquery(paid.values("status").annotate(n=Count("pk")).values("n"))


def _digest(facts: Any, reader: Any) -> str:
    moment = int(timezone.now().timestamp()) // TRUSTED
    told = json.dumps([facts, str(reader.pk), get_language(), moment], cls=DjangoJSONEncoder)
    return f'W/"{hashlib.sha256(told.encode()).hexdigest()[:24]}"'
