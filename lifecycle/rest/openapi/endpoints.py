"""EndpointSchema: the endpoints of one lifecycle, described from its definition and from the viewset's serializer."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiRequest, OpenApiResponse
from inflection import camelize
from rest_framework.permissions import AllowAny

from lifecycle.definition.compiled import CompiledTransition, Definition
from lifecycle.rest.openapi import bodies, statuses
from lifecycle.rest.openapi.components import OBJECT, array, page, record
from lifecycle.rest.openapi.described import Described
from lifecycle.rest.openapi.dialect import Schema, for_openapi, nullable, one_of, sample
from lifecycle.rest.schemas import input_schema

# Each endpoint's name in operation ids, and how many words of its address are its own.
_ENDPOINTS = {
    "lifecycle_definition": ("lifecycle_definition", 1),
    "lifecycle_view": ("lifecycle", 1),
    "fire": ("fire", 1),
    "create": ("create", 0),
    "lifecycle_history": ("history", 1),
    "lifecycle_runs": ("runs", 1),
    "retry_run": ("run_retry", 2),
    "continue_run": ("run_continue", 2),
    "cancel_run": ("run_cancel", 2),
}
_PAGED = ("lifecycle_history", "lifecycle_runs")
_OPERATING = ("retry_run", "continue_run", "cancel_run")


class EndpointSchema(Described):
    """Mixed in before the project's own inspector; of actions that are not the lifecycle's it says nothing."""

    def get_operation_id(self) -> str:
        """Stable: from the address of the viewset and the endpoint's name."""
        if not self._is_endpoint():
            return super().get_operation_id()
        name, own = _ENDPOINTS[self.view.action]
        words = [word.replace("-", "_") for word in self._tokenize_path()]
        return "_".join([*words[: len(words) - own], name])

    def get_auth(self) -> list[dict[str, Any]]:
        """How to log in. Where a permission was added to a viewset that lets everyone in, nobody is anonymous."""
        found: list[dict[str, Any]] = super().get_auth()
        if self._is_endpoint() and not all(isinstance(one, AllowAny) for one in self.view.get_permissions()):
            return [one for one in found if one]
        return found

    def get_override_parameters(self) -> list[Any]:
        """Headers and pages."""
        given: list[Any] = super().get_override_parameters()
        return given + self._parameters() if self._is_endpoint() else given

    def get_request_serializer(self) -> Any:
        """What an endpoint reads, per media type."""
        if not self._is_endpoint():
            return super().get_request_serializer()
        action = self.view.action
        if action == "create":
            return self._creation()
        if action == "fire":
            return self._fire()
        if action in _OPERATING:
            return dict.fromkeys(self.map_parsers(), bodies.operator_action(force=action != "continue_run"))
        return None

    def get_response_serializers(self) -> Any:
        """What an endpoint answers, for every status."""
        if not self._is_endpoint():
            return super().get_response_serializers()
        endpoint = self.view.action
        answers: dict[int, Any] = dict(self._answers(endpoint))
        return answers | statuses.refused(endpoint, self.components, throttled=self.throttled())

    def _get_request_body(self, direction: Any = "request") -> Any:
        body = super()._get_request_body(direction)  # type: ignore[no-untyped-call]
        if body is not None and self._is_endpoint():
            body["required"] = self.view.action == "fire" or body.get("required", False)
            body = body if body["required"] else {key: body[key] for key in body if key != "required"}
        return body

    # Parts ------------------------------------------------------------------------------------------

    def _is_endpoint(self) -> bool:
        action = getattr(self.view, "action", None)
        if action == "create" and not self.view.lifecycle_creation:
            return False
        return action in _ENDPOINTS

    def is_excluded(self) -> bool:
        """A creation that only answers 405 is nothing to describe."""
        closed = getattr(self.view, "action", None) == "create" and not self.view.lifecycle_creation
        return closed or super().is_excluded()

    @property
    def _definition(self) -> Definition:
        definition: Definition = self.view.definition
        return definition

    @cached_property
    def _name(self) -> str:
        return camelize("".join(letter if letter.isalnum() else "_" for letter in self._definition.name))

    def _parameters(self) -> list[OpenApiParameter]:
        action = self.view.action
        found = []
        if action == "lifecycle_view":
            found.append(
                OpenApiParameter(
                    "If-None-Match",
                    str,
                    OpenApiParameter.HEADER,
                    description="The `ETag` of the view that the caller has; 304 when it still holds.",
                )
            )
            found.append(_tag(200, 304))
        if action in ("fire", "create"):
            found.append(
                OpenApiParameter(
                    "Idempotency-Key", str, OpenApiParameter.HEADER, description="The same as `request_id` in the body."
                )
            )
            found.append(_tag(200, 201))
        if action == "fire":
            found.append(
                OpenApiParameter(
                    "If-Match",
                    str,
                    OpenApiParameter.HEADER,
                    description="The same as `expect_version`: a version, or the `ETag` of a view.",
                )
            )
        if action in _OPERATING:
            found.append(OpenApiParameter("run", int, OpenApiParameter.PATH, description="The run's `id`."))
        if action in _PAGED:
            found += self.paging()
        if self.throttled():
            found.append(OpenApiParameter("Retry-After", int, OpenApiParameter.HEADER, response=[429]))
        return found

    def _answers(self, endpoint: str) -> dict[int, OpenApiResponse]:
        if endpoint == "lifecycle_definition":
            return {200: OpenApiResponse(self.components.definition(), description="The lifecycle.")}
        if endpoint == "lifecycle_history":
            return {200: OpenApiResponse(page(self.components.entry()), description="Entries, newest first.")}
        if endpoint == "lifecycle_runs":
            return {200: OpenApiResponse(page(self.components.run()), description="Effect runs, newest first.")}
        if endpoint == "create":
            return {
                200: OpenApiResponse(self._fired(), description="Created before, under the same request id."),
                201: OpenApiResponse(self._fired(), description="Created."),
            }
        if endpoint == "fire":
            return {200: OpenApiResponse(self._fired(), description="The view after the transition.")}
        answers = {200: OpenApiResponse(self._view_schema(), description="The view.")}
        if endpoint == "lifecycle_view":
            answers[304] = OpenApiResponse(description="Unchanged.")
        return answers

    def _view_schema(self) -> Schema:
        """The view of a record of this lifecycle, as this viewset's serializer shows it."""
        seen = self._record()
        schema = record(
            {
                "record": seen,
                "state": one_of(self._definition.states),
                "version": {"type": "integer", "minimum": 0},
                "available": array(self.components.open_transition()),
                "history": array(self.components.entry()),
                "runs": array(self.components.run()),
            }
        )
        name = f"{self._name}View"
        if self.components.holds_other(name, schema):
            # Two viewsets show the same lifecycle with different serializers.
            name = f"{self._name}{seen.get('$ref', 'Record').rsplit('/', 1)[-1]}View"
        return self.components.put(name, schema)

    def _fired(self) -> Schema:
        view = self._view_schema()
        return self.components.put(
            view["$ref"].rsplit("/", 1)[-1].removesuffix("View") + "Fired",
            {
                "allOf": [
                    view,
                    record({"replayed": {"type": "boolean", "description": "Done before, under the same request id."}}),
                ]
            },
        )

    def _record(self) -> Schema:
        if not self.view._shows_its_serializer():
            return OBJECT  # the project shows something of its own
        with self.view._as_action("retrieve"):
            serializer: Any = self._get_serializer()  # type: ignore[no-untyped-call]
        if serializer is None:
            return OBJECT
        ref: Schema = self.resolve_serializer(serializer, "response").ref
        return ref

    def _creation(self) -> Any:
        serializer: Any = self._get_serializer()  # type: ignore[no-untyped-call]
        if serializer is None or "request_id" in getattr(serializer, "fields", {}):
            return serializer
        component = self.resolve_serializer(serializer, "request")
        key = {"type": "object", "properties": {"request_id": nullable(bodies.request_id())}}
        # A serializer without a field to write has no component.
        schema: Schema = {"allOf": [component.ref, key]} if component.name else key
        return dict.fromkeys(self.map_parsers(), schema)

    def _fire(self) -> dict[str, Any]:
        """One schema per transition a person may fire, told apart by ``transition``; forms carry the input as text."""
        manual = [one for one in self._definition.transitions.values() if one.manual]
        if not manual:
            return dict.fromkeys(self.map_parsers(), record({"transition": {"type": "string"}}))
        refs = {one.name: self._fire_one(one) for one in manual}
        union = self.components.put(
            f"{self._name}Fire",
            {
                "oneOf": list(refs.values()),
                "discriminator": {
                    "propertyName": "transition",
                    "mapping": {name: ref["$ref"] for name, ref in refs.items()},
                },
            },
        )
        form = bodies.fire(list(refs), {"type": "string", "description": "A JSON object as text."}, required=())
        examples = [self._example(one) for one in manual]
        return {
            parser: form if "form" in parser else OpenApiRequest(union, examples=examples)
            for parser in self.map_parsers()
        }

    def _fire_one(self, transition: CompiledTransition) -> Schema:
        given = for_openapi(input_schema(self._definition, transition))
        required = ("input",) if given.get("required") else ()
        body = bodies.fire([transition.name], given, required=required)
        if transition.description or transition.label:
            body["description"] = str(transition.description or transition.label)
        return self.components.put(f"{self._name}Fire{camelize(transition.name)}", body)

    def _example(self, transition: CompiledTransition) -> OpenApiExample:
        value: dict[str, Any] = {"transition": transition.name}
        given = input_schema(self._definition, transition)
        if given["properties"]:
            value["input"] = sample(given)
        return OpenApiExample(str(transition.label), value, request_only=True)


def _tag(*codes: int) -> OpenApiParameter:
    return OpenApiParameter(
        "ETag",
        str,
        OpenApiParameter.HEADER,
        response=list(codes),
        description="Changes with whatever the view shows.",
    )
