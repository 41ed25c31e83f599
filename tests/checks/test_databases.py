"""What ``manage.py check`` says about databases, routers and settings."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.checks import run_checks
from django.db import connections

from lifecycle import registry
from lifecycle.checks import databases
from lifecycle.checks.ids import TAG
from tests.support.lifecycles import ParcelLifecycle, TicketLifecycle


@pytest.fixture(autouse=True)
def only_the_support_team(monkeypatch: pytest.MonkeyPatch) -> None:
    definitions = [TicketLifecycle.definition, ParcelLifecycle.definition]
    monkeypatch.setattr(registry, "_definitions", {one.name: one for one in definitions})


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[tuple[str, str]]]:
    """Says what is told about a database of this vendor with these options."""

    def told(vendor: str, **options: Any) -> list[tuple[str, str]]:
        connection = SimpleNamespace(
            vendor=vendor, settings_dict={"OPTIONS": options}, is_in_memory_db=lambda: options.get("memory", False)
        )
        monkeypatch.setattr(databases, "connections", {"default": connection})
        return messages()

    return told


def messages() -> list[tuple[str, str]]:
    return [(str(one.id), str(one.msg)) for one in run_checks(tags=[TAG])]


WAL = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"


def test_the_database_under_test_has_nothing_wrong() -> None:
    assert connections["default"].vendor in ("sqlite", "postgresql")
    assert messages() == []


@pytest.mark.parametrize("mode", ["IMMEDIATE", "immediate", "EXCLUSIVE"])
def test_sqlite_as_the_readme_sets_it_up(database: Any, mode: str) -> None:
    assert database("sqlite", transaction_mode=mode, init_command=WAL, timeout=20) == []
    assert database("sqlite", transaction_mode=mode, init_command="pragma journal_mode = wal") == []


@pytest.mark.parametrize("mode", [None, "DEFERRED"])
def test_sqlite_whose_transactions_begin_without_the_lock(database: Any, mode: str | None) -> None:
    """wagtail #14361, opencodelists #2268, #2344: options in the wrong place, or not set."""
    said = "DATABASES['default'] is SQLite without transaction_mode 'IMMEDIATE'."
    assert database("sqlite", transaction_mode=mode, init_command=WAL) == [("lifecycle.E120", said)]


def test_sqlite_without_the_write_ahead_log(database: Any) -> None:
    said = "DATABASES['default'] is SQLite without WAL: pages that read make workers wait."
    assert database("sqlite", transaction_mode="IMMEDIATE") == [("lifecycle.W120", said)]
    assert database("sqlite", transaction_mode="IMMEDIATE", memory=True) == []


def test_sqlite_that_gives_up_early(database: Any) -> None:
    said = "DATABASES['default'] is SQLite with a timeout of 1 s."
    assert database("sqlite", transaction_mode="IMMEDIATE", init_command=WAL, timeout=1) == [("lifecycle.W121", said)]


def test_mysql_at_another_isolation_level(database: Any) -> None:
    assert database("mysql") == []
    assert database("mysql", isolation_level="READ COMMITTED") == []
    said = "DATABASES['default'] runs at isolation level 'repeatable read'."
    assert database("mysql", isolation_level="repeatable read") == [("lifecycle.W122", said)]


def test_postgresql_needs_nothing(database: Any) -> None:
    assert database("postgresql") == []
    assert database("postgresql", isolation_level=2) == []


def test_postgresql_at_another_isolation_level(database: Any) -> None:
    [(code, said)] = database("postgresql", isolation_level=4)
    assert (code, "isolation level 4" in said) == ("lifecycle.W122", True)


class Astray:
    """Writes the record of parcels elsewhere, and nothing else."""

    def db_for_write(self, model: Any, **hints: Any) -> str | None:
        return "elsewhere" if model.__name__ == "Parcel" else None


def test_routers_that_part_a_record_from_its_history(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """django-logic PR #137: a router split the record from what it enqueues."""
    settings.DATABASE_ROUTERS = [f"{__name__}.Astray"]
    connection = SimpleNamespace(vendor="postgresql", settings_dict={"OPTIONS": {}})
    monkeypatch.setattr(databases, "connections", {"default": connection, "elsewhere": connection})
    assert messages() == [
        ("lifecycle.E121", "support.Parcel is written to 'elsewhere', lifecycle.TransitionLog to 'default'."),
        ("lifecycle.E121", "support.Parcel is written to 'elsewhere', lifecycle.Run to 'default'."),
    ]


# Settings ---------------------------------------------------------------------------------------------


def test_settings_with_unknown_keys_and_wrong_values(settings: Any) -> None:
    settings.LIFECYCLE = {"LEASES": 3, "MAX_CRASHES": 0}
    found = run_checks(tags=[TAG])
    assert [(one.id, one.obj) for one in found] == [
        ("lifecycle.E130", "settings.LIFECYCLE['LEASES']"),
        ("lifecycle.E130", "settings.LIFECYCLE['MAX_CRASHES']"),
    ]
    assert "Did you mean 'LEASE'?" in str(found[0].msg)


def test_settings_that_are_no_dict(settings: Any) -> None:
    settings.LIFECYCLE = 5
    assert messages() == [("lifecycle.E130", "settings.LIFECYCLE: expected a dict, got 5.")]


def test_a_dispatcher_that_cannot_be_imported(settings: Any) -> None:
    settings.LIFECYCLE = {"DISPATCHER": "tests.nowhere.Dispatcher"}
    said = "The dispatcher 'tests.nowhere.Dispatcher' cannot be imported: No module named 'tests.nowhere'"
    assert messages() == [("lifecycle.E131", said)]


def test_a_configured_lease_too_short_to_be_renewed_in_time(settings: Any) -> None:
    settings.LIFECYCLE = {"LEASE": timedelta(milliseconds=500)}
    said = "expected 0:00:01 or more, got datetime.timedelta(microseconds=500000)."
    assert messages() == [("lifecycle.E130", said)]
