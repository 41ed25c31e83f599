"""Operations: what a person does about a run, a held trigger, a parameter — each with an audit row."""

from __future__ import annotations

from lifecycle.operations.cancelling import cancel_run
from lifecycle.operations.continuing import continue_run
from lifecycle.operations.holds import fire_held, release_hold
from lifecycle.operations.parameters import reset_parameter, set_parameter
from lifecycle.operations.retrying import retry_run

__all__ = [
    "cancel_run",
    "continue_run",
    "fire_held",
    "release_hold",
    "reset_parameter",
    "retry_run",
    "set_parameter",
]
