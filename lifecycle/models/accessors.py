"""LifecycleAccessor: what stands under ``record.lifecycle``, and how a model says so to a type checker."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

if TYPE_CHECKING:
    # A default (PEP 696), so that a bare `LifecycleAccessor` takes any name.
    from typing_extensions import TypeVar as TypeVarWithDefault

    # Only to say what is answered: the roof makes it.
    from lifecycle.accessor import RecordLifecycle
    from lifecycle.definition.compiled import Definition

    Record = TypeVar("Record")
    Names = TypeVarWithDefault("Names", bound=str, default=str)
else:
    Names = TypeVar("Names", bound=str)


class LifecycleAccessor(Generic[Names]):
    """The descriptor behind ``record.lifecycle``; hung on a model by itself when its lifecycle is registered.

    A model names it in one line where a type checker shall know more: another ``Meta.accessor``
    (``process: LifecycleAccessor``), or the names that may be fired
    (``lifecycle: LifecycleAccessor[Literal["assign", "close"]]``; a system check holds the names to the declaration).
    """

    def __init__(self, definition: Definition, verbs: Callable[[Any, Definition], Any]) -> None:
        self.definition = definition
        self.verbs = verbs

    @overload
    def __get__(self, record: None, owner: type[Any]) -> Any: ...
    @overload
    def __get__(self, record: Record, owner: type[Any]) -> RecordLifecycle[Record, Names]: ...
    def __get__(self, record: Any, owner: type[Any]) -> Any:
        if record is None:
            return self.definition.lifecycle
        return self.verbs(record, self.definition)
