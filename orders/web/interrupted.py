"""Interrupted: a click that came when the session was over, and what had been filled in, kept until the next log-in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse

KEPT = "interrupted"
# Nobody is logged in while it is kept, and no form of ours has more than this.
MOST_FIELDS, MOST_CHARACTERS = 20, 500
NOT_FILLED_IN = frozenset({"csrfmiddlewaretoken", "version", "request_id", "reader", "next"})


@dataclass(frozen=True, kw_only=True)
class Interrupted:
    """The transition of the button, if it was one's, and the fields of its form."""

    transition: str
    given: dict[str, str]


def log_in_first(request: HttpRequest) -> HttpResponseRedirect:
    """To the log-in, and from there to a page that can be looked at; an address that only takes clicks cannot."""
    page = _page(request)
    if request.method == "POST":
        _keep(request, page)
    return redirect_to_login(page)


def given_back(request: HttpRequest) -> Interrupted | None:
    """What this reader was interrupted in on this page, once; nothing of another person's."""
    kept: Any = request.session.get(KEPT)
    if not kept or kept["page"] != request.path:
        return None
    del request.session[KEPT]
    if kept["reader"] != str(request.user.pk):
        return None
    return Interrupted(transition=kept["transition"], given=kept["given"])


def _keep(request: HttpRequest, page: str) -> None:
    given = {name: value[:MOST_CHARACTERS] for name, value in request.POST.items() if name not in NOT_FILLED_IN}
    request.session[KEPT] = {
        "page": page,
        "reader": request.POST.get("reader", "")[:MOST_CHARACTERS],
        "transition": request.resolver_match.kwargs.get("transition", "") if request.resolver_match else "",
        "given": dict(list(given.items())[:MOST_FIELDS]),
    }


def _page(request: HttpRequest) -> str:
    match = request.resolver_match
    if match is not None and "pk" in match.kwargs:
        return reverse("orders:detail", kwargs={"pk": match.kwargs["pk"]})
    return request.path if request.method == "POST" else request.get_full_path()
