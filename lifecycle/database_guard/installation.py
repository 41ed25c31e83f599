"""Installation: brings the triggers a database has in line with those it should have."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db import connections, models, router, transaction

from lifecycle import conf
from lifecycle.database_guard import mysql, postgresql, sqlite
from lifecycle.database_guard.trigger import Found, Guarded, Shape, Trigger
from lifecycle.models.columns import owned_columns

UNMANAGED = "its model is unmanaged, so that its table is not ours to change"
VIEW = "a view has no rows of its own"

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
    wanted, there = _wanted(connection, dialect, of), dialect.found(connection)
    places = {trigger.place for trigger in wanted}
    surplus = [found for found in there if places.isdisjoint(found.places)]
    missing = _possible(connection, dialect, _absent(wanted, there))
    if not surplus and not missing:
        return Installed()
    _carry_out(connection, dialect, surplus, missing)
    return Installed(created=tuple(t.name for t in missing), dropped=tuple(found.name for found in surplus))


def missing(connection: Any, of: Iterable[type[models.Model]]) -> list[Trigger]:
    """The triggers that these models should have on this database and do not; changes nothing."""
    dialect = _DIALECTS.get(connection.vendor)
    if dialect is None:
        return []
    return _possible(connection, dialect, _absent(_wanted(connection, dialect, of), dialect.found(connection)))


def unguardable(connection: Any, of: Iterable[type[models.Model]], *, look: bool = False) -> list[tuple[str, str]]:
    """The state columns of these models that no trigger will guard here: ``model.field`` and why.

    Args:
        look: ask the database too, which alone knows a view from a table.
    """
    dialect = _DIALECTS.get(connection.vendor)
    if dialect is None:
        return []
    found = []
    for model, guarded in _state_columns(of):
        reason = UNMANAGED if not _is_ours(model) else dialect.cannot(guarded)
        if reason is None and look:
            trigger = dialect.trigger(connection, guarded)
            shape = dialect.shapes(connection, [trigger]).get((trigger.schema, trigger.table))
            if shape is not None and not shape.carries_triggers:
                reason = VIEW
        if reason is not None:
            found.append((f"{model._meta.label}.{guarded.state}", reason))
    return found


def guarded_columns(of: Iterable[type[models.Model]]) -> list[Guarded]:
    """The state columns of these models, each once, on the table that has them."""
    return list(dict.fromkeys(guarded for model, guarded in _state_columns(of) if _is_ours(model)))


def _state_columns(of: Iterable[type[models.Model]]) -> Iterator[tuple[type[models.Model], Guarded]]:
    for model in of:
        for columns in owned_columns(model):
            # A proxy, or a child of a concrete model: the columns stand in the parent's table, and are guarded there.
            if columns.version is not None and columns.state.model is columns.version.model is model:
                state, version = str(columns.state.column), str(columns.version.column)
                yield model, Guarded(table=model._meta.db_table, state=state, version=version)


def _is_ours(model: type[models.Model]) -> bool:
    """Whether its table is for us to touch: Django makes it, or the project says so."""
    return bool(model._meta.managed) or model._meta.label in conf.options().database_guard_unmanaged


def after_migrate(using: str, **_: Any) -> None:
    """The receiver of ``post_migrate``; connected for this app alone: once per ``migrate``, when all tables stand."""
    wanted = apps.get_models() if conf.options().database_guard else ()
    ensure(connections[using], [model for model in wanted if router.allow_migrate_model(using, model)])


def _wanted(connection: Any, dialect: Any, of: Iterable[type[models.Model]]) -> list[Trigger]:
    guarded = [one for one in guarded_columns(of) if dialect.cannot(one) is None]
    return [dialect.trigger(connection, one) for one in guarded]


def _absent(wanted: list[Trigger], there: list[Found]) -> list[Trigger]:
    places = set().union(*(found.places for found in there))
    return [trigger for trigger in wanted if trigger.place not in places]


def _possible(connection: Any, dialect: Any, triggers: list[Trigger]) -> list[Trigger]:
    if not triggers:
        return []
    shapes = dialect.shapes(connection, triggers)
    nothing = Shape(carries_triggers=False, columns=frozenset())
    return [
        trigger
        for trigger in triggers
        if (shape := shapes.get((trigger.schema, trigger.table), nothing)).carries_triggers
        and shape.columns.issuperset(trigger.columns)
    ]


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
