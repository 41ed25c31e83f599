"""Registry: the lifecycles this process knows, by name and by model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.utils.module_loading import autodiscover_modules

from lifecycle.definition import lifecycle as declarations
from lifecycle.definition.compiled import Definition
from lifecycle.exceptions import InvalidDefinition, UnknownLifecycle
from lifecycle.suggest import did_you_mean

_definitions: dict[str, Definition] = {}
# Called with every definition as it is registered; the roof hangs the accessor on the model here.
listeners: list[Callable[[Definition], None]] = []


def register(lifecycle: type[Any]) -> type[Any]:
    """Makes a lifecycle known by its name; also usable as a class decorator.

    Raises:
        InvalidDefinition: another class is registered under this name.
    """
    definition: Definition = lifecycle.definition
    known = _definitions.get(definition.name)
    if known is not None and known is not definition:
        raise InvalidDefinition(
            f"Two lifecycles are named '{definition.name}': {_path(known.lifecycle)} and {_path(lifecycle)}. "
            "The name is stored in rows: give the newer one another.",
            lifecycle=definition.name,
        )
    _definitions[definition.name] = definition
    for listener in listeners:
        listener(definition)
    return lifecycle


def unregister(name: str) -> None:
    """Forgets a lifecycle (tests)."""
    _definitions.pop(name, None)


def autodiscover() -> None:
    """Imports ``lifecycles.py`` of every installed app and registers what is declared there."""
    autodiscover_modules("lifecycles")
    for lifecycle in declarations.declared:
        module = lifecycle.__module__
        if module.endswith(".lifecycles") or ".lifecycles." in module:
            register(lifecycle)


def get(name: str) -> Definition:
    """The definition of this name.

    Raises:
        UnknownLifecycle: with the nearest right name and the list.
    """
    found = _definitions.get(name)
    if found is None:
        raise UnknownLifecycle(f"No lifecycle is named '{name}'. {did_you_mean(name, _definitions)}", lifecycle=name)
    return found


def find(name: str) -> Definition | None:
    """The definition of this name, or None."""
    return _definitions.get(name)


def all() -> list[Definition]:  # noqa: A001 read as registry.all()
    """Every definition, in the order of registration."""
    return list(_definitions.values())


def for_model(model: Any) -> list[Definition]:
    """The lifecycles of a model: its own, or those of the model it inherits from or is a proxy of."""
    return [definition for definition in _definitions.values() if issubclass(model, definition.model)]


def of(subject: Any) -> Definition:
    """The one lifecycle meant by its name, a `Lifecycle` class, a definition, a record, or a model class.

    Raises:
        UnknownLifecycle: no lifecycle has this name; or the model has none, or several (then name the one you mean).
    """
    if isinstance(subject, str):
        return get(subject)
    if isinstance(subject, Definition):
        return subject
    if isinstance(getattr(subject, "definition", None), Definition):
        return subject.definition  # type: ignore[no-any-return]
    model = subject if isinstance(subject, type) else type(subject)
    found = for_model(model)
    if len(found) == 1:
        return found[0]
    if not found:
        raise UnknownLifecycle(
            f"{model.__name__} has no lifecycle. Declare one in the lifecycles.py of an installed app."
            f" {did_you_mean(model.__name__, _definitions)}"
        )
    names = ", ".join(f"record.{definition.accessor} ({definition.name})" for definition in found)
    raise UnknownLifecycle(f"{model.__name__} has several lifecycles; say which: {names}.")


def _path(lifecycle: type[Any]) -> str:
    return f"{lifecycle.__module__}.{lifecycle.__qualname__}"
