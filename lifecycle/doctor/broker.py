"""Broker: whether workers can be woken."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from lifecycle import dispatch
from lifecycle.doctor.examined import Examined
from lifecycle.doctor.finding import ERROR, Finding


def unreachable(examined: Examined) -> Iterator[Finding]:
    """The broker does not answer, so only a polling lifecycle_worker finds pending runs."""
    complaint = _asked(examined.limits.broker)
    if complaint is not None:
        yield examined.found(
            "broker",
            ERROR,
            f"The broker cannot be reached: {complaint}",
            "Start it, or correct Celery's broker_url. Nothing is lost: pending effects wait in their rows; "
            "a running manage.py lifecycle_worker executes them without a broker.",
        )


def _asked(seconds: float) -> str | None:
    """The dispatcher's answer, waited for no longer than this: a name server may be as silent as a broker."""
    answers: list[str | None] = []

    def ask() -> None:
        try:
            answers.append(dispatch.complaint())
        except Exception as error:  # noqa: BLE001 whatever a dispatcher of the project's raises is the answer
            answers.append(f"{type(error).__name__}: {error}")

    asking = threading.Thread(target=ask, name="lifecycle-doctor-broker", daemon=True)
    asking.start()
    asking.join(seconds)
    return answers[0] if answers else f"no answer within {seconds:g} s."
