"""Actor: who fires a transition — a person, the system, or a named machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

ActorKind = Literal["user", "anonymous", "system", "machine"]


@dataclass(frozen=True)
class Actor:
    """A named machine that fires transitions: ``Actor("webhook:sandbox", label="Sandbox provider")``.

    Codename permissions are asked of people only; guards see every actor.
    """

    id: str
    label: str = ""
    kind: ActorKind = "machine"
    user: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or (not self.id and self.kind != "anonymous"):
            raise TypeError(f"Actor id: expected a non-empty string, got {self.id!r}.")

    def __str__(self) -> str:
        return self.label or self.id or self.kind

    @property
    def is_person(self) -> bool:
        """Whether permissions are asked of this actor."""
        return self.kind in ("user", "anonymous")


SYSTEM = Actor("system", label="System", kind="system")
# Where nobody is logged in, and where there are no users at all (DRF's ``UNAUTHENTICATED_USER: None``).
ANONYMOUS = Actor("", label="anonymous", kind="anonymous")

_HALF = 70  # characters of each name, so that both fit into the history's column


def acting_as(user: Any, *, by: Any) -> Actor:
    """Who acts when one person acts as another: an administrator who looks into somebody's trouble.

    Permissions and guards are asked of ``user``; the history keeps both names and the id of the one who really acts.

    Args:
        user: the person they act as; usually ``request.user`` as an impersonation middleware has set it.
        by: the person who really sits there. The same person, or None: nobody is impersonated.
    """
    played = as_actor(user)
    if by is None or by == user:
        return played
    real = as_actor(by)
    return Actor(real.id, label=f"{str(real)[:_HALF]} as {str(played)[:_HALF]}", kind="user", user=user)


def as_actor(value: Any) -> Actor:
    """Makes an `Actor` of what callers pass as ``actor``.

    Accepts a Django user (also ``AnonymousUser``), `SYSTEM`, or an `Actor`. Anything else, ``None`` included, is a
    ``TypeError``: who did it is never guessed.
    """
    if isinstance(value, Actor):
        return value
    if hasattr(value, "is_authenticated") and hasattr(value, "has_perm"):
        if value.is_authenticated and value.pk is not None:
            return Actor(str(value.pk), label=str(value.get_username())[:150], kind="user", user=value)
        return Actor("", label="anonymous", kind="anonymous", user=value)
    raise TypeError(
        f"actor: expected a user, SYSTEM or Actor(…), got {value!r}. Who fires is always said: "
        "pass actor=request.user for people, actor=SYSTEM for your own server code."
    )
