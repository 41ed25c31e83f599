"""Indexes: those that claims, sweeps and uniqueness rely on, as the database really has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.db import connections, models

from lifecycle.database_guard.trigger import parts
from lifecycle.definition.compiled import Definition
from lifecycle.doctor.examined import Examined
from lifecycle.doctor.finding import ERROR, WARNING, Finding, several


def missing(examined: Examined) -> Iterator[Finding]:
    """Missing indexes and unique constraints of the library, and timeouts whose model has no index for them."""
    connection = connections[examined.using]
    lacking = [
        f"{model._meta.db_table}.{name}"
        for model in apps.get_app_config("lifecycle").get_models()
        for name in _expected(model, connection).difference(_there(connection, model._meta.db_table))
    ]
    if lacking:
        yield examined.found(
            "missing_indexes",
            ERROR,
            f"{several(len(lacking), 'index or constraint of our tables is', 'indexes or constraints are')} missing.",
            "Create them as the migrations of 'lifecycle' do (manage.py sqlmigrate lifecycle …): without the unique "
            "ones one entry may be written twice, without the others claims and sweeps walk over the whole table.",
            count=len(lacking),
            examples=tuple(sorted(lacking)[: examined.limits.examples]),
        )
    for definition in examined.definitions:
        if definition.timeouts and not _has_state_index(definition, connection):
            columns = ", ".join(_state_columns(definition))
            yield examined.found(
                "missing_indexes",
                WARNING,
                f"{definition.model._meta.label} has timeouts and no index on ({columns}): each tick reads the table.",
                f"Add models.Index(fields=['{definition.state_field}', '{definition.changed_at_field}'], name=…) to "
                "its Meta.indexes, make and apply the migration.",
                lifecycle=definition.name,
                examples=(_table(definition),),
            )


def _expected(model: Any, connection: Any) -> set[str]:
    """The names of what a model's Meta makes on this database."""
    partial = connection.features.supports_partial_indexes
    made = [index for index in model._meta.indexes if index.condition is None or partial]
    made += [
        constraint
        for constraint in model._meta.constraints
        if isinstance(constraint, models.UniqueConstraint) and (constraint.condition is None or partial)
    ]
    return {one.name for one in made}


def _there(connection: Any, table: str) -> dict[str, dict[str, Any]]:
    with connection.cursor() as cursor:
        found: dict[str, dict[str, Any]] = connection.introspection.get_constraints(cursor, table)
    return found


def _has_state_index(definition: Definition, connection: Any) -> bool:
    table, wanted = _table(definition), _state_columns(definition)
    # Django's introspection cannot look at a table named with its schema, nor are there indexes of a view; any other
    # table has a primary key at least. What cannot be seen here is judged by the system check, by its declaration.
    there = _there(connection, table) if parts(table)[0] is None else {}
    found = [list(one["columns"] or ())[:2] for one in there.values() if one["index"]]
    return wanted in found or not there


def _state_columns(definition: Definition) -> list[str]:
    options = definition.model._meta
    return [options.get_field(name).column for name in (definition.state_field, definition.changed_at_field)]


def _table(definition: Definition) -> str:
    """Where the state's column stands: a child of a concrete model has it in its parent's table."""
    return str(definition.model._meta.get_field(definition.state_field).model._meta.db_table)
