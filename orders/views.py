"""The shop's pages: list, new order, one order, and what its buttons do."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from lifecycle.exceptions import Conflict, InvalidInput, Refused, RequestReused
from lifecycle.models import EffectRun
from lifecycle.runtime import create
from orders import console, expiry, turns
from orders.durations import spoken
from orders.forms import NewOrderForm
from orders.lifecycles import OrderLifecycle, StrayPaymentLifecycle
from orders.models import Order, StrayPayment
from orders.payments import ProviderRefused, ProviderUnavailable

S = Order.Status

OPEN = [state for state in S if state not in (S.CANCELLED, S.FULFILLED, S.REFUNDED)]
PER_PAGE = 25
NOT_INPUT = frozenset({"csrfmiddlewaretoken", "version", "request_id"})


def staff(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Only people who work here."""

    @login_required
    @functools.wraps(view)
    def guarded(request: HttpRequest, **arguments: Any) -> HttpResponse:
        if not request.user.is_staff:
            raise PermissionDenied
        return view(request, **arguments)

    return guarded


# The list ---------------------------------------------------------------------------------------


@staff
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Orders by state, what is to ship, and whose turn each is."""
    counts: dict[str, int] = dict(Order.objects.order_by().values_list("status").annotate(Count("pk")))
    shown = request.GET.get("state", "open")
    if shown not in ("all", "open", *S.values):
        raise Http404
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
            "rows": _rows(list(page.object_list), now),
            "page": page,
            "shown": shown,
            "chips": _chips(counts),
            "open_count": sum(counts.get(state, 0) for state in OPEN),
            "refunds_count": counts.get(S.REFUND_NEEDS_ATTENTION, 0),
            "to_ship": Order.objects.filter(status=S.PAID).order_by("status_changed_at", "pk")[:10],
            "now": now,
            **_everywhere("to_ship" if shown == S.PAID else "list"),
        },
    )


@dataclass(frozen=True, kw_only=True)
class Row:
    """One order in the list."""

    order: Order
    turn: turns.Turn | None


def _rows(orders: list[Order], now: Any) -> list[Row]:
    window = expiry.payment_window()
    runs: dict[str, EffectRun] = {}
    latest = EffectRun.objects.filter(
        lifecycle=OrderLifecycle.definition.name, record_id__in=[str(order.pk) for order in orders]
    ).order_by("id")
    for run in latest:
        runs[run.record_id] = run
    return [
        Row(order=order, turn=turns.of(order, expiry.of(order, now, window), runs.get(str(order.pk))))
        for order in orders
    ]


def _chips(counts: Mapping[str, int]) -> list[tuple[str, Any, int]]:
    chips: list[tuple[str, Any, int]] = [
        ("all", _("All"), sum(counts.values())),
        ("open", _("Open"), sum(counts.get(state, 0) for state in OPEN)),
    ]
    return chips + [(value, label, counts.get(value, 0)) for value, label in S.choices]


def _everywhere(here: str = "") -> dict[str, Any]:
    return {"here": here, "to_ship_count": Order.objects.filter(status=S.PAID).count()}


# A new order ------------------------------------------------------------------------------------


@staff
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """A new order, begun through the runtime; sending the form twice makes one."""
    form = NewOrderForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        order = form.order()
        try:
            order = create(
                order,
                actor=request.user,
                input={"title": order.title, "amount_cents": order.amount_cents, "currency": order.currency},
                request_id=_request_id(request),
            )
        except InvalidInput as error:
            for problem in error.problems:
                form.add_error(problem.field if problem.field in form.fields else None, str(problem.message))
        else:
            return redirect(order)
    return render(
        request,
        "orders/new.html",
        {"form": form, "request_id": _new_request_id(), **_everywhere("new")},
        status=400 if form.errors else 200,
    )


# One order --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Notice:
    """What became of a click that did nothing, and what had been typed."""

    title: str
    sentences: list[str]
    typed: list[tuple[Any, Any]]
    tone: str = "waiting"


@staff
@require_safe
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    """Where the order is, what can be done, what happened, what is owed."""
    return _page(request, get_object_or_404(Order, pk=pk))


@staff
@require_POST
def fire(request: HttpRequest, pk: int, transition: str) -> HttpResponse:
    """Fires a transition for the person who clicked, on the version they were looking at."""
    order = get_object_or_404(Order, pk=pk)
    edge = OrderLifecycle.definition.transitions.get(transition)
    version = _whole(request.POST.get("version"))
    if edge is None or not edge.manual or version is None:
        raise Http404
    given = {name: str(value) for name, value in request.POST.items() if name not in NOT_INPUT}
    typed = _typed(edge.form, given)
    try:
        order.lifecycle.fire(
            transition,
            actor=request.user,
            input=given,
            request_id=_request_id(request),
            expect_version=version,
            manual=True,
        )
    except (Conflict, RequestReused):
        return _page(request, order, notice=_someone_else(order, version, typed), status=409)
    except InvalidInput as error:
        bound = edge.form(given) if edge.form else None
        sentences = [] if bound is not None and bound.errors else [str(problem) for problem in error.problems]
        notice = Notice(title=_("Please correct what is marked."), sentences=sentences, typed=[], tone="danger")
        return _page(request, order, notice=notice, bound={transition: bound}, status=400)
    except Refused as error:
        sentences = [str(refusal.message) for refusal in error.refusals]
        notice = Notice(title=_("Not done."), sentences=sentences, typed=typed, tone="danger")
        return _page(request, order, notice=notice, status=403 if isinstance(error, PermissionDenied) else 409)
    return redirect(order)


@staff
@require_POST
def retry_stray_refund(request: HttpRequest, pk: int, stray: int) -> HttpResponse:
    """Asks the provider once more to give a stray payment back."""
    found = get_object_or_404(StrayPayment, pk=stray, order=pk)
    try:
        found.lifecycle.fire(
            StrayPaymentLifecycle.retry_refund, actor=request.user, request_id=_request_id(request), manual=True
        )
    except (Refused, Conflict, RequestReused) as error:
        messages.error(request, str(error))
    return redirect("orders:detail", pk=pk)


@staff
@require_POST
def provider(request: HttpRequest, pk: int, what: str) -> HttpResponse:
    """Presses one of the provider's buttons for the demo: pay, decline, hold, deliver."""
    order = get_object_or_404(Order, pk=pk)
    press = BUTTONS.get(what)
    if press is None:
        raise Http404
    try:
        press(order, request)
    except (ProviderRefused, ProviderUnavailable) as error:
        messages.error(request, _("Payment provider: %(what)s") % {"what": error})
    return redirect(order)


