"""Name: how a part of a lifecycle is called outside of it."""

from __future__ import annotations


def effect_name(lifecycle: str, effect: str) -> str:
    """An effect's name with its lifecycle's in front, once: ``orders.refund`` also where the effect is called so."""
    return effect if effect.startswith(f"{lifecycle}.") else f"{lifecycle}.{effect}"
