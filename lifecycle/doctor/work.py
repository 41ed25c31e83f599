"""Work: runs that nobody does, that nobody can do, and outcomes that led nowhere."""

from __future__ import annotations

from collections.abc import Iterator

from lifecycle import registry
from lifecycle.definition.names import effect_name
from lifecycle.doctor.examined import Examined
from lifecycle.doctor.finding import ERROR, WARNING, Finding, several
from lifecycle.doctor.periods import spoken
from lifecycle.models import stuck
from lifecycle.suggest import did_you_mean


def overdue_runs(examined: Examined) -> Iterator[Finding]:
    """Runs that have been due for a long time and that no worker claims."""
    rows = stuck.overdue(examined.using, examined.now - examined.limits.overdue, examined.only)
    for waiting in stuck.overdue_queues(rows):
        yield examined.found(
            "overdue_runs",
            ERROR,
            f"{several(waiting.count, 'run', 'runs')} of the queue '{waiting.queue}' wait to be done, the oldest for "
            f"{spoken(examined.now - waiting.since)}.",
            f"Start a worker for it (manage.py lifecycle_worker --queue {waiting.queue}), or more of them; see "
            "LIFECYCLE['QUEUES'] for the Celery queue it is mapped to.",
            count=waiting.count,
            examples=examined.run_examples(rows.filter(queue=waiting.queue)),
        )


def expired_leases(examined: Examined) -> Iterator[Finding]:
    """Runs whose lease has expired and that no tick has taken back."""
    rows = stuck.left_leases(examined.using, examined.now - examined.limits.tick, examined.only)
    count = rows.count()
    if count:
        yield examined.found(
            "expired_leases",
            ERROR,
            f"{several(count, 'run is', 'runs are')} held by workers that were lost more than "
            f"{spoken(examined.limits.tick)} ago.",
            "The tick takes them back and it does not come to it: manage.py lifecycle_tick --force says why.",
            count=count,
            examples=examined.run_examples(rows),
        )


def dead_runs(examined: Examined) -> Iterator[Finding]:
    """Dead runs that no transition followed."""
    rows = stuck.dead(examined.using, examined.only)
    count = rows.count()
    if count:
        yield examined.found(
            "dead_runs",
            ERROR,
            f"{several(count, 'run is', 'runs are')} dead: every start crashed, and no transition follows.",
            "Read the attempts (memory, a native crash, a killed container), correct the cause, then "
            "manage.py lifecycle_retry --status dead --reason …. An on_dead transition lets the process itself answer.",
            count=count,
            examples=examined.run_examples(rows),
        )


def unknown_effects(examined: Examined) -> Iterator[Finding]:
    """Pending runs of effects or lifecycles that this code does not know. They wait for code that does."""
    for found in stuck.pending(examined.using, examined.only):
        definition = registry.find(found.lifecycle)
        if definition is not None and found.effect in definition.effects:
            continue
        if definition is None:
            known = [one.name for one in registry.all()]
            what, near = f"the lifecycle '{found.lifecycle}'", did_you_mean(found.lifecycle, known)
        else:
            what, near = f"the effect '{found.effect}'", did_you_mean(found.effect, definition.effects)
        yield examined.found(
            "unknown_effects",
            ERROR,
            f"{several(found.count, 'run', 'runs')} of {effect_name(found.lifecycle, found.effect)}: "
            f"this code does not know {what}.",
            f"Deploy the code that declares it until nothing is pending any more, or cancel the runs. {near}",
            lifecycle=found.lifecycle,
            count=found.count,
            examples=examined.run_examples(stuck.enqueued_by(examined.using, found.lifecycle, found.effect)),
        )


def abandoned_follow_ups(examined: Examined) -> Iterator[Finding]:
    """Runs whose follow-up was refused too often and was abandoned. Their records do not show the outcome."""
    rows = stuck.abandoned(examined.using, examined.only)
    count = rows.count()
    if count:
        yield examined.found(
            "abandoned_follow_ups",
            ERROR,
            f"{several(count, 'follow-up is', 'follow-ups are')} abandoned: the work is done, its record was not told.",
            "Read why in the run (follow_up_error), lift the reason, then continue the run in the admin.",
            count=count,
            examples=examined.run_examples(rows),
        )


def blocked_follow_ups(examined: Examined) -> Iterator[Finding]:
    """Runs whose follow-up was refused and will be tried again."""
    rows = stuck.blocked(examined.using, examined.only)
    count = rows.count()
    if count:
        yield examined.found(
            "blocked_follow_ups",
            WARNING,
            f"{several(count, 'follow-up was', 'follow-ups were')} refused and wait for another try.",
            "Read why in the run (follow_up_error) and lift the reason; the tick tries again by itself.",
            count=count,
            examples=examined.run_examples(rows),
        )
