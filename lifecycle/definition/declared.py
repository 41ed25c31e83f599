"""Declared: what stands in a lifecycle's body under a name, and never changes once it stands there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Declared:
    """The base of `Transition`, `Effect`, triggers and wired functions.

    ``options`` are the ones given, ``unknown`` those that do not exist: they are reported with all other problems of
    the lifecycle rather than one by one as a ``TypeError``.
    """

    word = "declaration"
    name: str
    attribute: str
    options: Mapping[str, Any]
    unknown: Mapping[str, Any]

    def _fill(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __set_name__(self, owner: type, name: str) -> None:
        # The first name counts; a second one is found, and refused, by the compiler.
        if not self.__dict__.get("attribute"):
            self._fill(attribute=name)
            if not self.__dict__.get("name"):
                self._fill(name=name)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"A {self.word} is immutable: declare '{name}' where the {self.word} is made, or override it by name in a "
            "subclass."
        )

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"A {self.word} is immutable.")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.__dict__.get('name') or 'without a name'}>"


def given(**options: Any) -> dict[str, Any]:
    """The options that were given: those that are not `UNSET`."""
    return {name: value for name, value in options.items() if value is not UNSET}


UNSET: Any = type("Unset", (), {"__repr__": lambda self: "UNSET", "__bool__": lambda self: False})()
