"""Declaration check: the definition's rules, asked again, and the paths it names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, register

from lifecycle import registry
from lifecycle.checks.ids import TAG
from lifecycle.definition.callables import Dotted, imported
from lifecycle.definition.compiled import Definition
from lifecycle.definition.durations import After
from lifecycle.definition.rules import verify


@register(TAG)
def definitions_keep_the_rules(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reports what was wrong at class creation under the same id."""
    return [
        Error(problem.message, hint=problem.hint, obj=problem.where, id=problem.id)
        for definition in registry.all()
        for problem in verify(definition.lifecycle.declaration, definition)
    ]


@register(TAG)
def paths_can_be_imported(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reports a function or services named by a dotted path that cannot be imported."""
    found: list[CheckMessage] = []
    for definition in registry.all():
        for where, path in _paths(definition):
            try:
                imported(path)
            except Exception as error:  # noqa: BLE001 importing a user's module may raise anything
                found.append(
                    Error(
                        str(error) if path in str(error) else f"'{path}' cannot be imported: {error}",
                        hint="Correct the path: package.module.name.",
                        obj=f"{definition.lifecycle.__name__}.{where}",
                        id="lifecycle.E109",
                    )
                )
    return found


def _paths(definition: Definition) -> Iterator[tuple[str, str]]:
    services = definition.lifecycle.declaration.meta.services
    if isinstance(services, str):
        yield "Meta.services", services
    seen: set[str] = set()
    for where, function in _functions(definition):
        if isinstance(function, Dotted) and function.path not in seen:
            seen.add(function.path)
            yield where, function.path


def _functions(definition: Definition) -> Iterator[tuple[str, Any]]:
    for name, transition in definition.transitions.items():
        asked = [guard.ask for guard in transition.guards] + [hook.call for hook in transition.hooks]
        for function in [*asked, *transition.sets, *transition.permissions, transition.route]:
            yield name, function
    for hooks in [*definition.enter_hooks.values(), *definition.leave_hooks.values()]:
        for hook in hooks:
            yield hook.name, hook.call
    for name, after in [(one.name, one.after) for one in definition.timeouts.values()] + [
        (one.name, one.after) for one in definition.reminders.values()
    ]:
        if isinstance(after, After):
            yield name, after.source
