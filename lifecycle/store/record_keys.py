"""RecordKey: which record — a row of one database, under one lifecycle, by the name that history and runs give it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.db import models

from lifecycle.definition.compiled import Definition


@dataclass(frozen=True, slots=True)
class RecordKey:
    """Made once per call and handed down; two of one record are equal, however its key was given.

    Which *life* of the key is meant is said by the entries: the newest creation among them begins it.

    Args:
        using: the database.
        lifecycle: the lifecycle's name.
        record_id: the key as text.
        pk: the key as the model has it.
    """

    using: str
    lifecycle: str
    record_id: str
    pk: Any = field(compare=False)

    @classmethod
    def of(cls, definition: Definition, record_or_pk: Any, using: str) -> RecordKey:
        """The key of an instance, or of a primary key."""
        pk = record_or_pk.pk if isinstance(record_or_pk, models.Model) else record_or_pk
        return cls(using, definition.name, str(pk), pk)
