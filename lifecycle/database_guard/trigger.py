"""Trigger: what is asked of a database for one state column."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

# With a looser prefix the installation would drop triggers of the project's own.
PREFIX = "lifecycle_guard_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """A state column and the version that must grow with it, by their names in the database."""

    table: str
    state: str
    version: str

    @property
    def sentence(self) -> str:
        """What the database answers a write it refuses (no quotes, no percent signs: it stands inside SQL)."""
        return f"{self.table}.{self.state} is changed by lifecycle transitions only: {self.version} must grow with it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """A trigger by its name, and the statements that create it. The name is a hash of them: a renamed column or a
    newer text of ours gives another name, so whatever is installed under a known name is known to be right."""

    name: str
    table: str
    columns: tuple[str, ...]
    statements: tuple[str, ...]
    schema: str | None = None

    @property
    def place(self) -> tuple[str, str | None, str]:
        """By what it is known again: its name, and the table by schema (None: on the search path) and name."""
        return self.name, self.schema, self.table


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A trigger of ours that a database has; ``table`` is None when only its function is left."""

    name: str
    table: str | None
    schema: str | None = None
    visible: bool = True

    @property
    def places(self) -> set[tuple[str, str | None, str | None]]:
        """Every place it may be asked for by: one on the search path also without its schema."""
        bare = {(self.name, None, self.table)} if self.visible else set()
        return bare | ({(self.name, self.schema, self.table)} if self.schema is not None else set())


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What stands under a table's name: whether rows there can be watched by a trigger, and its columns."""

    carries_triggers: bool
    columns: frozenset[str]


def named(guarded: Guarded, written: Callable[[str], Iterable[str]], *, cut: Callable[[str], str] = str) -> Trigger:
    """A trigger from what writes its statements, given the name they hash to.

    Args:
        cut: makes of an identifier what the database keeps of it.
    """
    digest = hashlib.sha256("\n".join(written("{name}")).encode()).hexdigest()[:24]
    schema, table = parts(guarded.table)
    return Trigger(
        name=PREFIX + digest,
        table=cut(table),
        schema=schema if schema is None else cut(schema),
        columns=(cut(guarded.state), cut(guarded.version)),
        statements=tuple(written(PREFIX + digest)),
    )


def parts(table: str) -> tuple[str | None, str]:
    """Schema and name of a ``db_table``; a project may quote both, ``"other"."things"``, which Django passes on."""
    for quote in '"`':
        names = re.findall(f"{quote}((?:[^{quote}]|{quote}{quote})+){quote}(?:\\.|$)", table)
        if table[:1] == table[-1:] == quote and 1 <= len(names) <= 2:
            plain = [name.replace(quote * 2, quote) for name in names]
            return (plain[0], plain[1]) if len(plain) == 2 else (None, plain[0])
    return None, table


def literal(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"
