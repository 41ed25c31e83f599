"""What is wrong with a declared flow is said at the class, all of it at once, each with what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lifecycle.definition.flows.steps import StepOptions, proceed_to
from lifecycle.exceptions import InvalidDefinition
from lifecycle.flows import Channel, Decision, Flow, Step, dead_end


class Ends(Step[int]):
    def execute(self, ctx: Any, input: int) -> Decision:
        return dead_end()


class Other(Step[str]):
    def execute(self, ctx: Any, input: str) -> Decision:
        return dead_end()


class Opaque:
    """A type no JSON can be read as."""

    def __init__(self, handle: Any, *rest: Any) -> None:
        self.handle = handle


def nameless() -> None:
    class Broken(Flow[int, None]):
        name = "a flow"
        start = Ends


def no_step() -> None:
    class Broken(Flow[int, None]):
        name = "broken"
        start = Ends
        steps = [int]  # type: ignore[list-item]


def two_of_one_name() -> None:
    class Again(Step[int]):
        name = "Ends"

        def execute(self, ctx: Any, input: int) -> Decision:
            return dead_end()

    class Broken(Flow[int, None]):
        name = "broken"
        start = Ends
        steps = [Again]


def recovery_elsewhere() -> None:
    class Risky(Step[int]):
        options = StepOptions(on_execute_failure=proceed_to("Edns"))

        def execute(self, ctx: Any, input: int) -> Decision:
            return dead_end()

    class Broken(Flow[int, None]):
        name = "broken"
        start = Risky
        steps = [Ends]


def recovery_of_another_input() -> None:
    class Risky(Step[int]):
        options = StepOptions(on_execute_failure=proceed_to(Other))

        def execute(self, ctx: Any, input: int) -> Decision:
            return dead_end()

    class Broken(Flow[int, None]):
        name = "broken"
        start = Risky
        steps = [Other]


def unreadable_payload() -> None:
    class Broken(Flow[int, None]):
        name = "broken"
        start = Ends
        words = Channel[Callable[[], None]]()


def no_execute() -> None:
    class Idle(Step[int]):
        pass

    class Broken(Flow[int, None]):
        name = "broken"
        start = Idle


def coroutine() -> None:
    class Async(Step[int]):
        async def execute(self, ctx: Any, input: int) -> Decision:  # type: ignore[override]
            return dead_end()

    class Broken(Flow[int, None]):
        name = "broken"
        start = Async


@pytest.mark.parametrize(
    ("declare", "id", "said"),
    [
        (nameless, "lifecycle.E201", "The flow name 'a flow' cannot be stored."),
        (no_step, "lifecycle.E202", "<class 'int'> is no Step class."),
        (two_of_one_name, "lifecycle.E203", "The steps Ends and Again share the name 'Ends'."),
        (recovery_elsewhere, "lifecycle.E204", "Step 'Risky' recovers by 'Edns', which is no step of this flow."),
        (recovery_of_another_input, "lifecycle.E205", "Step 'Risky' recovers by 'Other', which takes another input."),
        (unreadable_payload, "lifecycle.E206", "The payload of channel 'words' is a"),
        (no_execute, "lifecycle.E207", "Step 'Idle' has no execute."),
        (coroutine, "lifecycle.E207", "Async.execute is a coroutine function."),
    ],
)
def test_a_mistake_has_its_id_its_sentence_and_what_to_do(declare: Any, id: str, said: str) -> None:
    with pytest.raises(InvalidDefinition, match="is not a valid flow: one problem") as raised:
        declare()

    [problem] = raised.value.problems
    assert problem.id == id
    assert problem.message.startswith(said)
    assert problem.hint


def test_all_mistakes_are_said_at_once_and_nothing_is_registered() -> None:
    class Idle(Step[int]):
        pass

    with pytest.raises(InvalidDefinition, match="2 problems") as raised:

        class Broken(Flow[int, None]):
            name = "a flow"
            start = Idle

    assert [problem.id for problem in raised.value.problems] == ["lifecycle.E201", "lifecycle.E207"]


def test_a_name_that_was_nearly_right_is_suggested() -> None:
    with pytest.raises(InvalidDefinition, match="Did you mean 'Ends'"):
        recovery_elsewhere()
