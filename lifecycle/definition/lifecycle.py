"""Lifecycle: the class a user subclasses; declaring it compiles and verifies it."""

from __future__ import annotations

from typing import Any, ClassVar, Generic

from lifecycle.definition import services
from lifecycle.definition.compiled import Definition
from lifecycle.definition.compiler import compiled
from lifecycle.definition.contexts import Record
from lifecycle.definition.problems import refusal
from lifecycle.definition.reading import Declaration, is_abstract, read
from lifecycle.definition.rules import verify

declared: list[type[Lifecycle[Any]]] = []
"""Every class that compiled, in the order of declaration; the registry takes its own from here."""


class Lifecycle(Generic[Record]):
    """The process of one model: ``class OrderLifecycle(Lifecycle[Order])``.

    Declare a nested ``Meta`` and transitions, effects and triggers as attributes. ``Meta.abstract = True`` makes a base
    class that is not compiled. The compiled result is ``definition``; it is immutable, and there is one per class.

    Raises:
        InvalidDefinition: at the end of the class statement, with every problem at once.
    """

    definition: ClassVar[Definition]
    declaration: ClassVar[Declaration]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if is_abstract(cls):
            return
        declaration = read(cls)
        definition = compiled(declaration)
        problems = verify(declaration, definition)
        if problems:
            raise refusal(cls.__qualname__, problems)
        cls.declaration = declaration
        cls.definition = definition
        declared.append(cls)

    @property
    def services(self) -> Any:
        """What ``Meta.services`` makes, or what a test put in its place."""
        definition = self.definition
        return services.of(definition.name, self.declaration.meta.services)