def _pay(order: Order, request: HttpRequest) -> None:
    amount = request.POST.get("amount", "")
    cents: int | None = None
    if amount:
        try:
            cents = int(Decimal(amount) * 100)
        except (InvalidOperation, ValueError, OverflowError):
            raise ProviderRefused("INVALID_REQUEST", _("That is no amount.")) from None
    console.pay(_session(request), amount_cents=cents, again=request.POST.get("again") == "1")


def _decline(order: Order, request: HttpRequest) -> None:
    console.decline(_session(request))


def _hold(order: Order, request: HttpRequest) -> None:
    console.hold(order, request.POST.get("hold") == "1")


def _deliver(order: Order, request: HttpRequest) -> None:
    console.deliver(_word(request, "event"))


BUTTONS: dict[str, Callable[[Order, HttpRequest], None]] = {
    "pay": _pay,
    "decline": _decline,
    "hold": _hold,
    "deliver": _deliver,
}


def _session(request: HttpRequest) -> str:
    return _word(request, "session")


def _word(request: HttpRequest, name: str) -> str:
    """A provider's id from the form; anything that could leave its place in an address is not found."""
    value = request.POST.get(name, "")
    if not value.isascii() or not value.replace("_", "").isalnum():
        raise Http404
    return value


# Parts of the order's page ------------------------------------------------------------------------


