"""The shop's pages: list, new order, one order, and what its buttons do."""

from __future__ import annotations

import functools
import hashlib
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.cache import get_conditional_response
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe
from django.views.defaults import page_not_found

from lifecycle.exceptions import Conflict, InvalidInput, Refused, RequestReused
from lifecycle.models import EffectRun
from lifecycle.runtime import create
from orders.lifecycles import OrderLifecycle, StrayPaymentLifecycle
from orders.models import Order, StrayPayment
from orders.payments import ProviderRefused, ProviderUnavailable
from orders.web import conflicts, console, expiry, fingerprints, interrupted, next_steps, pages
from orders.web.forms import NewOrderForm
from orders.web.pages import Notice
from orders.web.reasons import said

S = Order.Status

CLOSED = (S.CANCELLED, S.FULFILLED, S.REFUNDED)
OPEN = [state for state in S if state not in CLOSED]
PER_PAGE = 25
TO_SHIP_SHOWN = 10
LATE = timedelta(days=1)  # who has paid waits no longer for the parcel to leave
NOT_INPUT = frozenset({"csrfmiddlewaretoken", "version", "request_id", "reader"})


def staff(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Only people who work here; who asks for something that is not there is shown the way back."""

    @functools.wraps(view)
    def guarded(request: HttpRequest, **arguments: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            return interrupted.log_in_first(request)
        if not request.user.is_staff:
            raise PermissionDenied
        try:
            return view(request, **arguments)
        except Http404 as missing:  # by our own page also while developing
            return page_not_found(request, missing)

    return guarded


def clicked(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Only a form of the order's page; who comes by the address alone is led to that page."""

    @functools.wraps(view)
    def guarded(request: HttpRequest, **arguments: Any) -> HttpResponse:
        if request.method != "POST":
            return redirect("orders:detail", pk=arguments["pk"])
        return view(request, **arguments)

    return guarded


# The list ---------------------------------------------------------------------------------------


@staff
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Orders by state, what is to ship, and each order's next step."""
    shown = request.GET.get("state", "open")
    if shown not in ("all", "open", *S.values):
        raise Http404
    etag = fingerprints.of_list(request.user)
    return _unchanged(request, etag) or _with_tag(_list(request, shown, etag), etag)


def _list(request: HttpRequest, shown: str, etag: str) -> HttpResponse:
    counts: dict[str, int] = dict(Order.objects.order_by().values_list("status").annotate(Count("pk")))
    found = Order.objects.all()
    if shown == "open":
        found = found.filter(status__in=OPEN)
    elif shown != "all":
        found = found.filter(status=shown)
    page = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    now = timezone.now()
    to_ship = Order.objects.filter(status=S.PAID).order_by("status_changed_at", "pk")[:TO_SHIP_SHOWN]
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
            "stuck_count": _stuck(),
            "to_ship": [(order, now - (order.status_changed_at or order.created_at) > LATE) for order in to_ship],
            "to_ship_shown": TO_SHIP_SHOWN,
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


def _rows(orders: list[Order], now: Any) -> list[Row]:
    window = expiry.payment_window()
    runs: dict[str, EffectRun] = {}
    latest = EffectRun.objects.filter(
        lifecycle=OrderLifecycle.definition.name, record_id__in=[str(order.pk) for order in orders]
    ).order_by("id")
    for run in latest:
        runs[run.record_id] = run
    return [
        Row(order=order, next_step=next_steps.of(order, expiry.of(order, now, window), runs.get(str(order.pk))))
        for order in orders
    ]


def _stuck() -> int:
    """Orders whose work was done or given up, and that nobody but an operator can move on."""
    waiting = EffectRun.objects.filter(lifecycle=OrderLifecycle.definition.name, follow_up__in=next_steps.STUCK)
    return waiting.order_by().values("record_id").distinct().count()


def _chips(counts: Mapping[str, int]) -> list[tuple[str, Any, int]]:
    chips: list[tuple[str, Any, int]] = [
        ("all", _("All"), sum(counts.values())),
        ("open", _("Open"), sum(counts.get(state, 0) for state in OPEN)),
    ]
    return chips + [(state.value, state.label, counts.get(state.value, 0)) for state in (*OPEN, *CLOSED)]


def _unchanged(request: HttpRequest, etag: str | None) -> HttpResponse | None:
    """304 when the page itself asks again and has not changed; one with something to say is always sent.

    A browser that loads a page again shows what it has kept after a 304, with clocks that begin where they did then.
    """
    if etag is None or "HX-Request" not in request.headers or len(messages.get_messages(request)):
        return None
    answer = get_conditional_response(request, etag=etag)
    return answer if answer is not None and answer.status_code == 304 else None


def _with_tag(response: HttpResponse, etag: str | None) -> HttpResponse:
    if etag is not None:
        response.headers["ETag"] = etag
    response.headers["Cache-Control"] = "private, no-cache"
    return response


# A new order ------------------------------------------------------------------------------------


@staff
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """A new order, begun through the runtime; sending the form twice makes one."""
    before = interrupted.given_back(request) if request.method == "GET" else None
    form = NewOrderForm(request.POST or None, initial=before.given if before else None)
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
        {
            "form": form,
            "interrupted": before,
            "request_id": _new_request_id(),
            "to_ship_count": _to_ship_count(),
            "here": "new",
        },
        status=400 if form.errors else 200,
    )


