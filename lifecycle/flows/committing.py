"""Committing: the transaction in which a step or an advance changes its flow; what cannot be committed has failed."""

from __future__ import annotations

from collections.abc import Callable

from lifecycle.definition.outcomes import Permanent
from lifecycle.exceptions import LeaseLost, RecordNotFound, WrongState
from lifecycle.execution import connecting, failures, finishing
from lifecycle.execution.start import Start

# What another attempt would meet again: the record has moved on, or is gone.
FOR_GOOD = (WrongState, RecordNotFound)


def record(start: Start, write: Callable[[], None]) -> None:
    """Commits what ``write`` does; anything that prevents it but an outage is a failed attempt, with its reason.

    A transition that a step fires may be refused, its hooks may raise anything: nothing of the commit stands then.

    Raises:
        LeaseLost: the run is another's by now.
    """
    try:
        finishing.record(start, lambda failed: write(), has_more=False)
    except (LeaseLost, *connecting.BROKEN):
        raise
    except Exception as error:  # noqa: BLE001 whatever a project's hooks do in it is this attempt's failure
        judged = Permanent(str(error), code=error.code) if isinstance(error, FOR_GOOD) else error
        finishing.failed(start, failures.judge(judged, start.held, start.options))
