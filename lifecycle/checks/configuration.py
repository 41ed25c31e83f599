"""Configuration check: ``settings.LIFECYCLE``, and what Celery was told."""

from __future__ import annotations

import datetime as dt
import math
import sys
from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, register
from django.core.checks import Warning as Caution

from lifecycle import conf, registry
from lifecycle.checks.ids import TAG
from lifecycle.definition.callables import imported
from lifecycle.exceptions import InvalidSettings


def _options() -> conf.Options | None:
    try:
        return conf.options()
    except InvalidSettings:
        return None  # told by `settings_are_valid`


@register(TAG)
def settings_are_valid(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reports every unknown key and wrong value of ``settings.LIFECYCLE``."""
    try:
        conf.options()
    except InvalidSettings as error:
        where = f"settings.{conf.NAME}"
        hint = "See the reference of settings for each key's meaning and default."
        if not error.problems:
            return [Error(str(error), hint=hint, obj=where, id="lifecycle.E130")]
        return [
            Error(str(problem.message), hint=hint, obj=f"{where}['{problem.field}']", id="lifecycle.E130")
            for problem in error.problems
        ]
    return []


@register(TAG)
def the_dispatcher_can_be_imported(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reports a dispatcher whose class, or whose library, is not there."""
    options = _options()
    if options is None or options.dispatcher is None:
        return []
    try:
        imported(options.dispatcher)
    except Exception as error:  # noqa: BLE001 importing a user's module may raise anything
        return [
            Error(
                f"The dispatcher '{options.dispatcher}' cannot be imported: {error}",
                hint="Install what it needs (pip install celery), or set DISPATCHER to "
                "'lifecycle.dispatch.none.NoDispatcher' and run lifecycle_worker.",
                obj=f"settings.{conf.NAME}['DISPATCHER']",
                id="lifecycle.E131",
            )
        ]
    return []


@register(TAG)
def the_request_actor_can_be_imported(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reports a ``REQUEST_ACTOR`` that is not there or cannot be called."""
    options = _options()
    if options is None or options.request_actor is None:
        return []
    try:
        said = "" if callable(imported(options.request_actor)) else "it cannot be called"
    except Exception as error:  # noqa: BLE001 importing a user's module may raise anything
        said = f"{type(error).__name__}: {error}"
    if not said:
        return []
    return [
        Error(
            f"REQUEST_ACTOR '{options.request_actor}' cannot be used: {said}",
            hint="Name a function that takes a request and answers a user or an Actor, as 'accounts.actors.of'.",
            obj=f"settings.{conf.NAME}['REQUEST_ACTOR']",
            id="lifecycle.E134",
        )
    ]


@register(TAG)
def celery_lets_effects_finish(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reports a Celery time limit that would kill a drain in the middle of an effect.

    A drain starts runs for as long as the settings allow and lets the last one finish, so both count.
    """
    options, limits = _options(), _celery_limits()
    effects = [effect for definition in registry.all() for effect in definition.effects.values()]
    if options is None or not limits or not effects:
        return []
    longest = max(effects, key=lambda effect: effect.timeout or dt.timedelta.max)
    needed = math.inf if longest.timeout is None else longest.timeout.total_seconds() + options.drain_seconds
    takes = "as long as it likes" if longest.timeout is None else f"{needed:g} s"
    return [
        Caution(
            f"Celery ends tasks after {limit:g} s ({name}), but a drain with effect '{longest.name}' may take {takes}.",
            hint=f"Raise {name} above that, or leave it out: effects end by their own timeout.",
            obj=name,
            id="lifecycle.W130",
        )
        for name, limit in limits.items()
        if limit <= needed
    ]


def _celery_limits() -> dict[str, float]:
    """The time limits of the project's Celery app, when there is one: Celery is asked, never imported."""
    celery = sys.modules.get("celery")
    app: Any = getattr(celery, "current_app", None)
    if app is None:
        return {}
    found = {name: app.conf.get(name) for name in ("task_time_limit", "task_soft_time_limit")}
    return {name: float(limit) for name, limit in found.items() if limit}
