"""Database check: whether the databases keep what the engine relies on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.checks import Warning as Caution
from django.db import connections, router

from lifecycle import conf, registry
from lifecycle.checks.ids import TAG
from lifecycle.database_guard import installation
from lifecycle.exceptions import InvalidSettings
from lifecycle.models import Run, TransitionLog
from lifecycle.suggest import did_you_mean

_READ_COMMITTED = 2  # as the drivers of PostgreSQL count
SHORTEST_SQLITE_TIMEOUT = 5  # seconds; Django's and Python's default


def _ours() -> list[str]:
    """The aliases that rows of ours are written to."""
    aliases = [router.db_for_write(model) for model in (TransitionLog, Run)]
    aliases += [router.db_for_write(definition.model) for definition in registry.all() if definition.model is not None]
    return list(dict.fromkeys(aliases))


def _of(*vendors: str) -> Iterator[tuple[str, Any]]:
    for alias in _ours():
        connection = connections[alias]
        if connection.vendor in vendors:
            yield alias, connection


def _options(connection: Any) -> dict[str, Any]:
    return connection.settings_dict.get("OPTIONS") or {}


@register(TAG)
def sqlite_locks_when_a_transaction_begins(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reports SQLite whose transactions begin without the write lock.

    A deferred transaction that reads first and writes later fails at once with "database is locked" when another wrote
    in between; no timeout helps, and nothing serialises two decisions on one record.
    """
    return [
        Error(
            f"DATABASES['{alias}'] is SQLite without transaction_mode 'IMMEDIATE'.",
            hint="Set DATABASES[…]['OPTIONS']['transaction_mode'] = 'IMMEDIATE'.",
            obj=f"DATABASES['{alias}']",
            id="lifecycle.E120",
        )
        for alias, connection in _of("sqlite")
        if str(_options(connection).get("transaction_mode", "")).upper() not in ("IMMEDIATE", "EXCLUSIVE")
    ]


