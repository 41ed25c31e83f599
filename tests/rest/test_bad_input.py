"""Every endpoint that writes × every kind of nonsense: the documented status, the one error body, nothing written."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from lifecycle import SYSTEM
from lifecycle.models import Run
from lifecycle.runtime import create, fire
from tests.rest.conftest import assert_error, client_of
from tests.support.models import Ticket

pytestmark = pytest.mark.django_db

ENDPOINTS = {
    "create": ("/api/tickets/", {"title": "Smoke"}),
    "fire": ("/api/tickets/{ticket}/fire/", {"transition": "touch"}),
    "retry": ("/api/tickets/{ticket}/runs/{run}/retry/", {}),
    "continue": ("/api/tickets/{ticket}/runs/{run}/continue/", {}),
    "cancel": ("/api/tickets/{ticket}/runs/{run}/cancel/", {}),
}
FORM = "application/x-www-form-urlencoded"
BOUNDARY = "multipart/form-data; boundary=x"


def part(name: str, value: str) -> str:
    return f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'


# kind: body (given the endpoint's good one), content type, status
KINDS: dict[str, tuple[Callable[[dict[str, Any]], Any], str, int]] = {
    "an unknown field": (lambda good: json.dumps({**good, "nonsense": 1}), "application/json", 400),
    "a list": (lambda good: json.dumps([good]), "application/json", 400),
    "a string": (lambda good: '"ask"', "application/json", 400),
    "null": (lambda good: "null", "application/json", 400),
    "half of it": (lambda good: '{"transition": ', "application/json", 400),
    "no number": (lambda good: '{"reason": NaN, "title": NaN}', "application/json", 400),
    "no UTF-8": (lambda good: b'{"reason": "\xff"}', "application/json", 400),
    "a NUL": (lambda good: json.dumps({**good, "reason": "\x00", "title": "\x00"}), "application/json", 400),
    "half a character": (lambda good: '{"title": "\\ud800", "reason": "\\ud800"}', "application/json", 400),
    "a deep nest": (lambda good: "[" * 100_000, "application/json", 400),
    "a deep object": (lambda good: '{"title":' * 500 + "1" + "}" * 500, "application/json", 400),
    "a huge number": (lambda good: '{"title": 1' + "0" * 5000 + "}", "application/json", 400),
    "megabytes of JSON": (lambda good: json.dumps({**good, "reason": "x" * 3_000_000}), "application/json", 413),
    "megabytes of form": (lambda good: "reason=" + "x" * 3_000_000, FORM, 413),
    "megabytes of parts": (lambda good: part("reason", "x" * 3_000_000) + "--x--\r\n", BOUNDARY, 413),
    "thousands of fields": (lambda good: "&".join(f"f{number}=1" for number in range(2000)), FORM, 400),
    "thousands of parts": (
        lambda good: "".join(part(f"f{number}", "1") for number in range(1500)) + "--x--\r\n",
        BOUNDARY,
        400,
    ),
    "parts without a boundary": (lambda good: "--x", "multipart/form-data", 400),
    "XML": (lambda good: "<a/>", "application/xml", 415),
    "text": (lambda good: "ask", "text/plain", 415),
    "no content type": (lambda good: "ask", "nonsense", 415),
    "an unknown charset": (lambda good: json.dumps({**good, "nonsense": 1}), "application/json; charset=klingon", 400),
}


@pytest.fixture
def records(db: None) -> dict[str, Any]:
    ticket = create(Ticket(), actor=SYSTEM)
    fire(ticket, "solve", actor=SYSTEM, input={"answer": "x"})
    [run] = fire(ticket, "reopen", actor=SYSTEM).runs
    return {"ticket": ticket.pk, "run": run.pk}


@pytest.fixture
def root(db: None) -> APIClient:
    return client_of(User.objects.create_superuser("root"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_nonsense_is_answered_and_changes_nothing(
    records: dict[str, Any], root: APIClient, unchanged: Callable[[], Any], endpoint: str, kind: str
) -> None:
    address, good = ENDPOINTS[endpoint]
    make, content_type, status = KINDS[kind]
    body, before = make(good), unchanged()
    body = body if isinstance(body, bytes) else body.encode()
    response = root.generic("POST", address.format(**records), body, content_type=content_type)
    assert response.status_code == status, response.content
    assert_error(response, status, response.json()["code"])
    assert unchanged() == before


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_an_answer_nobody_renders_is_not_acceptable(
    records: dict[str, Any], root: APIClient, unchanged: Callable[[], Any], endpoint: str
) -> None:
    address, good = ENDPOINTS[endpoint]
    before = unchanged()
    response = root.post(address.format(**records), good, format="json", headers={"Accept": "image/png"})
    assert_error(response, 406, "not_acceptable")
    assert unchanged() == before


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_what_is_sent_right_is_done(records: dict[str, Any], root: APIClient, endpoint: str) -> None:
    """Else the table above would prove nothing."""
    address, good = ENDPOINTS[endpoint]
    if endpoint == "retry":
        Run.objects.update(status="failed", outcome="failed", attempts=1)
    elif endpoint == "continue":
        Run.objects.update(status="succeeded", outcome="succeeded", follow_up="abandoned")
    assert root.post(address.format(**records), good, format="json").status_code in (200, 201)


@pytest.mark.parametrize("endpoint", ["create", "fire"])
def test_a_projects_own_limit_of_bodies_counts_for_json_too(
    records: dict[str, Any], root: APIClient, settings: Any, unchanged: Callable[[], Any], endpoint: str
) -> None:
    """DRF reads JSON from the stream, where Django's limit does not see it."""
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    address, good = ENDPOINTS[endpoint]
    before = unchanged()
    response = root.post(address.format(**records), {**good, "note": "x" * 2000}, format="json")
    assert_error(response, 413, "body_too_large")
    assert unchanged() == before
    assert root.post(address.format(**records), good, format="json").status_code in (200, 201)
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = None
    assert root.post("/api/tickets/", {"title": "x", "note": "x" * 100}, format="json").status_code == 201


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_nonsense_that_the_csrf_check_meets_first_is_answered_too(
    records: dict[str, Any], unchanged: Callable[[], Any], endpoint: str
) -> None:
    """Looking for the token in a form reads the form, before any endpoint is asked."""
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(User.objects.create_superuser("root"))
    client.cookies["csrftoken"] = "t" * 32
    before = unchanged()
    form = "&".join(f"f{number}=1" for number in range(2000)).encode()
    response = client.generic("POST", ENDPOINTS[endpoint][0].format(**records), form, content_type=FORM)
    assert_error(response, 400, "parse_error")
    assert unchanged() == before
