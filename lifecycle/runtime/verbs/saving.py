"""Saving: a record inserted without `create` gets the entry its history begins with, where a project asks for it."""

from __future__ import annotations

from typing import Any

from lifecycle import conf, registry
from lifecycle.store import adoption, lives, records, timing
from lifecycle.store.record_keys import RecordKey


def note(sender: Any, instance: Any, created: bool, raw: bool, using: str, **kwargs: Any) -> None:
    """Writes the first entry of a record that was just inserted directly, when ``BEGIN_SAVED`` is on.

    The row keeps its version 0, as an adopted one; no guard is asked, no hook called and nothing enqueued: that is what
    `create` does. ``bulk_create`` sends no signal and is left to ``lifecycle_adopt``.
    """
    if not created or raw or not conf.options().begin_saved:
        return
    for definition in registry.for_model(sender):
        if records.version_of(definition, instance) != 0:
            continue  # by create()
        key, now = RecordKey.of(definition, instance, using), timing.now(using)
        if lives.earlier(key):
            lives.begin_saved(definition, instance, key, now)
        else:
            adoption.begin(definition, instance, key, now)
