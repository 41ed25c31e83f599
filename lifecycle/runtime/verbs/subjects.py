"""Subjects: the records of a batch, by the database they are in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from django.db.models import QuerySet

from lifecycle.definition.contexts import Record
from lifecycle.runtime.verbs import firing
from lifecycle.store import records

Subjects: TypeAlias = QuerySet[Any] | Iterable[Record]


@dataclass(frozen=True, kw_only=True)
class Part:
    """The subjects of one database: their keys, and who holds instances of them."""

    model: Any
    using: str
    pks: list[Any]
    instances: Mapping[Any, list[Any]] = field(default_factory=dict)

    @classmethod
    def of_queryset(cls, subjects: QuerySet[Any]) -> Part:
        """The rows a queryset finds, on the database it names, or else where its model is written."""
        using = records.write_alias_of(subjects)
        return cls(model=subjects.model, using=using, pks=records.pks_of(subjects, using))

    @classmethod
    def of_instances(cls, subjects: Iterable[Any]) -> list[Part]:
        """One part per database, in the order in which they come."""
        found: dict[str, dict[Any, list[Any]]] = {}
        model: Any = None
        for record in subjects:
            model = model or type(record)
            held = found.setdefault(firing.write_alias(record), {})
            held.setdefault(records.key_of(record), []).append(record)
        return [cls(model=model, using=using, pks=list(held), instances=held) for using, held in found.items()]


def chunks(pks: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(pks), size):
        yield pks[start : start + size]
