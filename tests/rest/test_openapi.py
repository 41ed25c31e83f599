"""The description of the endpoints in OpenAPI, by drf-spectacular."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import extend_schema, extend_schema_view
from jsonschema import Draft202012Validator
from rest_framework.routers import DefaultRouter
from rest_framework.test import APIClient

from lifecycle.rest.openapi.dialect import for_openapi, sample
from tests.rest.description import REST_FRAMEWORK, described, resolved
from tests.rest.support import TicketViewSet

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def api_schema() -> dict[str, Any]:
    return described()


def operation(schema: dict[str, Any], path: str, method: str) -> dict[str, Any]:
    found: dict[str, Any] = schema["paths"][path][method]
    return found


def body(schema: dict[str, Any], path: str) -> dict[str, Any]:
    content = operation(schema, path, "post")["requestBody"]["content"]
    return resolved(schema, content["application/json"]["schema"])


# Valid and quiet ---------------------------------------------------------------------------------


@pytest.mark.once
@pytest.mark.parametrize("version", ["3.0.3", "3.1.1"])
def test_the_description_of_the_endpoints_is_valid_and_nothing_is_warned_of(version: str, tmp_path: Path) -> None:
    run_spectacular(tmp_path, "tests.rest.description", {"LIFECYCLE_OPENAPI": version})


@pytest.mark.once
def test_the_examples_description_is_valid_and_nothing_is_warned_of(tmp_path: Path) -> None:
    run_spectacular(tmp_path, "example_project.settings", {"EXAMPLE_DATA_DIR": str(tmp_path)})


def run_spectacular(folder: Path, settings: str, environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "django", "spectacular", "--validate", "--fail-on-warn"]
    done = subprocess.run(
        [*command, "--file", str(folder / "schema.yml")],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "DJANGO_SETTINGS_MODULE": settings, **environment},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    assert (folder / "schema.yml").stat().st_size > 1000


@pytest.mark.once
def test_nothing_of_drf_spectacular_is_loaded_for_a_project_without_it() -> None:
    code = (
        "import sys, django, tests.settings; del tests.settings.REST_FRAMEWORK; django.setup();"
        "import tests.rest.urls; from tests.rest.support import TicketViewSet as V;"
        "V.schema; V().schema; sys.exit([name for name in sys.modules if 'spectacular' in name])"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "DJANGO_SETTINGS_MODULE": "tests.settings"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 1  # sys.exit of a list
    assert done.stderr.strip() == "[]"


# What it says ------------------------------------------------------------------------------------


def test_operation_ids_are_stable_and_say_what_is_done(api_schema: dict[str, Any]) -> None:
    found = {
        one["operationId"]
        for path, methods in api_schema["paths"].items()
        for one in methods.values()
        if path.startswith("/api/tickets/")
    }
    assert found == {
        "api_tickets_list",
        "api_tickets_retrieve",
        "api_tickets_create",
        "api_tickets_lifecycle_definition",
        "api_tickets_lifecycle",
        "api_tickets_fire",
        "api_tickets_history",
        "api_tickets_runs",
        "api_tickets_run_retry",
        "api_tickets_run_continue",
        "api_tickets_run_cancel",
    }


def test_a_fire_has_one_schema_per_transition_told_apart_by_its_name(api_schema: dict[str, Any]) -> None:
    """jacobh/drf-fsm-transitions #12, 27medkamal/djangorestframework-fsm #5, #6: not in Swagger, no input."""
    union = body(api_schema, "/api/tickets/{id}/fire/")
    assert union["discriminator"]["propertyName"] == "transition"
    assert set(union["discriminator"]["mapping"]) == {"ask", "solve", "escalate", "touch", "reopen", "triage"}
    assert [one["$ref"] for one in union["oneOf"]] == list(union["discriminator"]["mapping"].values())
    solve = resolved(api_schema, {"$ref": union["discriminator"]["mapping"]["solve"]})
    assert solve["required"] == ["transition", "input"]
    assert solve["properties"]["input"] == {
        "type": "object",
        "properties": {
            "answer": {"type": "string", "maxLength": 500},
            "priority": {"type": "integer", "minimum": 0, "maximum": 9},
        },
        "required": ["answer"],
        "additionalProperties": False,
    }


