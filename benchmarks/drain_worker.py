"""The worker that `drain.py` measures: the suite's, with one more task — the plain way, one Celery task per run."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from celery.signals import worker_init
from django.db import connection

from tests.processes.app import app

__all__ = ["app", "one_run"]

CLAIM = """
UPDATE lifecycle_run SET status = 'running', fence = fence + 1, leased_by = 'plain',
    started_at = clock_timestamp(), lease_until = clock_timestamp() + interval '60 seconds'
WHERE id = %s AND status = 'queued' RETURNING fence
"""
FINISH = """
UPDATE lifecycle_run SET status = 'succeeded', outcome = 'succeeded', attempts = attempts + 1,
    lease_until = NULL, leased_by = '', finished_at = clock_timestamp(), updated_at = clock_timestamp()
WHERE id = %s AND fence = %s AND status = 'running'
"""


@shared_task(name="benchmark.one_run", ignore_result=True)
def one_run(run_id: int) -> None:
    """Claims by id, does nothing, finishes."""
    with connection.cursor() as cursor:
        cursor.execute(CLAIM, [run_id])
        claimed = cursor.fetchone()
        if claimed is not None:
            cursor.execute(FINISH, [run_id, claimed[0]])


@worker_init.connect(weak=False)
def empty_the_effects(**kwargs: Any) -> None:
    """The measured effect does nothing."""
    from tests.support import lifecycles

    lifecycles.behaviours["refund_postage"] = lambda ctx: None
