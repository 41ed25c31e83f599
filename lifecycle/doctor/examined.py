"""Examined: one database, and the lifecycles that are looked at there."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lifecycle.definition.compiled import Definition
from lifecycle.definition.names import effect_name
from lifecycle.doctor.finding import Finding, Severity
from lifecycle.doctor.limits import Limits
from lifecycle.models import stuck
from lifecycle.store import timing


@dataclass(frozen=True, kw_only=True)
class Examined:
    """What a fault's function is given.

    ``definitions`` are the lifecycles whose records may be on this database. ``only`` is None when all lifecycles are
    looked at: then rows of lifecycles that this process does not know count too.
    """

    using: str
    definitions: Sequence[Definition]
    only: frozenset[str] | None
    limits: Limits
    say: Callable[[str], None]

    @cached_property
    def now(self) -> dt.datetime:
        """The time as this database has it."""
        return timing.now(self.using)

    @cached_property
    def strange_states(self) -> list[tuple[Definition, stuck.Strange]]:
        """Records in unknown or deprecated states: one statement per lifecycle answers both questions."""
        return [
            (definition, strange)
            for definition in self.definitions
            for strange in stuck.strange_states(definition, self.using)
        ]

    def found(self, id: str, severity: Severity, sentence: str, remedy: str, **more: Any) -> Finding:
        """A finding about this database."""
        return Finding(id=id, severity=severity, sentence=sentence, remedy=remedy, using=self.using, **more)

    def run_examples(self, rows: Any) -> tuple[str, ...]:
        """Some runs, as a person may look them up."""
        some = rows.order_by("id").values_list("id", "lifecycle", "effect", "record_id")[: self.limits.examples]
        return tuple(
            f"run {id_} ({effect_name(lifecycle, effect)} of {record})" for id_, lifecycle, effect, record in some
        )