def test_the_systems_own_transitions_are_not_offered(api_schema: dict[str, Any]) -> None:
    assert "TicketsFireClose" not in api_schema["components"]["schemas"]


def test_every_example_of_a_fire_fits_its_schema(api_schema: dict[str, Any]) -> None:
    content = operation(api_schema, "/api/tickets/{id}/fire/", "post")["requestBody"]["content"]["application/json"]
    assert len(content["examples"]) == 6
    union = resolved(api_schema, content["schema"])
    validator = Draft202012Validator({**union, "components": api_schema["components"]})
    for example in content["examples"].values():
        validator.validate(example["value"])


def test_every_error_is_documented_with_the_one_body(api_schema: dict[str, Any]) -> None:
    ours = ("lifecycle", "fire", "history", "runs", "run_retry", "run_continue", "run_cancel", "create")
    seen = 0
    for methods in api_schema["paths"].values():
        for one in methods.values():
            if not one["operationId"].endswith(ours) and "lifecycle_" not in one["operationId"]:
                continue
            seen += 1
            for status, answer in one["responses"].items():
                if status < "400":
                    continue
                schema = answer["content"]["application/json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/LifecycleError"}, (one["operationId"], status)
                for example in answer["content"]["application/json"].get("examples", {}).values():
                    assert set(example["value"]) == {"detail", "code", "refusals", "problems"}
    assert seen >= 40


@pytest.mark.parametrize(
    ("path", "method", "statuses"),
    [
        ("/api/tickets/lifecycle/", "get", "200 401 403 406"),
        ("/api/tickets/{id}/lifecycle/", "get", "200 304 400 401 403 404 406"),
        ("/api/tickets/{id}/fire/", "post", "200 400 401 403 404 406 409 413 415 422"),
        ("/api/tickets/", "post", "200 201 400 401 403 404 406 409 413 415 422"),
        ("/api/tickets/{id}/history/", "get", "200 400 401 403 404 406"),
        ("/api/tickets/{id}/runs/", "get", "200 400 401 403 404 406"),
        ("/api/tickets/{id}/runs/{run}/retry/", "post", "200 400 401 403 404 406 409 413 415"),
        ("/lifecycle/runs/", "get", "200 400 401 403 404 406"),
        ("/lifecycle/definitions/", "get", "200 401 403 406"),
    ],
)
def test_a_endpoint_documents_its_statuses(api_schema: dict[str, Any], path: str, method: str, statuses: str) -> None:
    assert sorted(operation(api_schema, path, method)["responses"]) == statuses.split()


def test_a_throttled_endpoint_documents_that_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from rest_framework.throttling import UserRateThrottle

    class Slow(UserRateThrottle):
        rate = "1/day"

    monkeypatch.setattr(TicketViewSet, "throttle_classes", [Slow])
    answers = operation(described(), "/api/tickets/{id}/fire/", "post")["responses"]
    assert "Retry-After" in answers["429"]["headers"]


def test_headers_are_parameters(api_schema: dict[str, Any]) -> None:
    named = {one["name"] for one in operation(api_schema, "/api/tickets/{id}/fire/", "post")["parameters"]}
    assert {"Idempotency-Key", "If-Match", "id"} <= named
    view = operation(api_schema, "/api/tickets/{id}/lifecycle/", "get")
    assert "If-None-Match" in {one["name"] for one in view["parameters"]}
    assert "ETag" in view["responses"]["200"]["headers"]


def test_a_creation_is_the_serializers_fields_and_a_request_id(api_schema: dict[str, Any]) -> None:
    serializer, key = body(api_schema, "/api/tickets/")["allOf"]
    assert serializer == {"$ref": "#/components/schemas/Ticket"}
    assert set(key["properties"]) == {"request_id"}


def test_a_closed_creation_is_not_described(api_schema: dict[str, Any]) -> None:
    assert set(api_schema["paths"]["/api/picky/"]) == {"get"}


def test_a_viewset_open_to_everyone_is_not_described_as_open_at_our_endpoints(api_schema: dict[str, Any]) -> None:
    assert {} in operation(api_schema, "/api/parcels/{id}/", "get")["security"]
    assert {} not in operation(api_schema, "/api/parcels/{id}/fire/", "post")["security"]


