"""Layout: where a model's columns stand in a row, and which of them only the runtime changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from django.db import models

if TYPE_CHECKING:
    from lifecycle.models.fields import StateField
    from lifecycle.models.owned_column import OwnedColumn


class _Mark:
    """A value no column can hold."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        # Pickled and copied by name: an instance's record may hold UNREAD.
        return self.name


MISSING: Final = _Mark("MISSING")
UNREAD: Final = _Mark("UNREAD")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a model's columns stand in a fully loaded row; worked out once per class."""

    fields: Any
    attnames: tuple[str, ...]
    positions: Mapping[str, int]
    owned: tuple[OwnedColumn, ...]
    states: tuple[StateField, ...]
    plain: tuple[str, ...]  # written as the instance holds them
    rewritten: tuple[str, ...]  # their pre_save() may put another value (auto_now, files)
    generated: frozenset[str]
    in_place: tuple[int, ...]  # positions of columns whose values can be changed in place


def layout_of(model: type[models.Model]) -> Layout:
    """The layout of ``model``.

    Kept on ``_meta`` and not on the class, because a child of a concrete model would inherit its parent's positions.
    """
    options = model._meta
    layout: Layout | None = options.__dict__.get("_lifecycle_layout")
    # Django replaces concrete_fields whenever a field is added: identity is enough to notice.
    if layout is None or layout.fields is not options.concrete_fields:
        layout = _work_out(options)
        options.__dict__["_lifecycle_layout"] = layout
    return layout


def _work_out(options: Any) -> Layout:
    fields = options.concrete_fields
    owned = tuple(field for field in fields if getattr(field, "guarded", False))
    plain: list[str] = []
    rewritten: list[str] = []
    for field in fields:
        simple = field in owned or type(field).pre_save is models.Field.pre_save
        (plain if simple else rewritten).append(field.attname)
    return Layout(
        fields=fields,
        attnames=tuple(field.attname for field in fields),
        positions={field.attname: position for position, field in enumerate(fields)},
        owned=owned,
        states=tuple(field for field in owned if field.role == "state"),
        plain=tuple(plain),
        rewritten=tuple(rewritten),
        generated=frozenset(field.attname for field in fields if field.generated),
        in_place=tuple(
            position for position, field in enumerate(fields) if field not in owned and _may_change_in_place(field)
        ),
    )


def _may_change_in_place(field: Any) -> bool:
    """Whether the values of a column may be lists or the like: JSON, arrays, and what fields of others make of them."""
    return isinstance(field, models.JSONField) or not type(field).__module__.startswith("django.db.models.fields")
