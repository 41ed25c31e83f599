"""Configuration check: ``settings.LIFECYCLE``, and what Celery was told."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, register
from django.core.checks import Warning as Caution

from lifecycle import conf
from lifecycle.checks.ids import TAG
from lifecycle.definition.callables import imported
from lifecycle.exceptions import InvalidSettings

CELERY = "lifecycle.dispatch.celery.CeleryDispatcher"


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
def celery_has_workers(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reports Celery in its eager mode: its wake-ups go to nobody, for ours are never done in the caller's place."""
    options, app = _options(), _celery_app()
    if options is None or app is None or not app.conf.get("task_always_eager"):
        return []
    if options.dispatcher != CELERY:
        return []
    return [
        Caution(
            "CELERY_TASK_ALWAYS_EAGER is on: no message leaves this process, so no worker is woken, and effects wait "
            "for the tick of some worker.",
            hint="Switch it off where effects should run. In tests, call lifecycle.testing.run_due(); for development "
            "without a broker, set DISPATCHER to 'lifecycle.dispatch.none.NoDispatcher' and run lifecycle_worker.",
            obj="CELERY_TASK_ALWAYS_EAGER",
            id="lifecycle.W131",
        )
    ]


def _celery_app() -> Any:
    """The project's Celery app, when there is one: Celery is asked, never imported."""
    return getattr(sys.modules.get("celery"), "current_app", None)
