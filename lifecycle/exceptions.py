"""Every error the library raises: one base, one class per thing the caller might do about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from django.core.exceptions import PermissionDenied

if TYPE_CHECKING:
    from lifecycle.definition.problems import Problem
    from lifecycle.refusals import InputProblem, Refusal


class LifecycleError(Exception):
    """The base of all errors of the library.

    Args:
        message: the sentence a person reads; ``str(error)`` is this sentence.
        code: a stable machine name; each class has its default.
        refusals: every reason for a no (`Refusal`), never only the first.
        problems: everything wrong with an input or a declaration.
        facts: what the error is about (``lifecycle="orders"``, ``record_id="7"``); each becomes an attribute.

    Survives pickling, copying and ``raise … from``.
    """

    code = "lifecycle_error"
    retryable = False

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        refusals: Iterable[Refusal] = (),
        problems: Iterable[InputProblem | Problem] = (),
        **facts: Any,
    ) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
        self.refusals: Sequence[Refusal] = tuple(refusals)
        self.problems: Sequence[Any] = tuple(problems)
        self.facts = facts
        for name, value in facts.items():
            setattr(self, name, value)

    def __str__(self) -> str:
        return str(self.message)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, self.code, self.refusals, self.problems, self.facts)

    def __getattr__(self, name: str) -> Any:
        # Only reached for facts that were not given: an error names what it does not know as None
        # rather than hiding the first error behind an AttributeError. Dunders stay missing.
        if name.startswith("_") or "facts" not in self.__dict__:
            raise AttributeError(name)
        if name in KNOWN_FACTS:
            return None
        raise AttributeError(name)


KNOWN_FACTS = frozenset(
    {"lifecycle", "record_id", "transition", "state", "version", "field", "expected", "got", "request_id", "run_id"}
)


def _rebuild(cls: type[LifecycleError], message: str, code: str, refusals: Any, problems: Any, facts: Any) -> Any:
    return cls(message, code=code, refusals=refusals, problems=problems, **facts)


# A declaration is wrong -------------------------------------------------------------------------


class InvalidDefinition(LifecycleError):
    """A lifecycle is declared wrongly; ``problems`` has all of them, each with a hint."""

    code = "invalid_definition"


class InvalidRoute(LifecycleError):
    """A route returned a state that is not among the transition's targets."""

    code = "invalid_route"


class InvalidSet(LifecycleError):
    """A ``set`` returned a column that only the lifecycle writes, or a name that is not a field of the record."""

    code = "invalid_set"


class InvalidSettings(LifecycleError):
    """``settings.LIFECYCLE`` holds an unknown key or a value of the wrong type."""

    code = "invalid_settings"


# A name leads nowhere ---------------------------------------------------------------------------


class UnknownLifecycle(LifecycleError):
    """No lifecycle of this name is registered."""

    code = "unknown_lifecycle"


class UnknownTransition(LifecycleError):
    """The lifecycle has no transition of this name."""

    code = "unknown_transition"


class UnknownState(LifecycleError):
    """The lifecycle has no state of this name."""

    code = "unknown_state"


class UnknownEffect(LifecycleError):
    """This process does not know the effect a run names."""

    code = "unknown_effect"


class RecordNotFound(LifecycleError):
    """There is no such record, or the id cannot belong to this model."""

    code = "record_not_found"


# The caller's input or request ------------------------------------------------------------------


class InvalidInput(LifecycleError):
    """The input is not valid; ``problems`` names every field that is wrong."""

    code = "invalid_input"


class InvalidRequestId(InvalidInput):
    """A request id is empty, too long, or starts with ``$`` (reserved for the library)."""

    code = "invalid_request_id"


class RequestReused(LifecycleError):
    """The request id was used before, for another transition, by another actor, or with another input."""

    code = "request_reused"


class UnsavedEdits(LifecycleError):
    """The instance has unsaved edits; firing would neither write nor keep them."""

    code = "unsaved_edits"


# The answer is no -------------------------------------------------------------------------------


class Refused(LifecycleError):
    """The base class of all refusals; ``refusals`` has all reasons."""

    code = "refused"


class PermissionRefused(Refused, PermissionDenied):
    """The actor has no permission. Also Django's ``PermissionDenied``, so Django answers 403 by itself."""

    code = "permission_denied"


class WrongState(Refused):
    """The transition does not start in the record's present state."""

    code = "invalid_state"


class StayEnded(WrongState):
    """The stay that enqueued this follow-up is over; what it wanted no longer applies."""

    code = "stay_ended"


class GuardRefused(Refused):
    """A guard refused; ``code`` is the code of the first guard that did."""

    code = "guard_refused"


class Conflict(LifecycleError):
    """Somebody else was faster, or the decision was based on an older version. Look again, then try again."""

    code = "conflict"
    retryable = True


class HistoryAhead(LifecycleError):
    """The row is older than its history: a fixture or a backup put it back. ``lifecycle_repair`` repairs it."""

    code = "history_ahead"


class TransactionBroken(LifecycleError):
    """Code that was called caught a database error without a savepoint, so nothing could be committed."""

    code = "transaction_broken"


class NestedTooDeep(LifecycleError):
    """Hooks fire transitions whose hooks fire transitions, and so on, without an end."""

    code = "nested_too_deep"


# The owned columns ------------------------------------------------------------------------------


class StateWriteRefused(LifecycleError):
    """Something other than the lifecycle tried to write a column that only the lifecycle may write."""

    code = "state_write_refused"


class NotAnInitialState(StateWriteRefused):
    """A record was to be created in a state that is not an initial state."""

    code = "not_an_initial_state"


# Effects and operators --------------------------------------------------------------------------


class InvalidPayload(LifecycleError):
    """A value is not JSON, or is larger than the limit; ``path`` says which part of it."""

    code = "invalid_payload"


class LeaseLost(LifecycleError):
    """Another worker has the run now. An effect that gets this error should stop and call nothing more."""

    code = "lease_lost"


class RunSettled(LifecycleError):
    """The run's outcome already led somewhere. Running it again needs ``force`` and a reason."""

    code = "run_settled"


class RunBusy(LifecycleError):
    """A worker is carrying the run out."""

    code = "run_busy"


class NothingToContinue(LifecycleError):
    """The run has no pending and no abandoned follow-up."""

    code = "nothing_to_continue"


# A flow ------------------------------------------------------------------------------------------


class UnknownFlow(LifecycleError):
    """There is no flow of this name or id, or no such step, channel or timer in it."""

    code = "unknown_flow"


class FlowIdInUse(LifecycleError):
    """A flow of this id was started already."""

    code = "flow_id_in_use"


class FlowEnded(LifecycleError):
    """The flow is not running any more."""

    code = "flow_ended"


class NobodyWaits(LifecycleError):
    """A message was published for whoever waits, and nobody does."""

    code = "nobody_waits"
