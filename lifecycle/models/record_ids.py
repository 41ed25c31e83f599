"""Record id: a record's key inside SQL, in the very form history, runs and holds name it."""

from __future__ import annotations

from typing import Any

from django.db import connections, models
from django.db.models import OuterRef, Value
from django.db.models.functions import Cast, Concat, Substr


def outer_record_id(model: type[models.Model], using: str) -> Any:
    """The outer row's key as text, for a subquery over one of our tables."""
    key: Any = model._meta.pk
    while key.remote_field is not None:  # multi-table inheritance: the key is a link to the parent's
        key = key.target_field
    text = Cast(OuterRef("pk"), models.CharField())
    if isinstance(key, models.UUIDField) and not connections[using].features.has_native_uuid_field:
        # The database keeps 32 bare digits; Python writes them with dashes.
        groups = [Substr(text, start, length) for start, length in ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))]
        return Concat(*[piece for group in groups for piece in (group, Value("-"))][:-1])
    return text
