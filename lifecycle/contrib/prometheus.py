"""Prometheus: how each database's engine is doing, as gauges.

Needs ``prometheus-client`` (``pip install django-record-lifecycle[prometheus]``). Either let the process that serves
your metrics collect ours as well::

    from lifecycle.contrib import prometheus

    prometheus.register()

or route `metrics` to an address that only your collector reaches. The numbers come from the database, so one process
of the project is enough, and all of them would say the same. The only label is the database's alias: no record, run or
actor is ever named.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from django.db import connections
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from lifecycle.doctor import health
from lifecycle.store import aliases

log = logging.getLogger("lifecycle.prometheus")

# The attribute of `Health`, the metric's name, its help.
GAUGES = (
    ("due", "lifecycle_due_runs", "Effect runs that could start now (counted up to 10 000)."),
    ("oldest_due_seconds", "lifecycle_oldest_due_seconds", "For how long the oldest of them has been due."),
    ("running", "lifecycle_running_runs", "Effect runs in a worker's hands."),
    ("lease_expired", "lifecycle_expired_leases", "Effect runs whose worker is gone and that nobody took back yet."),
    ("follow_ups_pending", "lifecycle_blocked_follow_ups", "Outcomes whose transition waits for another try."),
    ("follow_ups_abandoned", "lifecycle_abandoned_follow_ups", "Outcomes whose transition was given up."),
    ("dead", "lifecycle_dead_runs", "Effect runs whose every start crashed (counted every ten minutes)."),
    ("failed", "lifecycle_failed_runs", "Effect runs that failed for good (counted every ten minutes)."),
    ("held", "lifecycle_held_triggers", "Due timeouts and deadlines that are refused."),
    ("tick_age_seconds", "lifecycle_tick_age_seconds", "Seconds since the end of the last tick."),
    ("tick_failures", "lifecycle_tick_failures", "What went wrong in the last tick."),
)


class LifecycleCollector(Collector):
    """Reads each database when it is asked; one that does not answer has ``lifecycle_database_up`` 0 and no others."""

    def describe(self) -> Iterator[Metric]:
        """The metrics' names, so that registering needs no database."""
        yield from _families().values()

    def collect(self) -> Iterator[Metric]:
        families = _families()
        for using in aliases.with_our_tables():
            try:
                seen = health.read(using)
            except Exception as error:  # noqa: BLE001 whatever is wrong with it, the others are asked
                log.warning("The database '%s' could not be asked for its numbers: %s", using, error)
                families["up"].add_metric([using], 0)
                # A scrape runs outside of requests, where Django would close what is broken.
                connections[using].close_if_unusable_or_obsolete()
                continue
            families["up"].add_metric([using], 1)
            for attribute, _, _ in GAUGES:
                value = getattr(seen, attribute)
                if value is not None:
                    families[attribute].add_metric([using], value)
        yield from families.values()


def register(registry: CollectorRegistry = REGISTRY) -> LifecycleCollector:
    """Adds our gauges to a registry; to be called once per process that serves metrics."""
    collector = LifecycleCollector()
    registry.register(collector)
    return collector


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Our gauges alone, in Prometheus' text format. Routed by nobody but the project."""
    registry = CollectorRegistry()
    register(registry)
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def _families() -> dict[str, GaugeMetricFamily]:
    made = {attribute: GaugeMetricFamily(name, sentence, labels=["database"]) for attribute, name, sentence in GAUGES}
    made["up"] = GaugeMetricFamily("lifecycle_database_up", "Whether the database answers.", labels=["database"])
    return made
