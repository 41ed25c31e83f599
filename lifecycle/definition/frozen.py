"""Frozen: a dict nobody can change; still a dict to JSON encoders, equality and pickling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Frozen(dict[K, V]):
    """A mapping of a compiled definition. Changing one is a ``TypeError``: a definition is declared, not edited."""

    __slots__ = ()

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("A lifecycle's definition is immutable: change its class and deploy it.")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self),)

    def __copy__(self) -> Frozen[K, V]:
        return self


def deep(value: Any) -> Any:
    """A private copy of JSON-like data that nobody can change: dicts frozen, lists as tuples."""
    if isinstance(value, Mapping):
        return Frozen({key: deep(item) for key, item in value.items()})
    if isinstance(value, (list, tuple)):
        return tuple(deep(item) for item in value)
    return value
