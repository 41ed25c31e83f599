"""Trigger: what is asked of a database for one state column."""

from __future__ import annotations

import hashlib
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A trigger of ours that a database has; ``table`` is None when only its function is left."""

    name: str
    table: str | None


def named(guarded: Guarded, *templates: str) -> Trigger:
    """A trigger from its statements, in which ``{name}`` stands for the name they hash to."""
    digest = hashlib.sha256("\n".join(templates).encode()).hexdigest()[:24]
    name = PREFIX + digest
    return Trigger(
        name=name,
        table=guarded.table,
        columns=(guarded.state, guarded.version),
        statements=tuple(template.replace("{name}", name) for template in templates),
    )


def literal(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"
