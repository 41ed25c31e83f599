"""Error body: one JSON body for every error, and the HTTP status of each of the library's errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils.translation import gettext as _
from rest_framework import exceptions as drf
from rest_framework.response import Response
from rest_framework.views import exception_handler as drf_exception_handler
from rest_framework.views import set_rollback

from lifecycle import exceptions as ours
from lifecycle.refusals import Refusal

# The most specific class first. A class that is not here is a bug of the server and stays a 500.
STATUSES: tuple[tuple[type[ours.LifecycleError], int], ...] = (
    (ours.PermissionRefused, 403),
    (ours.Refused, 409),
    (ours.Conflict, 409),
    (ours.HistoryAhead, 409),
    (ours.RequestReused, 422),
    (ours.InvalidInput, 400),
    (ours.InvalidPayload, 400),
    (ours.UnknownState, 400),
    (ours.StateWriteRefused, 400),
    (ours.UnknownTransition, 404),
    (ours.UnknownLifecycle, 404),
    (ours.RecordNotFound, 404),
    (ours.RunSettled, 409),
    (ours.RunBusy, 409),
    (ours.NothingToContinue, 409),
    (ours.UnknownEffect, 409),
    (ours.UnknownFlow, 404),
    (ours.FlowIdInUse, 409),
    (ours.FlowEnded, 409),
    (ours.NobodyWaits, 409),
)


def status_of(error: ours.LifecycleError) -> int | None:
    """The HTTP status of an error, or None when it is a bug of the server that must stay one."""
    return next((status for cls, status in STATUSES if isinstance(error, cls)), None)


def shown(refusals: Iterable[Refusal]) -> tuple[Refusal, ...]:
    """The refusals a caller may read.

    Who may not fire at all is told only that: the reasons of the guards are business of those who may.
    """
    refusals = tuple(refusals)
    denied = tuple(refusal for refusal in refusals if refusal.kind == "permission")
    return denied or refusals


def body(
    detail: Any, code: str, *, refusals: Iterable[Mapping[str, Any]] = (), problems: Iterable[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """The one error body."""
    return {"detail": str(detail), "code": code, "refusals": list(refusals), "problems": list(problems)}


def body_of(error: ours.LifecycleError) -> dict[str, Any]:
    """The error body of one of the library's errors."""
    told = shown(error.refusals)
    detail: Any = error
    if len(told) < len(error.refusals):  # the sentence may quote what is not to be told
        detail = " ".join(str(refusal.message) for refusal in told)
    problems = [problem.as_dict() for problem in error.problems if hasattr(problem, "as_dict")]
    if not problems and isinstance(error, ours.InvalidPayload):
        problems = [{"field": "input", "code": error.code, "message": str(error)}]
    if not problems and isinstance(error, ours.StateWriteRefused):
        problems = [{"field": error.field or "", "code": error.code, "message": str(error)}]
    return body(detail, error.code, refusals=[refusal.as_dict() for refusal in told], problems=problems)


def body_of_other(error: Exception) -> dict[str, Any]:
    """The error body of an error of the framework: not found, not logged in, malformed, throttled, …"""
    if isinstance(error, Http404):
        error = drf.NotFound()
    elif isinstance(error, PermissionDenied):
        error = drf.PermissionDenied()
    if isinstance(error, drf.ValidationError):
        problems = list(problems_in(error.detail, error.get_codes()))
        return body(_sentence(problems), ours.InvalidInput.code, problems=problems)
    detail = getattr(error, "detail", str(error))
    code = getattr(detail, "code", None) or getattr(error, "default_code", "error")
    return body(detail, str(code))


def problems_in(detail: Any, codes: Any, path: str = "") -> Iterator[dict[str, Any]]:
    """What a DRF ``ValidationError`` says, flat: ``items.0.name`` for what is wrong deep inside."""
    if isinstance(detail, Mapping):
        for key, inner in detail.items():  # of a list's items, by their number
            name = "" if key == "non_field_errors" else str(key)
            yield from problems_in(inner, codes[key], ".".join(filter(None, (path, name))))
    elif isinstance(detail, (list, tuple)):
        for index, inner in enumerate(detail):
            nested = isinstance(inner, (Mapping, list, tuple))
            yield from problems_in(inner, codes[index], f"{path}.{index}".lstrip(".") if nested else path)
    else:
        yield {"field": path, "code": str(codes), "message": str(detail)}


def _sentence(problems: list[dict[str, Any]]) -> str:
    told = [f"{p['field']}: {p['message']}" if p["field"] else p["message"] for p in problems]
    return "; ".join(told) or _("The request does not fit.")


def response_to(error: ours.LifecycleError) -> Response | None:
    """The answer to one of the library's errors, or None when it is a bug of the server."""
    status = status_of(error)
    if status is None:
        return None
    set_rollback()  # as DRF does: under ATOMIC_REQUESTS nothing of a refused request is kept
    return Response(body_of(error), status=status)


def exception_handler(exc: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's exception handler, which also knows the library's errors: for refusals raised in your own views.

    ``REST_FRAMEWORK = {"EXCEPTION_HANDLER": "lifecycle.rest.exception_handler"}``, or call it first in your own
    handler. `LifecycleViewSetMixin` does not need it.
    """
    if isinstance(exc, ours.LifecycleError):
        return response_to(exc)
    return drf_exception_handler(exc, context)
