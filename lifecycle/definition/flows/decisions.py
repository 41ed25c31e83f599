"""Decision: what a step answers when it has executed — which steps come next, or how the flow ends."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from lifecycle.exceptions import LifecycleError

if TYPE_CHECKING:
    from lifecycle.definition.flows.channels import Channel
    from lifecycle.definition.flows.steps import Step

Kind = Literal["go_to", "graceful_complete", "force_complete", "complete_if_empty", "force_fail", "dead_end"]
MOVEMENTS = 10_000


class InvalidDecision(LifecycleError):
    """What ``execute`` answered is no decision of this flow."""

    code = "invalid_decision"


@dataclass(frozen=True, kw_only=True)
class Movement:
    """One step that comes next, and what it is given. ``step``: the class, or the name of one that comes later."""

    step: type[Step[Any]] | str
    input: Any = None


@dataclass(frozen=True, kw_only=True)
class Decision:
    """See the functions of this module."""

    kind: Kind
    movements: tuple[Movement, ...] = field(default=())
    output: Any = None
    reason: str = ""
    channels: tuple[str, ...] = ()
    cancels: tuple[type[Step[Any]] | str, ...] = ()
    cancels_siblings: tuple[type[Step[Any]] | str, ...] = ()

    def cancelling(self, *steps: type[Step[Any]] | str) -> Decision:
        """Cancels as well all other executions of these steps that are open at that moment."""
        return replace(self, cancels=(*self.cancels, *steps))

    def cancelling_siblings(self, *steps: type[Step[Any]] | str) -> Decision:
        """The same for those that were begun by the same decision as the deciding execution."""
        return replace(self, cancels_siblings=(*self.cancels_siblings, *steps))


def move(step: type[Step[Any]] | str, input: Any = None) -> Movement:
    """A movement for `go_to_many`."""
    return Movement(step=step, input=input)


def go_to(step: type[Step[Any]] | str, input: Any = None) -> Decision:
    """One step comes next; it may be this one again."""
    return Decision(kind="go_to", movements=(move(step, input),))


def go_to_many(*movements: Movement) -> Decision:
    """Several come next, side by side.

    Raises:
        InvalidDecision: none, too many, or something that is no movement.
    """
    if not movements or len(movements) > MOVEMENTS:
        raise InvalidDecision(f"go_to_many: expected 1 to {MOVEMENTS} movements, got {len(movements)}.")
    for one in movements:
        if not isinstance(one, Movement):
            raise InvalidDecision(f"go_to_many: expected movements (move(Step, input)), got {one!r}.")
    return Decision(kind="go_to", movements=movements)


def graceful_complete(output: Any = None) -> Decision:
    """This branch ends; the flow is complete as soon as no step is left. Nothing takes the wish back."""
    return Decision(kind="graceful_complete", output=output)


def force_complete(output: Any = None) -> Decision:
    """The flow is complete now; all other steps are cancelled."""
    return Decision(kind="force_complete", output=output)


def force_complete_if_channels_empty(output: Any, fallback: Movement, *channels: Channel[Any] | str) -> Decision:
    """The flow is complete now if these channels are empty, else the fallback comes next; one look under one lock.

    A channel is empty when nothing lies in it and no other step still works on a message of it. A message that is being
    published at that moment is waited for.

    Raises:
        InvalidDecision: no channel, one twice, or no movement to fall back on.
    """
    names = tuple(channel if isinstance(channel, str) else channel.name for channel in channels)
    if not names or len(set(names)) != len(names):
        raise InvalidDecision(
            f"force_complete_if_channels_empty: expected one or more different channels, got {names}."
        )
    if not isinstance(fallback, Movement):
        raise InvalidDecision(f"force_complete_if_channels_empty: expected move(Step, input), got {fallback!r}.")
    return Decision(kind="complete_if_empty", output=output, movements=(fallback,), channels=names)


def force_fail(reason: str) -> Decision:
    """The flow has failed, for this reason; all other steps are cancelled."""
    return Decision(kind="force_fail", reason=str(reason))


def dead_end() -> Decision:
    """This branch ends, and nothing else."""
    return Decision(kind="dead_end")
