"""Schemathesis asks each endpoint what its description permits and what it does not: no 500, no undocumented answer."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from django.test import Client
from django.urls import is_valid_path
from hypothesis import HealthCheck, Phase, given, settings, strategies
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi import checks as said

from lifecycle import SYSTEM
from lifecycle.runtime import create, fire
from orders.factories import OrderFactory
from tests.conftest import PASS
from tests.rest.description import described
from tests.support.models import Parcel, Ticket

pytestmark = pytest.mark.django_db

# PostgreSQL, which takes the least of what can be said, is asked everything; SQLite the first of it.
EXAMPLES = 3 if PASS == "first" else 8
CHECKS = [
    not_a_server_error,
    said.status_code_conformance,
    said.content_type_conformance,
    said.response_schema_conformance,
    said.response_headers_conformance,
]
OURS = re.compile(r"^POST /api/\w+/$|/(lifecycle|fire|history|runs|retry|continue|cancel|definitions)/$")
URLS = {"support": "tests.rest.urls", "orders": "example_project.urls"}
LEFT_OUT = {
    "support": ("/converted/", "/api/picky/", "/api/parcels-listed/"),  # others' endpoints, spelled in another way
    "orders": ("/api/schema/", "/api/lifecycle/"),  # drf-spectacular's own; the lists for operators
}

Record = Callable[[str], dict[str, Any]]


@pytest.fixture
def call(settings: Any, db: None) -> Iterator[Callable[[Any], Any]]:
    """Sends a case as a superuser with a session, and forgets what it did."""
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    token = secrets.token_hex(16)
    cookies = {name: morsel.value for name, morsel in client.cookies.items()} | {"csrftoken": token}

    def send(case: Any) -> Any:
        with transaction.atomic():
            response = case.call(cookies=cookies, headers={"X-CSRFToken": token})
            transaction.set_rollback(True)
        return response

    # A request that is over closes its connection, unless Django's own test client sent it.
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield send
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def existing(db: None) -> Record:
    """The path parameters of something that is there."""
    parcel = create(Parcel(), actor=SYSTEM)
    runs = {"parcels": fire(parcel, "send", actor=SYSTEM).runs[0].pk}
    order = OrderFactory()
    runs["orders"] = fire(order, "checkout", actor=SYSTEM).runs[0].pk
    ids = {"parcels": str(parcel.pk), "orders": order.pk}
    ticket = create(Ticket(), actor=SYSTEM)

    def parameters(path: str) -> dict[str, Any]:
        kind = path.split("/")[2]
        found = {"id": ids.get(kind, ticket.pk), "run": runs.get(kind, 1)}
        return {name: value for name, value in found.items() if f"{{{name}}}" in path}

    return parameters


@pytest.mark.parametrize(("project", "endpoints"), [("support", 38), ("orders", 11)])
def test_no_question_breaks_a_endpoint_and_every_answer_is_documented(
    call: Callable[[Any], Any], existing: Record, settings: Any, project: str, endpoints: int
) -> None:
    if project == "orders":
        from example_project.settings import REST_FRAMEWORK

        settings.REST_FRAMEWORK = REST_FRAMEWORK
    settings.ROOT_URLCONF = URLS[project]
    schema = schemathesis.openapi.from_dict(described(URLS[project]))
    schema.app = WSGIHandler()
    asked, wrong = 0, []
    for path, methods in schema.items():
        if path.startswith(LEFT_OUT[project]):
            continue
        here = existing(path)
        for method in methods:
            cases = [
                methods[method].as_strategy(generation_mode=mode, path_parameters=parameters)
                for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
                for parameters in ([here, None] if here else [None])
            ]
            asked += 1
            # What the project's own list answers is the project's business; that it answers is ours.
            checks = CHECKS if project == "orders" or OURS.search(methods[method].label) else [not_a_server_error]
            try:
                ask(strategies.one_of(cases), call, checks)
            except (Exception, FailureGroup) as error:  # noqa: BLE001 - told below, with all others
                wrong.append(f"{method.upper()} {path}: {error!r}\n{error}")
    assert not wrong, "\n\n".join(wrong)
    assert asked == endpoints


def ask(cases: Any, call: Callable[[Any], Any], checks: list[Any]) -> None:
    """Some cases, the same ones each time."""

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(case=cases)
    def each(case: Any) -> None:
        # An address that leads to no endpoint is answered by Django itself.
        led = is_valid_path(unquote(case.formatted_path))
        case.validate_response(call(case), checks=checks if led else [not_a_server_error])

    each()
