"""Health: a view for load balancers and watchmen; 200 while work gets done, 503 when it does not.

Routed by nobody but the project::

    path("health/lifecycle/", lifecycle.contrib.health.health)

It asks what is cheap to ask: whether each database answers, when the last tick was, how long the oldest due run has
waited and how many runs lost their worker. Dead runs and abandoned follow-ups need a person, not another server: they
are counted and do not make the answer 503. Names, numbers and databases' aliases are all it says.
"""

from __future__ import annotations

import logging
from dataclasses import asdict
from typing import Any

from django.db import connections
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from lifecycle.doctor.health import Health, read
from lifecycle.doctor.limits import Limits
from lifecycle.store import aliases

log = logging.getLogger("lifecycle.health")


@never_cache
@require_safe
def health(request: HttpRequest) -> JsonResponse:
    """``{"status": "ok" | "failing", "databases": {alias: {"status", "problems", "numbers"}}}``."""
    limits = Limits()
    databases = {using: _one(using, limits) for using in aliases.with_our_tables()}
    failing = any(one["problems"] for one in databases.values())
    return JsonResponse(
        {"status": "failing" if failing else "ok", "databases": databases}, status=503 if failing else 200
    )


def _one(using: str, limits: Limits) -> dict[str, Any]:
    try:
        seen = read(using)
    except Exception as error:  # noqa: BLE001 whatever is wrong with it, the others are asked
        # Why is for the log: an error's text may hold an address or a user's name. Without frames: it is asked often.
        log.warning("The database '%s' could not be asked for its health: %s", using, error)
        connections[using].close_if_unusable_or_obsolete()
        return {"status": "failing", "problems": ["database"], "numbers": {}}
    problems = list(_problems(seen, limits))
    return {"status": "failing" if problems else "ok", "problems": problems, "numbers": asdict(seen)}


def _problems(seen: Health, limits: Limits) -> list[str]:
    """By the names of the doctor's faults, which say more."""
    problems = []
    if seen.tick_age_seconds is None or seen.tick_age_seconds > limits.tick.total_seconds():
        problems.append("no_tick")
    if seen.oldest_due_seconds > limits.overdue.total_seconds():
        problems.append("overdue_runs")
    if seen.lease_expired and "no_tick" in problems:
        # While somebody ticks, a lost worker's runs are taken back within seconds: no reason for an alarm.
        problems.append("expired_leases")
    return problems
