"""lifecycle: declarative record lifecycles — states, transitions, guards, effects and timeouts, in one transaction."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lifecycle.actors import ANONYMOUS, SYSTEM, Actor, acting_as
from lifecycle.definition.contexts import TransitionContext
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

if TYPE_CHECKING:
    from lifecycle.execution.context import EffectContext
    from lifecycle.models.writes import bypass
    from lifecycle.runtime import (
        Availability,
        BatchRefusal,
        BatchReport,
        Fired,
        RecordView,
        aavailable,
        acan,
        acreate,
        afire,
        afire_many,
        available,
        aview,
        can,
        create,
        fire,
        fire_many,
        register_guard,
        touch,
        view,
    )

__version__ = "0.1.0"

# What stands on Django's models is imported when it is first asked for: `import lifecycle` needs no settings.
_LATER = {
    "EffectContext": "lifecycle.execution.context",
    "bypass": "lifecycle.models.writes",
    **dict.fromkeys(
        (
            "Availability",
            "BatchRefusal",
            "BatchReport",
            "Fired",
            "RecordView",
            "aavailable",
            "acan",
            "acreate",
            "afire",
            "afire_many",
            "available",
            "aview",
            "can",
            "create",
            "fire",
            "fire_many",
            "register_guard",
            "touch",
            "view",
        ),
        "lifecycle.runtime",
    ),
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'lifecycle' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_LATER[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


__all__ = [
    "ANONYMOUS",
    "ANY",
    "ANY_EXCEPT",
    "CREATE",
    "SYSTEM",
    "Actor",
    "Availability",
    "BatchRefusal",
    "BatchReport",
    "Conflict",
    "Deadline",
    "Effect",
    "EffectContext",
    "Fail",
    "Fired",
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
    "RecordView",
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
    "TransitionContext",
    "UnknownEffect",
    "UnknownLifecycle",
    "UnknownState",
    "UnknownTransition",
    "UnsavedEdits",
    "Verdict",
    "WrongState",
    "aavailable",
    "acan",
    "acreate",
    "acting_as",
    "afire",
    "afire_many",
    "available",
    "aview",
    "bypass",
    "can",
    "create",
    "effect",
    "fire",
    "fire_many",
    "guard",
    "on_enter",
    "on_leave",
    "register_guard",
    "touch",
    "view",
]
