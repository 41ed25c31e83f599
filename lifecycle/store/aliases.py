"""Aliases: the databases that hold our tables; drains and ticks serve each of them."""

from __future__ import annotations

from typing import Any

from django.db import DatabaseError, connections, router

from lifecycle.models import Run

# Aliases seen to have the table, with the database they named. An absent table may yet appear, a present one stays.
_seen: set[tuple[str, str]] = set()


def with_our_tables() -> list[str]:
    """Every alias where runs may be pending: the router lets our tables be there and they are.

    One that cannot be asked now counts as one of them: its work then fails and says so, while the others go on.
    """
    allowed = [alias for alias in connections if router.allow_migrate_model(alias, Run)]
    if len(allowed) == 1:
        return allowed
    return [alias for alias in allowed if _has_tables(alias)]


def may_store(model: Any, using: str) -> bool:
    """Whether records of this model can be on this alias."""
    return bool(router.allow_migrate_model(using, model))


def _has_tables(alias: str) -> bool:
    connection = connections[alias]
    key = (alias, str(connection.settings_dict["NAME"]))
    if key in _seen:
        return True
    try:
        with connection.cursor() as cursor:
            found = Run._meta.db_table in connection.introspection.table_names(cursor)
    except DatabaseError:
        return True
    if found:
        _seen.add(key)
    return found
