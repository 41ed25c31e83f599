"""Refusal: one reason for a no, and the words a guard may answer with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["permission", "precondition"]
Source = Literal["guard", "state", "manual", "permission"]


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """One reason why a transition may not be fired; the same object explains a grey button and a refused click.

    ``kind`` tells what would help: ``permission`` (another actor) or ``precondition`` (a change of the record).
    ``name`` is the guard's or permission's name; ``params`` are the facts inside the message.
    """

    source: Source
    kind: Kind
    code: str
    message: Any  # str or a lazy translation, resolved when shown
    name: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return str(self.message)

    def as_dict(self) -> dict[str, Any]:
        """The refusal as JSON-able data, its message in the active language."""
        return {
            "source": self.source,
            "kind": self.kind,
            "code": self.code,
            "message": str(self.message),
            "params": dict(self.params),
        }


class Refuse:
    """What a guard returns to say no with a code: ``return Refuse("no_address", _("Add an address first."))``."""

    __slots__ = ("code", "kind", "message", "params")

    def __init__(self, code: str, message: Any, kind: Kind = "precondition", **params: Any) -> None:
        self.code = code
        self.message = message
        self.kind = kind
        self.params = params

    def __bool__(self) -> bool:
        return False


@dataclass(frozen=True, kw_only=True)
class InputProblem:
    """One thing wrong with an input. ``field`` is the input key ("" for the input as a whole)."""

    field: str
    code: str
    message: Any

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else str(self.message)

    def as_dict(self) -> dict[str, Any]:
        """The problem as JSON-able data, its message in the active language."""
        return {"field": self.field, "code": self.code, "message": str(self.message)}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The answer of ``can``: true when allowed; otherwise every refusal and every problem of the input."""

    allowed: bool
    refusals: tuple[Refusal, ...] = ()
    problems: tuple[InputProblem, ...] = ()

    def __bool__(self) -> bool:
        return self.allowed
