"""Operations: what a person does about a run — try it again, let it continue, cancel it — each with an audit row."""

from __future__ import annotations

from lifecycle.operations.cancelling import cancel_run
from lifecycle.operations.continuing import continue_run
from lifecycle.operations.retrying import retry_run

__all__ = ["cancel_run", "continue_run", "retry_run"]
