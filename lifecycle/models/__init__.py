"""Tables, and what a user's model inherits from."""

from lifecycle.models.accessors import LifecycleAccessor
from lifecycle.models.base import LifecycleModel
from lifecycle.models.fields import ChangedAtField, StateField, VersionField
from lifecycle.models.history import CREATE, TOUCH, ActorKind, TransitionLog
from lifecycle.models.operator_action import OperatorAction
from lifecycle.models.parameters import ParameterOverride
from lifecycle.models.run import FollowUp, Outcome, Run, RunAttempt, RunKind, RunStatus
from lifecycle.models.tick import Tick
from lifecycle.models.trigger_hold import TriggerHold

__all__ = [
    "CREATE",
    "TOUCH",
    "ActorKind",
    "ChangedAtField",
    "FollowUp",
    "LifecycleAccessor",
    "LifecycleModel",
    "OperatorAction",
    "Outcome",
    "ParameterOverride",
    "Run",
    "RunAttempt",
    "RunKind",
    "RunStatus",
    "StateField",
    "Tick",
    "TransitionLog",
    "TriggerHold",
    "VersionField",
]
