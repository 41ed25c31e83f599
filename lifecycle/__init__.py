"""lifecycle: the record is the process — states, transitions and the work they owe, in one transaction."""

from lifecycle.actors import SYSTEM, Actor
from lifecycle.definition.effects import Effect, effect
from lifecycle.definition.lifecycle import Lifecycle
from lifecycle.definition.outcomes import Fail, Permanent, RetryAt
from lifecycle.definition.retries import Retry
from lifecycle.definition.states import ANY, ANY_EXCEPT, CREATE, State
from lifecycle.definition.transitions import Transition
from lifecycle.definition.triggers import Deadline, Reminder, Timeout
from lifecycle.definition.wirings import guard, on_enter, on_leave
from lifecycle.exceptions import (
    Conflict,
    GuardRefused,
    InvalidDefinition,
    InvalidInput,
    InvalidPayload,
    InvalidRequestId,
    InvalidRoute,
    InvalidSet,
    InvalidSettings,
    LeaseLost,
    LifecycleError,
    NotAnInitialState,
    NothingToContinue,
    PermissionRefused,
    RecordNotFound,
    Refused,
    RequestReused,
    RunBusy,
    RunSettled,
    StateWriteRefused,
    StayEnded,
    UnknownEffect,
    UnknownLifecycle,
    UnknownState,
    UnknownTransition,
    UnsavedEdits,
    WrongState,
)
from lifecycle.refusals import InputProblem, Refusal, Refuse, Verdict

__version__ = "0.1.0"

__all__ = [
    "ANY",
    "ANY_EXCEPT",
    "CREATE",
    "SYSTEM",
    "Actor",
    "Conflict",
    "Deadline",
    "Effect",
    "Fail",
    "GuardRefused",
    "InputProblem",
    "InvalidDefinition",
    "InvalidInput",
    "InvalidPayload",
    "InvalidRequestId",
    "InvalidRoute",
    "InvalidSet",
    "InvalidSettings",
    "LeaseLost",
    "Lifecycle",
    "LifecycleError",
    "NotAnInitialState",
    "NothingToContinue",
    "Permanent",
    "PermissionRefused",
    "RecordNotFound",
    "Refusal",
    "Refuse",
    "Refused",
    "Reminder",
    "RequestReused",
    "Retry",
    "RetryAt",
    "RunBusy",
    "RunSettled",
    "State",
    "StateWriteRefused",
    "StayEnded",
    "Timeout",
    "Transition",
    "UnknownEffect",
    "UnknownLifecycle",
    "UnknownState",
    "UnknownTransition",
    "UnsavedEdits",
    "Verdict",
    "WrongState",
    "effect",
    "guard",
    "on_enter",
    "on_leave",
]