@register(TAG)
def sqlite_reads_while_it_writes(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reports SQLite without the write-ahead log, where a reader blocks every writer."""
    return [
        Caution(
            f"DATABASES['{alias}'] is SQLite without WAL: pages that read make workers wait.",
            hint="Set DATABASES[…]['OPTIONS']['init_command'] = 'PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;'.",
            obj=f"DATABASES['{alias}']",
            id="lifecycle.W120",
        )
        for alias, connection in _of("sqlite")
        if not _is_in_memory(connection)
        and "journal_mode=wal" not in str(_options(connection).get("init_command", "")).lower().replace(" ", "")
    ]


def _is_in_memory(connection: Any) -> bool:
    return bool(connection.is_in_memory_db())


@register(TAG)
def sqlite_waits_for_its_lock(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reports SQLite that gives up on the write lock after less than five seconds."""
    return [
        Caution(
            f"DATABASES['{alias}'] is SQLite with a timeout of {_options(connection)['timeout']} s.",
            hint=f"Set DATABASES[…]['OPTIONS']['timeout'] to {SHORTEST_SQLITE_TIMEOUT} or more.",
            obj=f"DATABASES['{alias}']",
            id="lifecycle.W121",
        )
        for alias, connection in _of("sqlite")
        if _options(connection).get("timeout", SHORTEST_SQLITE_TIMEOUT) < SHORTEST_SQLITE_TIMEOUT
    ]


@register(TAG)
def mysql_reads_what_is_committed(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reports MySQL or MariaDB with gap locks and old snapshots: any isolation level but READ COMMITTED."""
    return [
        Caution(
            f"DATABASES['{alias}'] runs at isolation level '{_options(connection).get('isolation_level')}'.",
            hint="Set DATABASES[…]['OPTIONS']['isolation_level'] = 'read committed' (Django's default).",
            obj=f"DATABASES['{alias}']",
            id="lifecycle.W122",
        )
        for alias, connection in _of("mysql")
        if str(_options(connection).get("isolation_level", "read committed")).lower() != "read committed"
    ]


@register(TAG)
def times_are_kept_in_utc(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reports settings under which Django stores local times: due times, leases and gates are compared in UTC.

    On PostgreSQL a column knows its zone, so ``DATABASES[…]['TIME_ZONE']`` changes nothing there.
    """
    if not settings.USE_TZ:
        return [
            Error(
                "settings.USE_TZ is False: Django would store local times, and lifecycle compares due times in UTC.",
                hint="Set USE_TZ = True (Django's default); TIME_ZONE may stay: pages go on showing local time.",
                obj="settings.USE_TZ",
                id="lifecycle.E122",
            )
        ]
    return [
        Error(
            f"DATABASES['{alias}']['TIME_ZONE'] is '{zone}': lifecycle compares due times in UTC.",
            hint=f"Remove DATABASES['{alias}']['TIME_ZONE']; settings.TIME_ZONE says what pages show.",
            obj=f"DATABASES['{alias}']",
            id="lifecycle.E122",
        )
        for alias, connection in _of("sqlite", "mysql")
        if (zone := connection.settings_dict.get("TIME_ZONE")) not in (None, "UTC")
    ]


@register(TAG)
def postgresql_reads_what_is_committed(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reports PostgreSQL where two transitions of one record fail instead of waiting for each other."""
    return [
        Caution(
            f"DATABASES['{alias}'] runs at isolation level {level}: transitions of one record at once fail instead of "
            "waiting, are tried again, and end as Conflict.",
            hint="Leave DATABASES[…]['OPTIONS']['isolation_level'] out (READ COMMITTED), unless other code needs it.",
            obj=f"DATABASES['{alias}']",
            id="lifecycle.W122",
        )
        for alias, connection in _of("postgresql")
        if (level := _options(connection).get("isolation_level")) is not None and int(level) > _READ_COMMITTED
    ]


@register(TAG)
def records_live_beside_their_history(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reports routers that send a record and what is written with it to different databases."""
    found: list[CheckMessage] = []
    for definition in registry.all():
        if definition.model is None:
            continue
        home = router.db_for_write(definition.model)
        for ours in (TransitionLog, Run):
            other = router.db_for_write(ours)
            if other != home:
                found.append(
                    Error(
                        f"{definition.model._meta.label} is written to '{home}', {ours._meta.label} to '{other}'.",
                        hint="Let the router answer one alias for both: they are written in one transaction.",
                        obj=f"{definition.lifecycle.__name__}.Meta.model",
                        id="lifecycle.E121",
                    )
                )
    return found


@register(TAG)
def workers_leave_replicas_alone(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reports a read replica where the router lets our tables be: drains and ticks would try to write there."""
    return [
        Caution(
            f"DATABASES['{alias}'] mirrors '{mirrored}', but the router allows our tables there: workers serve it.",
            hint=f"Let the router's allow_migrate answer False for '{alias}', and db_for_write name '{mirrored}'.",
            obj=f"DATABASES['{alias}']",
            id="lifecycle.W126",
        )
        for alias in connections
        if (mirrored := (connections[alias].settings_dict.get("TEST") or {}).get("MIRROR"))
        and router.allow_migrate_model(alias, Run)
    ]


@register(TAG)
def tenants_have_workers(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reports tenants with schemas of their own: what one worker does, and where our tables belong."""
    if not hasattr(settings, "TENANT_MODEL"):
        return []
    if apps.get_app_config("lifecycle").name not in getattr(settings, "TENANT_APPS", ()):
        said = "Tenants have schemas of their own, but 'lifecycle' is not in TENANT_APPS: their histories would be one."
        hint = "Add 'lifecycle' to TENANT_APPS, beside the apps whose records it moves."
    else:
        said = "Tenants have schemas of their own, and a worker serves the schema of its connections alone."
        hint = "Start a worker per schema (see the page on fitting into a project), then silence this check."
    return [Caution(said, hint=hint, obj="settings.TENANT_MODEL", id="lifecycle.W127")]


@register(TAG)
def the_guard_reaches_every_state_column(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reports state columns that DATABASE_GUARD passes by, and names in DATABASE_GUARD_UNMANAGED that are no models."""
    try:
        options = conf.options()
    except InvalidSettings:
        return []  # told by the check of the settings
    if not options.database_guard:
        return []
    models = apps.get_models()
    found = [
        _unguarded(column, reason)
        for model in models
        for column, reason in installation.unguardable(connections[router.db_for_write(model)], [model])
    ]
    known = {model._meta.label: model._meta.managed for model in models}
    return found + [
        Caution(
            f"DATABASE_GUARD_UNMANAGED names '{label}', which is no unmanaged model.",
            hint=did_you_mean(label, [name for name, managed in known.items() if not managed]),
            obj=f"settings.{conf.NAME}['DATABASE_GUARD_UNMANAGED']",
            id="lifecycle.W125",
        )
        for label in options.database_guard_unmanaged
        if known.get(label, True)
    ]


def _unguarded(column: str, reason: str) -> CheckMessage:
    hint = "Silence this check if code that goes round Python may write the column."
    if reason == installation.UNMANAGED:
        label = column.rpartition(".")[0]
        hint = f"Add '{label}' to LIFECYCLE['DATABASE_GUARD_UNMANAGED'] if its table may have a trigger. " + hint
    return Caution(
        f"{column} is not guarded by the database: {reason}.",
        hint=hint,
        obj=f"settings.{conf.NAME}['DATABASE_GUARD']",
        id="lifecycle.W125",
    )
