"""Callable: a function as declared — method, plain function, dotted path — and as it will be called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any


class Dotted:
    """A function named by its path, imported when it is first called; ``manage.py check`` imports it earlier."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.__name__ = path.rpartition(".")[2]
        self._loaded: Any = None

    def load(self) -> Any:
        """What the path names.

        Raises:
            ImportError: no such module, or nothing of that name in it.
        """
        if self._loaded is None:
            self._loaded = imported(self.path)
        return self._loaded

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.load()(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Dotted {self.path}>"


def imported(path: str) -> Any:
    """The object a dotted path names.

    Raises:
        ImportError: naming the whole path, also when only the last part is wrong.
    """
    module, _, name = path.rpartition(".")
    if not module:
        raise ImportError(f"'{path}' is no dotted path: expected 'package.module.name'.")
    found = import_module(module)
    try:
        return getattr(found, name)
    except AttributeError:
        raise ImportError(f"'{path}' cannot be imported: module '{module}' has no '{name}'.") from None


def unwrapped(function: Any) -> Any:
    """The function inside a ``staticmethod``; anything else as it is."""
    return function.__func__ if isinstance(function, staticmethod) else function


def positional(function: Callable[..., Any]) -> tuple[int, float] | None:
    """How few and how many positional arguments a function takes; None when nobody can tell."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    fewest, most = 0, 0.0
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            most = float("inf")
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            most += 1
            fewest += parameter.default is parameter.empty
        elif parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty:
            return (-1, -1)  # can never be called by position alone
    return fewest, most


def accepts(function: Any, count: int) -> bool:
    """Whether a function can be called with so many positional arguments."""
    limits = positional(function)
    return limits is None or limits[0] <= count <= limits[1]


def takes_owner(function: Any) -> bool:
    """Whether a function in a lifecycle's body is written as ``(self, ctx)`` rather than ``(ctx)``."""
    return _first(function) == "self" or accepts(function, 2) or not accepts(function, 1)


def _first(function: Callable[..., Any]) -> str:
    try:
        return next(iter(inspect.signature(function).parameters), "")
    except (TypeError, ValueError):
        return ""
