"""Database: the demo's PostgreSQL database, created when it is missing, dropped when it was the demo's alone."""

from __future__ import annotations

from typing import Any

from django.conf import settings


def create() -> bool:
    """Creates the database if there is none of that name; returns whether it did."""
    name = settings.DATABASES["default"]["NAME"]
    with _server() as connection:
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
            return False
        connection.execute(_sql("CREATE DATABASE {}", name))
        return True


def drop() -> None:
    """Drops the database, whoever is still connected."""
    with _server() as connection:
        connection.execute(_sql("DROP DATABASE IF EXISTS {} WITH (FORCE)", settings.DATABASES["default"]["NAME"]))


def _sql(template: str, name: str) -> Any:
    from psycopg import sql

    return sql.SQL(template).format(sql.Identifier(name))


def _server() -> Any:
    import psycopg

    options = settings.DATABASES["default"]
    return psycopg.connect(
        dbname="postgres",
        user=options["USER"],
        password=options["PASSWORD"] or None,
        host=options["HOST"],
        port=options["PORT"],
        connect_timeout=5,
        autocommit=True,
    )
