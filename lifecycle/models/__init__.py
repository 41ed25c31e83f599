"""Tables, and what a user's model inherits from."""

from lifecycle.models.accessors import LifecycleAccessor
from lifecycle.models.base import LifecycleModel
from lifecycle.models.effect_run import EffectAttempt, EffectRun, FollowUp, Outcome, RunStatus
from lifecycle.models.fields import ChangedAtField, StateField, VersionField
from lifecycle.models.history import CREATE, TOUCH, ActorKind, TransitionLog
from lifecycle.models.operator_action import OperatorAction
from lifecycle.models.parameters import ParameterOverride
from lifecycle.models.tick import Tick
from lifecycle.models.trigger_hold import TriggerHold

__all__ = [
    "CREATE",
    "TOUCH",
    "ActorKind",
    "ChangedAtField",
    "EffectAttempt",
    "EffectRun",
    "FollowUp",
    "LifecycleAccessor",
    "LifecycleModel",
    "OperatorAction",
    "Outcome",
    "ParameterOverride",
    "RunStatus",
    "StateField",
    "Tick",
    "TransitionLog",
    "TriggerHold",
    "VersionField",
]