# One order --------------------------------------------------------------------------------------


@staff
@require_safe
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    """Where the order is, what can be done, what happened, what is pending."""
    etag = _fingerprint(pk, request)
    return _unchanged(request, etag) or _with_tag(_looked_at(request, _order(pk), etag), etag)


def _looked_at(request: HttpRequest, order: Order, etag: str | None) -> HttpResponse:
    """The page; for who had to log in between filling in a form and pressing its button, with the form as it was."""
    before = interrupted.given_back(request) if "HX-Request" not in request.headers else None
    if before is None:
        return _page(request, order, etag=etag)
    edge = OrderLifecycle.definition.transitions.get(before.transition)
    typed = _typed(edge.form, before.given) if edge is not None else []
    sentences = [_("Nothing was done: press the button again.")]
    if typed:
        sentences.append(_("What you had filled in:"))
    notice = Notice(title=_("You had to log in again."), sentences=sentences, typed=typed)
    bound = {before.transition: edge.form(initial=before.given)} if edge is not None and edge.form else {}
    return _page(request, order, etag=etag, notice=notice, bound=bound)


@staff
@require_safe
def provider_card(request: HttpRequest, pk: int) -> HttpResponse:
    """The provider's card alone: what is outside our system changes without telling us."""
    order = _order(pk)
    card = console.card(order)
    etag = f'W/"{hashlib.sha256(repr((card, order.pk, get_language())).encode()).hexdigest()[:24]}"'
    return _unchanged(request, etag) or _with_tag(
        render(request, "orders/provider.html", {"order": order, "card": card}), etag
    )


@staff
@clicked
def fire(request: HttpRequest, pk: int, transition: str) -> HttpResponse:
    """Fires a transition for the person who clicked, on the version they were looking at."""
    order = _order(pk)
    edge = OrderLifecycle.definition.transitions.get(transition)
    version = _whole(request.POST.get("version"))
    if edge is None or not edge.manual or version is None:
        raise Http404
    given = {name: str(value) for name, value in request.POST.items() if name not in NOT_INPUT}
    typed = _typed(edge.form, given)
    again = {transition: edge.form(initial=given)} if edge.form and typed else {}
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
        told = conflicts.sentences(order, version, request.user)
        if typed:
            told.append(_("Nothing you entered was saved:"))
        notice = Notice(title=_("Handled by someone else, please look again."), sentences=told, typed=typed)
        return _page(request, order, notice=notice, bound=again, status=409)
    except InvalidInput as error:
        bound = edge.form(given) if edge.form else None
        sentences = [] if bound is not None and bound.errors else [str(problem) for problem in error.problems]
        notice = Notice(title=_("Please correct what is marked."), sentences=sentences, tone="danger")
        return _page(request, order, notice=notice, bound={transition: bound}, status=400)
    except Refused as error:
        sentences = [said(refusal) for refusal in error.refusals]
        notice = Notice(title=_("Not done."), sentences=sentences, typed=typed, tone="danger")
        status = 403 if isinstance(error, PermissionDenied) else 409
        return _page(request, order, notice=notice, bound=again, status=status)
    return redirect(order)


@staff
@clicked
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
@clicked
def provider(request: HttpRequest, pk: int, what: str) -> HttpResponse:
    """Presses one of the provider's buttons for the demo: pay, decline, hold, deliver."""
    order = _order(pk)
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
            cents = int(Decimal(amount.strip().replace(",", ".")) * 100)
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
    etag: str | None = None,
    notice: Notice | None = None,
    bound: Mapping[str, Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    shown = {
        **pages.facts(order, request.user, bound or {}),
        "etag": etag or _fingerprint(order.pk, request),
        "notice": notice,
        "request_id": _new_request_id(),
        "to_ship_count": _to_ship_count(),
    }
    return render(request, "orders/detail.html", shown, status=status)


def _order(pk: int) -> Order:
    try:
        return get_object_or_404(Order, pk=pk)
    except OverflowError:  # a number no order can have
        raise Http404 from None


def _fingerprint(pk: int, request: HttpRequest) -> str | None:
    try:
        return fingerprints.of_order(pk, request.user)
    except OverflowError:
        return None


def _to_ship_count() -> int:
    return Order.objects.filter(status=S.PAID).count()


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
