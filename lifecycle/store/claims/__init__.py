"""Claims of every database: one contract, one conformance suite."""

from __future__ import annotations

from collections.abc import Callable

from django.db import connections
from django.db.utils import NotSupportedError

from lifecycle.store.claims.contract import ClaimedRun, Claims, Wanted
from lifecycle.store.claims.mysql import MySQLClaims
from lifecycle.store.claims.postgresql import PostgreSQLClaims
from lifecycle.store.claims.sqlite import SQLiteClaims
from lifecycle.store.claims.unanswered import held_by

__all__ = ["ClaimedRun", "Claims", "Wanted", "for_alias", "held_by"]

_BY_VENDOR: dict[str, Callable[[str], Claims]] = {
    "postgresql": PostgreSQLClaims,
    "sqlite": SQLiteClaims,
    "mysql": MySQLClaims,
}


def for_alias(using: str) -> Claims:
    """The claims of a database alias; cheap, holds no connection."""
    vendor = connections[using].vendor
    if vendor not in _BY_VENDOR:
        raise NotSupportedError(
            f"Database '{using}' ({vendor}) cannot run effects. "
            f"Use {', '.join(sorted(_BY_VENDOR))} (MariaDB counts as mysql)."
        )
    return _BY_VENDOR[vendor](using)
