"""State: a node as declared, and the words for many states at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Final, Never

CREATE: Final = "$create"
"""The creation of a record, where a transition's name is expected: ``@guard(on=CREATE)``."""


class State:
    """What ``Meta.states`` may say about a state besides its name.

    Args:
        label: what people read; may be a lazy translation.
        meta: JSON-able data for pages (colour, icon).
        final: the process ends here (the same as naming it in ``Meta.final``).
        deprecated: records may still be in it, but nothing leads into it any more.
    """

    __slots__ = ("deprecated", "final", "label", "meta", "unknown")

    def __init__(
        self,
        label: Any = None,
        *,
        meta: Mapping[str, Any] | None = None,
        final: bool = False,
        deprecated: bool = False,
        **unknown: Never,
    ) -> None:
        values = {"label": label, "meta": meta or {}, "final": final, "deprecated": deprecated, "unknown": unknown}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def options(self) -> dict[str, Any]:
        """What was said, by option."""
        return {"label": self.label, "meta": self.meta, "final": self.final, "deprecated": self.deprecated}

    label: Any
    meta: Mapping[str, Any]
    final: bool
    deprecated: bool
    unknown: Mapping[str, Any]

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("State is immutable.")


class Everything:
    """``ANY``: every state that is not final; where transitions are named, every transition."""

    def __repr__(self) -> str:
        return "ANY"


ANY: Final = Everything()


class AnyExcept:
    """``ANY_EXCEPT(S.CLOSED, …)``: what `ANY` means, but for the ones named."""

    def __init__(self, *names: Any) -> None:
        self.names: tuple[Any, ...] = tuple(flat(names))

    def __repr__(self) -> str:
        return f"ANY_EXCEPT({', '.join(map(repr, self.names))})"


ANY_EXCEPT = AnyExcept


def is_any(value: Any) -> bool:
    """Whether this is `ANY` or ``ANY_EXCEPT(…)``."""
    return isinstance(value, (Everything, AnyExcept))


def flat(value: Any) -> list[Any]:
    """One thing, several, or several in lists, as a list."""
    if value is None:
        return []
    if (
        isinstance(value, (str, Enum, Everything, AnyExcept))
        or not isinstance(value, Iterable)
        or isinstance(value, type)
    ):
        return [value]
    return [item for part in value for item in flat(part)]


def plain(value: Any) -> Any:
    """The plain value of a choices member; anything else as it is."""
    value = value.value if isinstance(value, Enum) else value
    return str(value) if isinstance(value, str) else value


def words(name: str) -> str:
    """A name as people read it: ``checkout_created`` → ``Checkout created``."""
    text = name.replace("_", " ").replace("-", " ").strip()
    return text[:1].upper() + text[1:]
