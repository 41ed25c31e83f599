"""Flow rule: what must hold of a declared flow; all problems are told at once."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from lifecycle.definition import parameters
from lifecycle.definition.flows import codecs
from lifecycle.definition.flows.channels import Channel
from lifecycle.definition.flows.steps import NAME, Step
from lifecycle.definition.problems import Problem
from lifecycle.definition.rules.names import NAME as FLOW_NAME
from lifecycle.suggest import did_you_mean

# A run is named "flow.Step.wait_for" in a column of a hundred characters.
FLOW_LENGTH, STEP_LENGTH = 45, 45


def steps_of(flow: Any) -> list[type[Step[Any]]]:
    """All its steps, the start first."""
    return list(dict.fromkeys([*([flow.start] if flow.start is not None else []), *flow.steps]))


def channels_of(flow: Any) -> Mapping[str, Channel[Any]]:
    """Its channels by name, inherited ones included."""
    return {name: value for name, value in inspect.getmembers_static(flow) if isinstance(value, Channel)}


def verify(flow: Any) -> Iterator[Problem]:
    """Everything wrong with a flow."""
    yield from _name(flow)
    broken = list(_steps_are_steps(flow))
    yield from broken
    if broken:
        return
    yield from _step_names(flow)
    yield from _recoveries(flow)
    yield from _payloads(flow)
    yield from _methods(flow)


def _name(flow: Any) -> Iterator[Problem]:
    if not isinstance(flow.name, str) or not FLOW_NAME.match(flow.name) or len(flow.name) > FLOW_LENGTH:
        yield Problem(
            id="lifecycle.E201",
            message=f"The flow name {flow.name!r} cannot be stored.",
            hint=f'Say name = "…": a letter, then letters, digits and _ . : -, at most {FLOW_LENGTH} characters.',
            where=f"{flow.__name__}.name",
        )


def _steps_are_steps(flow: Any) -> Iterator[Problem]:
    listed = [("start", flow.start)] if flow.start is not None else []
    for place, one in [*listed, *(("steps", one) for one in flow.steps)]:
        if not (isinstance(one, type) and issubclass(one, Step)):
            yield Problem(
                id="lifecycle.E202",
                message=f"{one!r} is no Step class.",
                hint="Name classes that inherit from lifecycle.flows.Step.",
                where=f"{flow.__name__}.{place}",
            )


def _step_names(flow: Any) -> Iterator[Problem]:
    seen: dict[str, Any] = {}
    for step in steps_of(flow):
        if not NAME.match(step.name) or len(step.name) > STEP_LENGTH:
            yield Problem(
                id="lifecycle.E201",
                message=f"The step name '{step.name}' cannot be stored.",
                hint=f"A letter, then letters, digits and _, at most {STEP_LENGTH} characters.",
                where=f"{flow.__name__}.{step.__name__}",
            )
        for name in (step.name, *step.former_names):
            if name in seen:
                yield Problem(
                    id="lifecycle.E203",
                    message=f"The steps {seen[name].__name__} and {step.__name__} share the name '{name}'.",
                    hint="Rows name steps: give one of them another name.",
                    where=f"{flow.__name__}.steps",
                )
            seen[name] = step


def _recoveries(flow: Any) -> Iterator[Problem]:
    known = {step.name: step for step in steps_of(flow)}
    for step in steps_of(flow):
        recovery = step.options.on_execute_failure
        if recovery is None:
            continue
        name = recovery.step if isinstance(recovery.step, str) else recovery.step.name
        found = known.get(name)
        if found is None or (not isinstance(recovery.step, str) and found is not recovery.step):
            yield Problem(
                id="lifecycle.E204",
                message=f"Step '{step.name}' recovers by '{name}', which is no step of this flow.",
                hint=f"List it in steps. {did_you_mean(name, known)}".rstrip(),
                where=f"{flow.__name__}.{step.__name__}",
            )
        elif not codecs.is_untyped(found.input_type()) and found.input_type() != step.input_type():
            yield Problem(
                id="lifecycle.E205",
                message=f"Step '{step.name}' recovers by '{name}', which takes another input.",
                hint=f"A recovery is given the same input: Step[{_said(step.input_type())}], or Step[object] for any.",
                where=f"{flow.__name__}.{step.__name__}",
            )


def _payloads(flow: Any) -> Iterator[Problem]:
    typed = [(f"step '{step.name}'", step.input_type(), step.__name__) for step in steps_of(flow)]
    typed += [(f"channel '{name}'", channel.kind, name) for name, channel in channels_of(flow).items()]
    for what, hint, place in typed:
        if codecs.is_untyped(hint):
            continue
        try:
            parameters.converter().get_structure_hook(hint)
        except Exception as error:  # noqa: BLE001 cattrs raises what the type's own code raised
            yield Problem(
                id="lifecycle.E206",
                message=f"The payload of {what} is a {_said(hint)}, which cannot be read from JSON: {error}",
                hint=parameters.STORABLE + " Dataclasses and attrs classes of these as well.",
                where=f"{flow.__name__}.{place}",
            )


def _methods(flow: Any) -> Iterator[Problem]:
    for step in steps_of(flow):
        if step.execute is Step.execute:
            yield Problem(
                id="lifecycle.E207",
                message=f"Step '{step.name}' has no execute.",
                hint="Write execute(self, ctx, input), which answers a decision.",
                where=f"{flow.__name__}.{step.__name__}",
            )
        for name in ("wait_for", "execute"):
            if inspect.iscoroutinefunction(getattr(step, name)):
                yield Problem(
                    id="lifecycle.E207",
                    message=f"{step.__name__}.{name} is a coroutine function.",
                    hint="Write a plain function; what is awaited inside can be run by asgiref's async_to_sync.",
                    where=f"{flow.__name__}.{step.__name__}",
                )


def _said(hint: Any) -> str:
    return getattr(hint, "__name__", None) or str(hint).replace("typing.", "")
