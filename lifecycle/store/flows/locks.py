"""Lock: who locks what of a flow.

Only the commit of a step and an advance change a flow, under its lock; everybody else inserts facts without it. The
order of locks is everywhere: record, flow, run. A lock and a look are two statements, for a statement's snapshot is
older than the lock it waited for.
"""

from __future__ import annotations

from typing import Any

from django.db import connections

from lifecycle.models import FlowRun, FlowStatus


def to_change(flow_id: int, using: str) -> FlowRun:
    """The flow, for one who will go on with it: waits for others who change it, never for a publisher."""
    return _locked(flow_id, using, no_key=True)


def to_close(flow: FlowRun, using: str) -> None:
    """The stronger lock of one who ends it: waits for whoever is publishing, and sees their messages afterwards."""
    if connections[using].features.has_select_for_no_key_update:
        _locked(flow.pk, using, no_key=False)


def to_publish(flow_id: int, using: str) -> bool:
    """Whether the flow is running, and will not be ended before this transaction is over.

    Waits for no step on PostgreSQL, where it is the weakest lock there is; elsewhere a publisher waits for a step's
    commit.
    """
    connection = connections[using]
    lock = {"postgresql": " FOR KEY SHARE", "mysql": " LOCK IN SHARE MODE"}.get(connection.vendor, "")
    table = connection.ops.quote_name(FlowRun._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT status FROM {table} WHERE id = %s{lock}", [flow_id])  # noqa: S608 names of ours
        row = cursor.fetchone()
    return row is not None and row[0] == FlowStatus.RUNNING


def _locked(flow_id: int, using: str, *, no_key: bool) -> FlowRun:
    rows: Any = FlowRun.objects.using(using)
    features = connections[using].features
    if features.has_select_for_update:
        rows = rows.select_for_update(no_key=no_key and features.has_select_for_no_key_update)
    found: FlowRun = rows.get(pk=flow_id)
    return found
