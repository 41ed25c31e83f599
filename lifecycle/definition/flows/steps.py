"""Step: one piece of a flow — what it waits for, what it does, what comes next."""

from __future__ import annotations

import datetime as dt
import inspect
import re
import typing
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from lifecycle.definition.flows.decisions import Decision
from lifecycle.definition.flows.waits import Wait
from lifecycle.definition.retries import Retry

Input = TypeVar("Input")

# A method is tried for four hours, as often as fits in.
RETRY = Retry(attempts=None, total=dt.timedelta(hours=4), maximum=dt.timedelta(seconds=100))
TIMEOUT = dt.timedelta(seconds=60)


@dataclass(frozen=True, kw_only=True)
class StepOptions:
    """How the two methods of a step are bounded and tried again.

    Args:
        wait_for_timeout: the longest time of one attempt of ``wait_for``; None: as long as it likes.
        execute_timeout: the same for ``execute``.
        wait_for_retry: when a failed attempt of ``wait_for`` is followed by another.
        retry: the same for ``execute``.
        heartbeat_timeout: how long ``execute`` may go without `ctx.heartbeat`; None: as long as it likes.
        on_wait_for_failure: "fail": the flow fails; "proceed": ``execute`` is called, and can ask ``ctx.wait_failed``.
        on_execute_failure: the step that recovers (`proceed_to`); without one the flow fails.
        queue: which workers do it.
    """

    wait_for_timeout: dt.timedelta | None = TIMEOUT
    execute_timeout: dt.timedelta | None = TIMEOUT
    wait_for_retry: Retry = RETRY
    retry: Retry = RETRY
    heartbeat_timeout: dt.timedelta | None = None
    on_wait_for_failure: typing.Literal["fail", "proceed"] = "fail"
    on_execute_failure: Recovery | None = None
    queue: str = "default"


@dataclass(frozen=True, kw_only=True)
class Recovery:
    """The step that goes on when another has failed for good; it is given the same input."""

    step: type[Step[Any]] | str


def proceed_to(step: type[Step[Any]] | str) -> Recovery:
    """For `StepOptions.on_execute_failure`: a class, or the name of one that comes later."""
    return Recovery(step=step)


class Step(Generic[Input]):
    """Subclass it, say the type of its input, write ``execute`` and, if it waits, ``wait_for``.

    Attributes:
        name: what rows call it; the class's own name unless given. Never renamed without `former_names`.
        former_names: names that rows of earlier versions of the code may have.
        options: its `StepOptions`.
    """

    name: ClassVar[str] = ""
    former_names: ClassVar[tuple[str, ...]] = ()
    options: ClassVar[StepOptions] = StepOptions()
    services: Any = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = cls.__name__

    def wait_for(self, ctx: Any, input: Input) -> Wait:
        """What has to happen before `execute`; without an own one it is called at once."""
        return Wait.skip()

    def execute(self, ctx: Any, input: Input) -> Decision:
        """Does the work and answers what comes next."""
        raise NotImplementedError

    @classmethod
    def waits(cls) -> bool:
        """Whether it has a ``wait_for`` of its own."""
        return cls.wait_for is not Step.wait_for

    @classmethod
    def input_type(cls) -> Any:
        """The type of its input; Any where none is said."""
        for base in inspect.getmro(cls):
            for origin in getattr(base, "__orig_bases__", ()):
                if typing.get_origin(origin) is Step:
                    [argument] = typing.get_args(origin)
                    return Any if isinstance(argument, TypeVar) else argument
        return Any


NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
