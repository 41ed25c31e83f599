"""Guard: the database triggers that the setting asks for."""

from __future__ import annotations

from collections.abc import Iterator

from django.apps import apps
from django.db import connections
from django.db.models import Model

from lifecycle import conf
from lifecycle.database_guard import installation
from lifecycle.doctor.examined import Examined
from lifecycle.doctor.finding import ERROR, WARNING, Finding, several
from lifecycle.store import aliases


def missing_triggers(examined: Examined) -> Iterator[Finding]:
    """State columns without the database trigger that DATABASE_GUARD asks for."""
    if not conf.options().database_guard:
        return
    models = _models(examined)
    missing = installation.missing(connections[examined.using], models)
    if missing:
        yield examined.found(
            "missing_triggers",
            ERROR,
            f"{several(len(missing), 'state column is', 'state columns are')} not guarded by the database, though "
            "LIFECYCLE['DATABASE_GUARD'] is on.",
            f"manage.py migrate --database {examined.using} installs the triggers (also when there is no migration to "
            "apply); it needs the right to create them.",
            count=len(missing),
            examples=tuple(f"{t.table}.{t.columns[0]}" for t in missing[: examined.limits.examples]),
        )


def unguarded_columns(examined: Examined) -> Iterator[Finding]:
    """State columns that DATABASE_GUARD cannot protect: their table cannot have the trigger, or may not."""
    if not conf.options().database_guard:
        return
    found = installation.unguardable(connections[examined.using], _models(examined), look=True)
    if found:
        yield examined.found(
            "unguarded_columns",
            WARNING,
            f"{several(len(found), 'state column is', 'state columns are')} beyond LIFECYCLE['DATABASE_GUARD']: "
            f"{found[0][1]}.",
            "If the table may have a trigger, name the model in LIFECYCLE['DATABASE_GUARD_UNMANAGED'] and migrate; for "
            "a view, guard the tables behind it.",
            count=len(found),
            examples=tuple(column for column, _ in found[: examined.limits.examples]),
        )


def _models(examined: Examined) -> list[type[Model]]:
    return [model for model in apps.get_models() if aliases.may_store(model, examined.using)]
