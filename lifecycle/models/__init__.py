"""Tables, and what a user's model inherits from."""

from lifecycle.models.accessors import LifecycleAccessor
from lifecycle.models.base import LifecycleModel
from lifecycle.models.fields import ChangedAtField, StateField, VersionField
from lifecycle.models.flows import (
    ChannelMessage,
    FlowEvent,
    FlowRun,
    FlowStatus,
    Phase,
    StepExecution,
    WaitCondition,
)
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
    "ChannelMessage",
    "FlowEvent",
    "FlowRun",
    "FlowStatus",
    "FollowUp",
    "LifecycleAccessor",
    "LifecycleModel",
    "OperatorAction",
    "Outcome",
    "ParameterOverride",
    "Phase",
    "Run",
    "RunAttempt",
    "RunKind",
    "RunStatus",
    "StateField",
    "StepExecution",
    "Tick",
    "TransitionLog",
    "TriggerHold",
    "VersionField",
    "WaitCondition",
]
