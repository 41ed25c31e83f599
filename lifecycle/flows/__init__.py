"""Flows: durable work of several steps, which wait, execute and decide what comes next.

Declare a `Flow` and its `Step` classes in the ``flows.py`` of an installed app. While a flow waits, nothing runs.
"""

from lifecycle.definition.flows.channels import Channel
from lifecycle.definition.flows.decisions import (
    Decision,
    dead_end,
    force_complete,
    force_complete_if_channels_empty,
    force_fail,
    go_to,
    go_to_many,
    graceful_complete,
    move,
)
from lifecycle.definition.flows.flow import Flow
from lifecycle.definition.flows.steps import Step, StepOptions, proceed_to
from lifecycle.definition.flows.waits import Timer, Wait
from lifecycle.flows.context import StepContext
from lifecycle.flows.starts import starts
from lifecycle.flows.verbs import CANCEL, FAIL, Started, publish, skip_timer, start_flow, stop

__all__ = [
    "CANCEL",
    "FAIL",
    "Channel",
    "Decision",
    "Flow",
    "Started",
    "Step",
    "StepContext",
    "StepOptions",
    "Timer",
    "Wait",
    "dead_end",
    "force_complete",
    "force_complete_if_channels_empty",
    "force_fail",
    "go_to",
    "go_to_many",
    "graceful_complete",
    "move",
    "proceed_to",
    "publish",
    "skip_timer",
    "start_flow",
    "starts",
    "stop",
]
