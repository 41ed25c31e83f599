"""Installation: brings the triggers a database has in line with those it should have."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db import connections, models, router, transaction

from lifecycle import conf
from lifecycle.database_guard import mysql, postgresql, sqlite
from lifecycle.database_guard.trigger import Found, Guarded, Trigger
from lifecycle.models.columns import owned_columns

_DIALECTS: dict[str, Any] = {"postgresql": postgresql, "sqlite": sqlite, "mysql": mysql}


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """What one call changed: the names of the triggers."""

    created: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


def ensure(connection: Any, of: Iterable[type[models.Model]]) -> Installed:
    """Creates the triggers of these models that are missing and drops ours that are no longer wanted.

    One query when nothing is to be done. A table or column that does not exist (a migration is still to come) is left
    for the next time.
    """
    dialect = _DIALECTS.get(connection.vendor)
    if dialect is None:
        return Installed()
    wanted = {(t.name, t.table): t for t in (dialect.trigger(connection, g) for g in guarded_columns(of))}
    there = {(found.name, found.table): found for found in dialect.found(connection)}
    surplus = [found for key, found in there.items() if key not in wanted]
    missing = _possible(connection, [trigger for key, trigger in wanted.items() if key not in there])
    if not surplus and not missing:
        return Installed()
    _carry_out(connection, dialect, surplus, missing)
    return Installed(created=tuple(t.name for t in missing), dropped=tuple(found.name for found in surplus))


def missing(connection: Any, of: Iterable[type[models.Model]]) -> list[Trigger]:
    """The triggers that these models should have on this database and do not; changes nothing."""
    dialect = _DIALECTS.get(connection.vendor)
    if dialect is None:
        return []
    there = {(found.name, found.table) for found in dialect.found(connection)}
    wanted = [dialect.trigger(connection, guarded) for guarded in guarded_columns(of)]
    return _possible(connection, [trigger for trigger in wanted if (trigger.name, trigger.table) not in there])


def guarded_columns(of: Iterable[type[models.Model]]) -> list[Guarded]:
    """The state columns of these models, each once, on the table that has them."""
    found: dict[Guarded, None] = {}
    for model in of:
        if not model._meta.managed:
            continue
        for columns in owned_columns(model):
            # A proxy, or a child of a concrete model: the columns stand in the parent's table, and are guarded there.
            if columns.version is not None and columns.state.model is columns.version.model is model:
                state, version = str(columns.state.column), str(columns.version.column)
                found[Guarded(table=model._meta.db_table, state=state, version=version)] = None
    return list(found)


def after_migrate(using: str, **_: Any) -> None:
    """The receiver of ``post_migrate``; connected for this app alone: once per ``migrate``, when all tables stand."""
    wanted = apps.get_models() if conf.options().database_guard else ()
    ensure(connections[using], [model for model in wanted if router.allow_migrate_model(using, model)])


def _possible(connection: Any, triggers: list[Trigger]) -> list[Trigger]:
    if not triggers:
        return []
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
        columns = {
            table: {column.name for column in connection.introspection.get_table_description(cursor, table)}
            for table in {trigger.table for trigger in triggers} & tables
        }
    return [trigger for trigger in triggers if columns.get(trigger.table, set()).issuperset(trigger.columns)]


def _carry_out(connection: Any, dialect: Any, surplus: list[Found], missing: list[Trigger]) -> None:
    # MySQL commits at every DDL statement: a savepoint around it would be gone when it is to be released.
    together = connection.features.can_rollback_ddl
    whole = transaction.atomic(using=connection.alias) if together else contextlib.nullcontext()
    with whole, connection.cursor() as cursor:
        for found in surplus:
            for statement in dialect.drop(connection, found):
                cursor.execute(statement)
        for trigger in missing:
            for statement in trigger.statements:
                cursor.execute(statement)
