"""Operator endpoints: all runs, all definitions, whatever record they belong to."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any, ClassVar

from django.db import router
from django.utils.dateparse import parse_datetime
from django.utils.timezone import is_naive, make_aware
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from lifecycle import registry
from lifecycle.exceptions import InvalidInput, LifecycleError
from lifecycle.models import FollowUp, Run, RunStatus
from lifecycle.refusals import InputProblem
from lifecycle.rest import errors, representations
from lifecycle.rest.descriptions import describe
from lifecycle.rest.documented import Documented
from lifecycle.rest.pages import NewestFirst
from lifecycle.rest.permissions import MayOperate
from lifecycle.rest.timestamps import within_calendar
from lifecycle.store import parameters
from lifecycle.suggest import did_you_mean

_PAGES = {"cursor", "page_size", "format"}


class _OperatorView(APIView):
    """What the endpoints for operators share: their permission, and the one error body."""

    permission_classes = [MayOperate]
    schema: Any = Documented("OperatorSchema")
    endpoint: ClassVar[str]

    def handle_exception(self, exc: Exception) -> Response:
        """Every error in the one error body."""
        if isinstance(exc, LifecycleError):
            response = errors.response_to(exc)
            if response is None:
                raise exc
            response.exception = True
            return response
        response = super().handle_exception(exc)
        response.data = errors.body_of_other(exc)
        return response


class RunsView(_OperatorView):
    """``GET lifecycle/runs/``: effect runs of all lifecycles, newest first, by cursor.

    Filters, each may be repeated: ``lifecycle``, ``effect``, ``status``, ``follow_up``, ``error_code``; once each:
    ``record_id``, ``created_before``, ``created_after`` (ISO 8601). An unknown filter or value is refused, because a
    list that silently ignores one shows work that is not meant.
    """

    endpoint = "runs"
    pagination_class = NewestFirst

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One page."""
        pages = self.pagination_class()
        page: list[Run] | None = pages.paginate_queryset(_filtered(request), request, view=self)
        return pages.get_paginated_response([_row(run) for run in page or ()])


class DefinitionsView(_OperatorView):
    """``GET lifecycle/definitions/``: every lifecycle this process knows."""

    endpoint = "definitions"

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """All of them; there are as many as lifecycle classes."""
        return Response(
            [
                describe(definition, parameters.read(definition, router.db_for_read(definition.model)))
                for definition in registry.all()
            ]
        )


def _row(run: Run) -> dict[str, Any]:
    definition = registry.find(run.lifecycle)
    return {
        "lifecycle": run.lifecycle,
        "record_id": run.record_id,
        "known_effect": definition is not None and run.effect in definition.effects,
        **representations.run(run, operator=True),
    }


def _filtered(request: Request) -> Any:
    """The runs that the query string asks for.

    Raises:
        InvalidInput: a filter nobody knows, or a value that cannot be.
    """
    rows, problems = Run.objects.all(), []
    for name in request.query_params:
        if name in _PAGES:
            continue
        read = _FILTERS.get(name)
        if read is None:
            message = _("Unknown filter.") + f" {did_you_mean(name, _FILTERS)}"
            problems.append(InputProblem(field=name[:80], code="unknown_field", message=message))
            continue
        try:
            rows = rows.filter(**read(request.query_params.getlist(name)))
        except ValueError as error:
            problems.append(InputProblem(field=name, code="invalid", message=str(error)))
    if problems:
        raise InvalidInput("; ".join(str(problem) for problem in problems), problems=problems)
    return rows


def _text(name: str) -> Callable[[list[str]], dict[str, Any]]:
    def read(values: list[str]) -> dict[str, Any]:
        if any("\x00" in value for value in values):
            raise ValueError(_("Contains a NUL character."))
        return {f"{name}__in": values}

    return read


def _choice(name: str, known: list[str]) -> Callable[[list[str]], dict[str, Any]]:
    def read(values: list[str]) -> dict[str, Any]:
        for value in values:
            if value not in known:
                raise ValueError(_("Unknown value.") + f" {did_you_mean(value, known)}")
        return {f"{name}__in": values}

    return read


def _moment(lookup: str) -> Callable[[list[str]], dict[str, Any]]:
    def read(values: list[str]) -> dict[str, Any]:
        moment: dt.datetime | None = parse_datetime(values[-1])
        if moment is None:
            raise ValueError(_("Expected a date and time, such as 2030-01-31T12:00:00Z."))
        return {lookup: within_calendar(make_aware(moment, dt.UTC) if is_naive(moment) else moment)}

    return read


_FILTERS: dict[str, Callable[[list[str]], dict[str, Any]]] = {
    "lifecycle": _text("lifecycle"),
    "record_id": _text("record_id"),
    "effect": _text("effect"),
    "error_code": _text("error_code"),
    "status": _choice("status", [str(value) for value in RunStatus.values]),
    "follow_up": _choice("follow_up", [str(value) for value in FollowUp.values]),
    "created_before": _moment("created_at__lt"),
    "created_after": _moment("created_at__gt"),
}
