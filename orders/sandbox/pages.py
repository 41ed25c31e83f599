"""The provider's hosted checkout page: where a customer pays or is declined."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from orders.sandbox import provider
from orders.sandbox.errors import ProviderError
from orders.sandbox.models import Session

WORDS: dict[str, Any] = {
    Session.Status.OPEN: _("open"),
    Session.Status.PAID: _("paid"),
    Session.Status.DECLINED: _("declined"),
    Session.Status.EXPIRED: _("expired"),
}


@require_http_methods(["GET", "POST"])
def checkout(request: HttpRequest, session_id: str) -> HttpResponse:
    """Shows the session; POST pays or declines it. Whoever knows the unguessable id may, as with any hosted page."""
    session = Session.objects.filter(pk=session_id).first()
    if session is None:
        return _page(request, status=404)
    refused = ""
    if request.method == "POST":
        try:
            if request.POST.get("do") == "decline":
                provider.decline(session_id)
            else:
                provider.pay(session_id)
            return redirect("sandbox:checkout", session_id=session_id)
        except ProviderError as error:
            refused = error.message
            session.refresh_from_db()
    return _page(
        request,
        session=session,
        amount=session.amount_cents / 100,
        status_word=WORDS.get(session.status, session.status),
        refused=refused,
        status=409 if refused else 200,
    )


def _page(request: HttpRequest, *, status: int, **facts: Any) -> HttpResponse:
    """The page, always with the way back to where the customer came from."""
    merchant = settings.SANDBOX.get("MERCHANT_URL", "/")
    return render(request, "sandbox/checkout.html", {"merchant": merchant, **facts}, status=status)