def _page(
    request: HttpRequest,
    order: Order,
    *,
    notice: Notice | None = None,
    bound: Mapping[str, Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    view = order.lifecycle.view(actor=request.user)
    now = timezone.now()
    attempts = EffectRun.objects.filter(pk__in=[run.pk for run in view.runs]).prefetch_related("attempt_rows")
    tries = {run.pk: list(run.attempt_rows.all()) for run in attempts}
    return render(
        request,
        "orders/detail.html",
        {
            "order": view.record,
            "view": view,
            "notice": notice,
            "expiry": expiry.of(view.record, now, expiry.payment_window()),
            "final": OrderLifecycle.definition.states[view.state].final,
            "actions": [_action(item, bound or {}) for item in view.available if item.allowed],
            "closed": [item for item in view.available if not item.allowed],
            "waits": turns.WAITS.get(view.state, []),
            "elsewhere": _elsewhere(view.state),
            "history": _history(view.history),
            "runs": [(run, tries.get(run.pk, [])) for run in view.runs],
            "owed": sum(run.status in ("queued", "running") for run in view.runs),
            "strays": list(view.record.stray_payments.all()),
            "card": console.card(view.record),
            "request_id": _new_request_id(),
            "now": now,
            **_everywhere(),
        },
        status=status,
    )


def _action(item: Any, bound: Mapping[str, Any]) -> dict[str, Any]:
    form = bound.get(item.name)
    if form is None and item.form is not None:
        form = item.form()
    targets = [OrderLifecycle.definition.states[target] for target in item.targets]
    return {"item": item, "form": form, "targets": targets}


def _elsewhere(state: str) -> list[tuple[Any, list[Any]]]:
    """The manual transitions that do not start here, and where they do; the states in the order people learn them."""
    definition = OrderLifecycle.definition
    return [
        (edge.label, [known.label for name, known in definition.states.items() if name in edge.sources])
        for edge in definition.transitions.values()
        if edge.manual and state not in edge.sources
    ]


def _history(entries: list[Any]) -> list[tuple[Any, str, str]]:
    """Newest first; with each entry how long the stay before it was, and in which state."""
    rows = []
    for entry, before in zip(entries, [*entries[1:], None], strict=False):
        stay = spoken(entry.at - before.at) if before is not None else ""
        rows.append((entry, stay, before.target if before is not None else ""))
    return rows


def _someone_else(order: Order, seen: int, typed: list[tuple[Any, Any]]) -> Notice:
    order = Order.objects.get(pk=order.pk)
    latest = order.lifecycle.history.last()
    sentences = []
    if latest is not None and latest.version != seen:
        edge = OrderLifecycle.definition.transitions.get(latest.transition)
        sentences.append(
            _("%(who)s: “%(what)s”, %(ago)s ago. You were looking at version %(seen)s; it is now at version %(now)s.")
            % {
                "who": latest.actor_label or latest.actor_id,
                "what": edge.label if edge else latest.transition,
                "ago": spoken(timezone.now() - latest.at),
                "seen": seen,
                "now": latest.version,
            }
        )
    if typed:
        sentences.append(_("Nothing you entered was saved:"))
    return Notice(title=_("Handled by someone else, please look again."), sentences=sentences, typed=typed)


def _typed(form: Any, given: Mapping[str, str]) -> list[tuple[Any, Any]]:
    fields = form().fields if form is not None else {}
    return [(fields[name].label or name if name in fields else name, value) for name, value in given.items() if value]


def _request_id(request: HttpRequest) -> str | None:
    """The page's own key, so that a double click counts once; one we did not make is no key."""
    try:
        return f"page:{uuid.UUID(request.POST.get('request_id', ''))}"
    except ValueError:
        return None


def _new_request_id() -> str:
    return str(uuid.uuid4())


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 18 else None
