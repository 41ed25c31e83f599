"""The provider's hosted checkout page: where a customer pays or is declined."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from orders.sandbox import provider
from orders.sandbox.errors import ProviderError
from orders.sandbox.models import Session


@require_http_methods(["GET", "POST"])
def checkout(request: HttpRequest, session_id: str) -> HttpResponse:
    """Shows the session; POST pays or declines it. Whoever knows the unguessable id may, as with any hosted page."""
    session = Session.objects.filter(pk=session_id).first()
    if session is None:
        raise Http404
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
    return render(
        request,
        "sandbox/checkout.html",
        {"session": session, "amount": session.amount_cents / 100, "refused": refused},
        status=409 if refused else 200,
    )
