"""Flow: the class a user subclasses; declaring it compiles and verifies it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from lifecycle.definition import services
from lifecycle.definition.flows import rules
from lifecycle.definition.flows.channels import Channel
from lifecycle.definition.flows.steps import Step
from lifecycle.definition.problems import refusal
from lifecycle.suggest import did_you_mean

Input = TypeVar("Input")
Output = TypeVar("Output")

declared: list[type[Flow[Any, Any]]] = []
"""Every class that compiled, in the order of declaration; the registry takes its own from here."""


@dataclass(frozen=True, kw_only=True)
class FlowDefinition:
    """A flow, compiled. ``former`` maps names that steps had in earlier versions of the code to their present ones."""

    name: str
    flow: type[Flow[Any, Any]]
    steps: Mapping[str, type[Step[Any]]]
    start: str | None
    channels: Mapping[str, Channel[Any]]
    former: Mapping[str, str]
    timeout: dt.timedelta | None
    services: Any

    def step(self, name: str) -> type[Step[Any]] | None:
        """The step that rows call so, also under a former name."""
        return self.steps.get(self.former.get(name, name))

    def named(self, step: type[Step[Any]] | str) -> str | None:
        """The name of a step given as class or name; None when it is not of this flow."""
        name = step if isinstance(step, str) else step.name
        known = self.steps.get(name)
        return name if known is not None and (isinstance(step, str) or known is step) else None

    def channel(self, channel: Channel[Any] | str) -> str:
        """The name of a channel of this flow.

        Raises:
            LookupError: it has none of this name; with the nearest.
        """
        name = channel if isinstance(channel, str) else channel.name
        if name not in self.channels:
            raise LookupError(f"Flow '{self.name}' has no channel '{name}'. {did_you_mean(name, self.channels)}")
        return name


class Flow(Generic[Input, Output]):
    """Durable work of several steps: ``class Fulfilment(Flow[int, str])``, the types of its input and its output.

    While it waits, nothing runs; each method of a step is committed on its own.

    Attributes:
        name: what rows call it; never renamed.
        start: the step that is begun with the flow's input; None: nothing is begun by itself.
        steps: all other steps.
        timeout: the longest time from start to end; then the flow fails. None: as long as it takes.
        services: what steps find as ``self.services``: an object, a callable, or a dotted path to one.

    Raises:
        InvalidDefinition: at the end of the class statement, with every problem at once.
    """

    name: ClassVar[str] = ""
    start: ClassVar[type[Step[Any]] | None] = None
    steps: ClassVar[list[type[Step[Any]]]] = []
    timeout: ClassVar[dt.timedelta | None] = None
    services: ClassVar[Any] = None
    definition: ClassVar[FlowDefinition]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not cls.name and cls.start is None and not cls.steps:
            return  # a base class of a project's own
        problems = list(rules.verify(cls))
        if problems:
            raise refusal(cls.__qualname__, problems, what="flow")
        cls.definition = compiled(cls)
        declared.append(cls)


def compiled(flow: type[Flow[Any, Any]]) -> FlowDefinition:
    """The definition of a flow that was found right."""
    steps = rules.steps_of(flow)
    return FlowDefinition(
        name=flow.name,
        flow=flow,
        steps={step.name: step for step in steps},
        start=flow.start.name if flow.start is not None else None,
        channels=rules.channels_of(flow),
        former={old: step.name for step in steps for old in step.former_names},
        timeout=flow.timeout,
        services=flow.services,
    )


def made(definition: FlowDefinition, name: str) -> Step[Any]:
    """A step, made for one call, with the flow's services."""
    step = definition.steps[name]()
    if definition.services is not None:
        step.services = services.of(f"flow:{definition.name}", definition.services)
    return step
