"""Reminder: the next run of a repeated reminder."""

from __future__ import annotations

import datetime as dt

from lifecycle import conf
from lifecycle.definition.compiled import CompiledEffect
from lifecycle.models import FollowUp, Run, RunStatus
from lifecycle.store import enqueueing
from lifecycle.store.claims import ClaimedRun


def next_reminder(run: ClaimedRun | Run, repeat: dt.timedelta, effect: CompiledEffect, now: dt.datetime) -> Run:
    """The run of the reminder's next occurrence."""
    passed = max((now - run.available_at) // repeat, 0) + 1
    return Run(
        entry_id=run.entry_id,
        lifecycle=run.lifecycle,
        record_id=run.record_id,
        effect=run.effect,
        queue=run.queue,
        stay_version=run.stay_version,
        status=RunStatus.QUEUED,
        available_at=run.available_at + repeat * passed,
        max_attempts=None if run.max_attempts is None else run.max_attempts - run.retry_base,
        max_crashes=conf.options().max_crashes,
        lease_seconds=enqueueing.lease_seconds(effect),
        marks_entry=effect.marks_entry,
        follow_up=FollowUp.NONE,
        reminder=run.reminder,
        created_at=now,
        updated_at=now,
    )
