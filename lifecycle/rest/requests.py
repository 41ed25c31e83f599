"""Request: what a caller may send to each endpoint, checked as a whole before anything is asked of the runtime."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ValidationError as DjangoValidationError
from django.http import QueryDict
from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError
from rest_framework.fields import SkipField
from rest_framework.request import Request

from lifecycle.exceptions import InvalidInput
from lifecycle.models import OperatorAction
from lifecycle.refusals import InputProblem
from lifecycle.rest.bodies import Body, length, read_data
from lifecycle.runtime.deciding.inputs import CHOKED


@dataclass(frozen=True, kw_only=True)
class FireRequest:
    """``{transition, input, request_id, expect_version}``, the headers that say the same already merged in."""

    transition: str
    input: Mapping[str, Any] = field(default_factory=dict)
    request_id: str | None = None
    expect_version: int | None = None


@dataclass(frozen=True, kw_only=True)
class OperatorRequest:
    """``{reason, force}`` of an operator who acts on a run."""

    reason: str = ""
    force: bool = False


def read_fire(request: Request) -> FireRequest:
    """What to fire.

    Raises:
        InvalidInput: with every problem of the body and its headers.
    """
    body = Body(request, known=("transition", "input", "request_id", "expect_version"))
    transition = body.text("transition", required=True)
    given = body.mapping("input")
    request_id = body.agree("request_id", body.request_id("request_id"), "Idempotency-Key", body.key_header())
    expected = body.agree("expect_version", body.version("expect_version"), "If-Match", body.version_header())
    body.finish()
    return FireRequest(transition=transition or "", input=given, request_id=request_id, expect_version=expected)


def read_operator(request: Request, *, force: bool) -> OperatorRequest:
    """Why, and whether by force (where the operator action knows force)."""
    body = Body(request, known=("reason", "force") if force else ("reason",))
    reason = body.text("reason", longest=length(OperatorAction, "reason")) or ""
    forced = body.flag("force") if force else False
    body.finish()
    return OperatorRequest(reason=reason, force=forced)


def read_creation(
    request: Request, *, known: Iterable[str], owned: Iterable[str], ignored: Iterable[str]
) -> tuple[dict[str, Any] | QueryDict, str | None]:
    """A new record's data without the request id, and the request id.

    Args:
        known: the serializer's writable fields.
        owned: the columns only transitions write; naming one is refused, not ignored.
        ignored: the serializer's read-only fields, ignored as DRF ignores them.
    """
    known, ignored = set(known), set(ignored)
    body = Body(request, known=known | {"request_id"}, ignored=ignored, forbidden=set(owned) - known)
    request_id = None
    if "request_id" not in known:
        request_id = body.request_id("request_id")
    request_id = body.agree("request_id", request_id, "Idempotency-Key", body.key_header())
    body.finish()
    if "request_id" in known:
        return body.data, request_id
    data = body.data.copy()
    data.pop("request_id", None)
    return data, request_id


def validate(serializer: Any, data: Any) -> None:
    """Validates a new record's data; a field that chokes on what JSON can say is a problem of the data.

    Raises:
        ValidationError: DRF's, as ever.
        InvalidInput: naming the fields whose own reading failed with something else than a complaint.
    """
    try:
        serializer.is_valid(raise_exception=True)
    except CHOKED:
        problems = list(_choking(serializer, data))
        if not problems:
            raise
        raise InvalidInput("; ".join(str(problem) for problem in problems), problems=problems) from None


def _choking(serializer: Any, data: Any) -> Iterator[InputProblem]:
    for one in serializer.fields.values():
        if one.read_only:
            continue
        try:
            one.run_validation(one.get_value(data))
        except (ValidationError, DjangoValidationError, SkipField):
            continue
        except CHOKED:
            yield InputProblem(field=one.field_name, code="invalid", message=_("Enter a valid value."))


def refuse_owned(request: Request, owned: Iterable[str], shown: Mapping[str, Any]) -> None:
    """Refuses an edit of columns that only transitions write; a whole record sent back as it was read passes.

    Args:
        owned: the columns.
        shown: the record as the endpoint shows it.

    Raises:
        InvalidInput: naming each such column.
    """
    data = read_data(request)
    if not isinstance(data, Mapping):
        return  # the serializer's to refuse
    problems = [
        InputProblem(field=name, code="owned", message=_("Only transitions write this column; leave it out."))
        for name in owned
        if name in data and (name not in shown or str(data[name]) != str(shown[name]))
    ]
    if problems:
        raise InvalidInput("; ".join(str(problem) for problem in problems), problems=problems)
