"""Components: what the endpoints answer, the same for every lifecycle."""

from __future__ import annotations

from typing import Any, get_args

from drf_spectacular.plumbing import ComponentRegistry, ResolvedComponent

from lifecycle.models import FollowUp, Outcome, RunStatus
from lifecycle.models.history import ActorKind
from lifecycle.refusals import Kind, Source
from lifecycle.rest.openapi.dialect import Schema, nullable, one_of

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer", "minimum": 0}
MOMENT: Schema = {"type": "string", "format": "date-time"}
ANYTHING: Schema = {}
OBJECT: Schema = {"type": "object", "additionalProperties": {}}
SECONDS: Schema = {"type": "number", "description": "Seconds."}


class Components:
    """The named schemas of one API description; each is written once, when the first endpoint asks for it."""

    def __init__(self, registry: ComponentRegistry) -> None:
        self._registry = registry

    def put(self, name: str, schema: Schema) -> Schema:
        """Keeps a schema under a name; answers the reference to it."""
        component = ResolvedComponent(name=name, type=ResolvedComponent.SCHEMA, object=name, schema=schema)
        self._registry.register_on_missing(component)
        ref: Schema = component.ref
        return ref

    def holds_other(self, name: str, schema: Schema) -> bool:
        """Whether the name is taken by something else."""
        key = (name, ResolvedComponent.SCHEMA)
        return any(one.key == key and one.schema != schema for one in self._registry._components.values())

    def error(self) -> Schema:
        """The one error body."""
        return self.put(
            "LifecycleError",
            record(
                {
                    "detail": {**TEXT, "description": "What is wrong, for people."},
                    "code": {**TEXT, "description": "What is wrong, for programs."},
                    "refusals": array(self.refusal()),
                    "problems": array(self.problem()),
                }
            ),
        )

    def refusal(self) -> Schema:
        """Why a transition may not happen now."""
        return self.put(
            "LifecycleRefusal",
            record(
                {
                    "source": one_of(get_args(Source)),
                    "kind": one_of(get_args(Kind), "What would help: another actor, or a change of the record."),
                    "code": TEXT,
                    "message": TEXT,
                    "params": OBJECT,
                }
            ),
        )

    def problem(self) -> Schema:
        """What does not fit about one field of a request."""
        return self.put(
            "LifecycleProblem",
            record(
                {"field": {**TEXT, "description": "Empty when it is about the whole."}, "code": TEXT, "message": TEXT}
            ),
        )

    def open_transition(self) -> Schema:
        """A transition out of the record's state, allowed or with its refusals."""
        return self.put(
            "LifecycleOpenTransition",
            record(
                {
                    "name": TEXT,
                    "label": TEXT,
                    "description": TEXT,
                    "target": array(TEXT),
                    "allowed": {"type": "boolean"},
                    "refusals": array(self.refusal()),
                    "meta": OBJECT,
                }
            ),
        )

    def entry(self) -> Schema:
        """One entry of the history."""
        actor = record({"kind": one_of(ActorKind.values), "id": TEXT, "label": TEXT})
        return self.put(
            "LifecycleEntry",
            record(
                {
                    "version": NUMBER,
                    "transition": TEXT,
                    "source": nullable(TEXT),
                    "target": TEXT,
                    "actor": actor,
                    "input": ANYTHING,
                    "reason": TEXT,
                    "at": MOMENT,
                    "request_id": nullable({**TEXT, "description": "For operators."}),
                },
                optional=("request_id",),
            ),
        )

    def run(self) -> Schema:
        """One effect run."""
        return self.put("LifecycleRun", record(_run(), optional=_INSIDE))

    def operators_run(self) -> Schema:
        """One effect run in the list across lifecycles."""
        where = {"lifecycle": TEXT, "record_id": TEXT, "known_effect": {"type": "boolean"}}
        return self.put("LifecycleOperatorsRun", record(where | _run()))

    def definition(self) -> Schema:
        """A lifecycle as JSON."""
        names = array(TEXT)
        after = {"name": TEXT, "transition": TEXT, "when": names}
        return self.put(
            "LifecycleDefinition",
            record(
                {
                    "name": TEXT,
                    "hash": TEXT,
                    "initial": names,
                    "final": names,
                    "states": array(
                        record(
                            {
                                "name": TEXT,
                                "label": TEXT,
                                "initial": {"type": "boolean"},
                                "final": {"type": "boolean"},
                                "deprecated": {"type": "boolean"},
                                "meta": OBJECT,
                            }
                        )
                    ),
                    "transitions": array(
                        record(
                            {
                                "name": TEXT,
                                "label": TEXT,
                                "description": TEXT,
                                "source": names,
                                "target": names,
                                "manual": {"type": "boolean"},
                                "input": {**OBJECT, "description": "JSON Schema of the input."},
                                "effects": names,
                                "meta": OBJECT,
                            }
                        )
                    ),
                    "effects": array(
                        record(
                            {
                                "name": TEXT,
                                "on": names,
                                "on_enter": names,
                                "on_success": nullable(TEXT),
                                "on_failure": nullable(TEXT),
                                "on_dead": nullable(TEXT),
                                "attempts": nullable(NUMBER),
                                "timeout": nullable(SECONDS),
                                "delay": SECONDS,
                                "atomic": {"type": "boolean"},
                            }
                        )
                    ),
                    "timeouts": array(record(after | {"after": SECONDS})),
                    "deadlines": array(record(after | {"at": nullable(TEXT)})),
                    "reminders": array(
                        record(
                            {"name": TEXT, "effect": TEXT, "when": names, "after": SECONDS, "repeat": nullable(SECONDS)}
                        )
                    ),
                    "parameters": array(record({"name": TEXT, "value": ANYTHING})),
                    "diagram": {**TEXT, "description": "Mermaid."},
                }
            ),
        )


def record(properties: dict[str, Schema], *, optional: tuple[str, ...] = ()) -> Schema:
    """An object with these members."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


def array(items: Schema) -> Schema:
    """A list of these."""
    return {"type": "array", "items": items}


def page(items: Schema) -> Schema:
    """One page by cursor."""
    link = nullable({"type": "string", "format": "uri"})
    return record({"next": link, "previous": link, "results": array(items)})


_INSIDE = (
    "queue",
    "result",
    "checkpoint",
    "error_details",
    "idempotency_key",
    "lease_until",
    "leased_by",
    "follow_up_tries",
)


def _run() -> dict[str, Any]:
    return {
        "id": NUMBER,
        "effect": TEXT,
        "status": one_of(RunStatus.values),
        "attempts": NUMBER,
        "max_attempts": nullable(NUMBER),
        "crashes": NUMBER,
        "available_at": MOMENT,
        "outcome": one_of(["", *Outcome.values]),
        "error_kind": TEXT,
        "error_code": TEXT,
        "error": TEXT,
        "follow_up": one_of(FollowUp.values),
        "follow_up_due_at": nullable(MOMENT),
        "follow_up_error": TEXT,
        "reminder": TEXT,
        "created_at": MOMENT,
        "finished_at": nullable(MOMENT),
        # What is inside a run is for operators.
        "queue": TEXT,
        "result": ANYTHING,
        "checkpoint": ANYTHING,
        "error_details": ANYTHING,
        "idempotency_key": {"type": "string", "format": "uuid"},
        "lease_until": nullable(MOMENT),
        "leased_by": TEXT,
        "follow_up_tries": NUMBER,
    }
