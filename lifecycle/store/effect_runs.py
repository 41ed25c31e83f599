"""Owed runs: written with the transition that owes them."""

from __future__ import annotations

from collections.abc import Sequence

from lifecycle.models import EffectRun


def owe(runs: Sequence[EffectRun], using: str) -> list[EffectRun]:
    """Inserts what one transition (or batch) owes in one statement; must stand in the transition's transaction."""
    if not runs:
        return []
    return list(EffectRun.objects.using(using).bulk_create(runs))