def test_two_serializers_of_one_lifecycle_have_two_views(api_schema: dict[str, Any]) -> None:
    views = {
        operation(api_schema, path, "get")["responses"]["200"]["content"]["application/json"]["schema"]["$ref"]
        for path in ("/api/tickets/{id}/lifecycle/", "/api/listed/{id}/lifecycle/")
    }
    assert len(views) == 2


# Beside a project's own words ---------------------------------------------------------------------


@pytest.fixture
def own_urls(settings: Any) -> Any:
    settings.REST_FRAMEWORK = REST_FRAMEWORK

    def describe(viewset: Any) -> dict[str, Any]:
        router = DefaultRouter()
        router.register("own", viewset, basename="own")
        return described(patterns=router.urls)

    return describe


def test_a_projects_decorators_add_to_ours(own_urls: Any) -> None:
    @extend_schema_view(fire=extend_schema(summary="Move it on", tags=["support"]))
    class Viewset(TicketViewSet):
        pass

    found = operation(own_urls(Viewset), "/own/{id}/fire/", "post")
    assert (found["summary"], found["tags"], found["operationId"]) == ("Move it on", ["support"], "own_fire")
    assert "409" in found["responses"]


def test_a_projects_inspector_keeps_its_say(own_urls: Any) -> None:
    class Inspector(AutoSchema):
        def get_tags(self) -> list[str]:
            return ["ours"]

    class Base(TicketViewSet.__mro__[2]):  # type: ignore[misc]
        schema = Inspector()

    class Viewset(TicketViewSet, Base):
        pass

    found = operation(own_urls(Viewset), "/own/{id}/fire/", "post")
    assert found["tags"] == ["ours"]
    assert "422" in found["responses"]


def test_what_a_project_shows_instead_of_its_serializer_is_left_open(own_urls: Any) -> None:
    class Viewset(TicketViewSet):
        def get_record_data(self, record: Any) -> Any:
            return {"title": record.title}

    schema = own_urls(Viewset)
    assert schema["components"]["schemas"]["TicketsView"]["properties"]["record"] == {
        "type": "object",
        "additionalProperties": {},
    }


@pytest.mark.django_db
def test_the_answers_are_those_that_are_described(api: APIClient, ticket: Any, api_schema: dict[str, Any]) -> None:
    answer = operation(api_schema, "/api/tickets/{id}/lifecycle/", "get")["responses"]["200"]
    validator = Draft202012Validator(
        {
            **resolved(api_schema, answer["content"]["application/json"]["schema"]),
            "components": api_schema["components"],
        }
    )
    seen = api.get(f"/api/tickets/{ticket.pk}/lifecycle/").json()
    # OpenAPI 3.0 says "nullable", which JSON Schema does not know: the only null here is the source of $create.
    seen["history"][0]["source"] = ""
    seen["record"]["agent"] = 1
    validator.validate(seen)
    del seen["available"][0]["refusals"]
    assert not validator.is_valid(seen)


# The dialect -------------------------------------------------------------------------------------


def test_openapi_3_0_has_no_type_null_and_no_list_of_types() -> None:
    said = {
        "type": "object",
        "properties": {
            "a": {"type": ["string", "null"], "maxLength": 3},
            "b": {"type": ["string", "number"], "format": "decimal"},
            "c": {"type": "array", "items": {"type": ["integer", "null"]}},
        },
    }
    assert for_openapi(said)["properties"] == {
        "a": {"type": "string", "nullable": True, "maxLength": 3},
        "b": {"anyOf": [{"type": "string", "format": "decimal"}, {"type": "number"}]},
        "c": {"type": "array", "items": {"type": "integer", "nullable": True}},
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "maxLength": 2},
        {"type": "string", "minLength": 9},
        {"type": "string", "format": "date-time"},
        {"type": ["integer", "null"], "minimum": 7},
        {"type": "integer", "maximum": -3},
        {"type": "boolean"},
        {"enum": ["DHL", "UPS"]},
        {"type": "array", "items": {"type": "number"}},
        {"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]},
        {},
    ],
)
def test_a_sample_fits_its_schema(schema: dict[str, Any]) -> None:
    Draft202012Validator(schema).validate(sample(schema))
