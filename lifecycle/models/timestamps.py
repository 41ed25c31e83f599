"""FirstTimestamp: when a new record came into its state, by the clock of the database it is written to."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lifecycle.models.owned_column import OwnedColumn


class FirstTimestamp:
    """In an INSERT: the process's moment where the two clocks agree to a second, otherwise the database's.

    Timeouts are counted by the database's clock; a moment of a process whose clock is wrong would make them due at
    once, or never. Where the clocks agree the row holds exactly what the instance shows, with no statement to ask for
    it. Without ``resolve_expression``: see `Untouched`.
    """

    __slots__ = ("field", "value")

    def __init__(self, value: dt.datetime, field: OwnedColumn) -> None:
        self.value = value
        self.field = field

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        # SQLite runs in this very process: there is one clock.
        return "%s", [self.field.get_db_prep_value(self.value, connection)]

    def as_postgresql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        mine, [value] = self.as_sql(compiler, connection)
        mine += "::timestamptz"
        agree = f"abs(extract(epoch FROM {mine} - statement_timestamp())) < 1"
        return f"CASE WHEN {agree} THEN {mine} ELSE statement_timestamp() END", [value, value]

    def as_mysql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        mine, [value] = self.as_sql(compiler, connection)
        agree = f"abs(timestampdiff(MICROSECOND, {mine}, UTC_TIMESTAMP(6))) < 1000000"
        return f"CASE WHEN {agree} THEN {mine} ELSE UTC_TIMESTAMP(6) END", [value, value]
