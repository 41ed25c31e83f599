"""Acting: who acts in a request, for every page and endpoint alike."""

from __future__ import annotations

from typing import Any

from lifecycle import conf
from lifecycle.actors import ANONYMOUS, Actor, as_actor
from lifecycle.definition.callables import imported


def actor_of(request: Any) -> Actor:
    """Who acts: what the function in ``LIFECYCLE["REQUEST_ACTOR"]`` answers, else the request's user.

    Args:
        request: Django's, or the one of Django REST framework.

    Raises:
        TypeError: the project's function answered no actor.
    """
    path = conf.options().request_actor
    answer = imported(path)(request) if path is not None else getattr(request, "user", None)
    if answer is None and path is None:  # a project without users
        return ANONYMOUS
    try:
        return as_actor(answer)
    except TypeError as error:
        raise TypeError(f"REQUEST_ACTOR '{path}' answered {answer!r}: expected a user or an Actor.") from error
