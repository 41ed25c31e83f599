"""AvailableField: what can be done with each record, in the serializer of a list."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from django.db import router
from rest_framework import serializers

from lifecycle import runtime
from lifecycle.rest import representations
from lifecycle.store import parameters


class AvailableField(serializers.Field):  # type: ignore[type-arg]
    """``available = AvailableField()``: the open transitions of each record, allowed or with their refusals.

    For the serializer of a viewset with `LifecycleViewSetMixin`. As many queries as the guards make: what a guard
    looks up of related rows, the viewset's queryset should ``select_related`` or ``prefetch_related``.
    """

    # What drf-spectacular writes of it, said without loading drf-spectacular.
    _spectacular_annotation = {"field": {"type": "array", "items": {"type": "object", "additionalProperties": {}}}}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "read_only": True, "source": "*"})

    def bind(self, field_name: str, parent: Any) -> None:
        """Starts with what is not known yet of the parameters: a serializer lives as long as one answer."""
        super().bind(field_name, parent)
        self._read_parameters: Callable[[str], Any] = cache(lambda using: parameters.read(self._view.definition, using))

    def to_representation(self, record: Any) -> list[dict[str, Any]]:
        """The record's open transitions."""
        view = self._view
        using = record._state.db or router.db_for_read(type(record), instance=record)
        found = runtime.available(
            record,
            actor=view.get_actor(),
            lifecycle=view.lifecycle,
            load_parameters=lambda: self._read_parameters(using),
        )
        return [representations.open_transition(one) for one in view.explained(found, record)]

    @property
    def _view(self) -> Any:
        view = self.context.get("view")
        if not hasattr(view, "explained"):
            raise TypeError(f"{self.field_name}: AvailableField is for serializers of a LifecycleViewSetMixin viewset.")
        return view
