"""LifecycleModel: what a user's model inherits from to have a lifecycle."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, Self

from django.db import models

from lifecycle.models import permits
from lifecycle.models.accessors import LifecycleAccessor
from lifecycle.models.fields import ChangedAtField, VersionField
from lifecycle.models.layout import layout_of
from lifecycle.models.loaded import SLOT, kept, note_refreshed, note_saved, portable


class LifecycleModel(models.Model):
    """Abstract. Brings the changed-at and version columns of the first `StateField`, and remembers what was loaded.

    A model with other names for the two declares them with ``for_state`` and removes these:
    ``status_changed_at = None``.
    """

    # The fields look for this mark: a historical model or a copy of a field elsewhere does not carry it.
    _lifecycle_guards_columns = True

    # What the row held (see `loaded`); absent on an instance that was not read or written.
    _lifecycle_loaded: Any

    status_changed_at = ChangedAtField()
    lifecycle_version = VersionField()

    if TYPE_CHECKING:
        # Attached when lifecycles are registered. `Any` here, so that a model may name its transitions (see there).
        lifecycle: LifecycleAccessor[Any]

    class Meta:
        abstract = True

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        if SLOT in state:
            state[SLOT] = portable(self)
        return state

    @classmethod
    def from_db(cls, db: str | None, field_names: Collection[str], values: Collection[Any], **kwargs: Any) -> Self:
        instance = super().from_db(db, field_names, values, **kwargs)
        # What Django gave us, as it is: nothing is worked out per row but for values that can be changed in place (see
        # `loaded`). Set as an attribute, not through __dict__: touching that makes Python build the instance a dict of
        # its own, dearer than all else.
        layout = layout_of(cls)
        full = len(values) == len(layout.attnames)
        if layout.in_place:
            values = kept(layout, None if full else field_names, values)  # type: ignore[arg-type]
        instance._lifecycle_loaded = values if full else (field_names, values)
        return instance

    def refresh_from_db(
        self, using: str | None = None, fields: Iterable[str] | None = None, from_queryset: Any = None
    ) -> None:
        names = None if fields is None else list(fields)
        super().refresh_from_db(using=using, fields=names, from_queryset=from_queryset)
        note_refreshed(self, None if names is None else frozenset(names))

    def _save_table(
        self,
        raw: bool = False,
        cls: Any = None,
        force_insert: Any = False,
        force_update: bool = False,
        using: str | None = None,
        update_fields: Any = None,
    ) -> bool:
        # Private in Django, but the one place both save() and fixtures pass, once for each table of the instance
        # (fixtures call Model.save_base unbound, so overriding that would not be seen).
        arguments = (raw, cls, force_insert, force_update, using, update_fields)
        if raw:
            with permits.raw_save():
                updated = super()._save_table(*arguments)  # type: ignore[misc]
        else:
            updated = super()._save_table(*arguments)  # type: ignore[misc]
        note_saved(self, cls, update_fields, raw=raw)
        return bool(updated)
