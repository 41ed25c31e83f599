"""Context: what guards, routes, sets and hooks are given to decide by."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from lifecycle.actors import Actor

Record = TypeVar("Record")
"""The model of a call: what goes in comes out."""

if TYPE_CHECKING:
    # A default (PEP 696) lets a bare `Fired` or `TransitionContext` stand for one of any model. Python has it from
    # 3.13 on; type checkers take it from here for every version.
    from typing_extensions import TypeVar as TypeVarWithDefault

    Record_co = TypeVarWithDefault("Record_co", covariant=True, default=Any)
else:
    Record_co = TypeVar("Record_co", covariant=True)


@dataclass(frozen=True, kw_only=True)
class TransitionContext(Generic[Record_co]):
    """The question a transition asks: this record, this actor, this input, now. Generic over the record's model.

    ``record`` is the row as locked (for hooks: as written); ``input`` is cleaned by the form where there is one;
    ``target`` is None until it is decided; ``entry`` and ``previous`` (the values before, by column name)
    are there for hooks.
    """

    record: Record_co
    actor: Actor
    transition: str
    source: str | None
    now: dt.datetime
    input: Mapping[str, Any] = field(default_factory=dict)
    load_parameters: Callable[[], Any] | None = None
    target: str | None = None
    reason: str = ""
    request_id: str | None = None
    entry: Any = None
    previous: Mapping[str, Any] | None = None
    using: str = "default"
    key: Any = field(default=None, repr=False)  # which record, as the store names it

    @cached_property
    def parameters(self) -> Any:
        """The lifecycle's parameters as they are now, overrides included; read only when asked for."""
        return self.load_parameters() if self.load_parameters is not None else None

    @property
    def user(self) -> Any:
        """The Django user who fires, or None for the system and for machines."""
        return self.actor.user
