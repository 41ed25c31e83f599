"""Declaration: a lifecycle's body as written, inheritance applied, nothing looked up yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, TypeVar

from lifecycle.definition import effects, transitions
from lifecycle.definition.declared import Declared
from lifecycle.definition.effects import Effect
from lifecycle.definition.problems import Problem
from lifecycle.definition.transitions import Transition
from lifecycle.definition.wirings import Wired
from lifecycle.suggest import did_you_mean

D = TypeVar("D", bound=Declared)

RESERVED = ("services", "definition", "declaration", "Meta", "Parameters")


@dataclass(frozen=True, kw_only=True)
class Meta:
    """The options of ``class Meta``, with their defaults."""

    model: Any = None
    name: Any = None
    initial: Any = None
    final: Any = ()
    states: Any = None
    state_field: Any = "status"
    changed_at_field: Any = "status_changed_at"
    version_field: Any = "lifecycle_version"
    accessor: Any = "lifecycle"
    services: Any = None
    queue: Any = "default"


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What the class statement said. ``problems`` are those that reading alone can find."""

    cls: type[Any]
    meta: Meta
    members: Mapping[str, Declared]
    removed: frozenset[str]
    given: frozenset[str]
    problems: list[Problem] = field(default_factory=list)

    def where(self, *parts: str) -> str:
        """The place a problem is about, as the user would write it."""
        return ".".join((self.cls.__name__, *parts))

    def of(self, kind: type[D]) -> dict[str, D]:
        """The members of one kind, by attribute, in the order of declaration."""
        return {name: member for name, member in self.members.items() if isinstance(member, kind)}

    def report(self, code: str, message: str, hint: str, *where: str) -> None:
        """Adds a problem that reading or compiling found."""
        self.problems.append(Problem(id=code, message=message, hint=hint, where=self.where(*where)))


def is_abstract(cls: type[Any]) -> bool:
    """Whether the class itself (not a base) says ``Meta.abstract = True``."""
    meta = vars(cls).get("Meta")
    return bool(meta is not None and vars(meta).get("abstract", False))


def read(cls: type[Any]) -> Declaration:
    """Reads a class and its bases into a declaration."""
    problems: list[Problem] = []
    members, removed = _members(cls, problems)
    meta, given = _meta(cls, problems)
    declaration = Declaration(
        cls=cls, meta=meta, members=members, removed=frozenset(removed), given=frozenset(given), problems=problems
    )
    _names(declaration)
    _unknown_options(declaration)
    return declaration


# Inheritance --------------------------------------------------------------------------------------


def lineage(cls: type[Any]) -> Iterator[type[Any]]:
    """The bases that may hold declarations, the most basic first."""
    for base in reversed(cls.__mro__):
        if base.__module__ not in ("builtins", "typing", "lifecycle.definition.lifecycle"):
            yield base


def _members(cls: type[Any], problems: list[Problem]) -> tuple[dict[str, Declared], set[str]]:
    members: dict[str, Declared] = {}
    removed: set[str] = set()
    for base in lineage(cls):
        for name, value in vars(base).items():
            known = members.get(name)
            if isinstance(value, Declared):
                members[name] = value
                removed.discard(name)
            elif known is None:
                continue
            elif value is None:
                del members[name]
                removed.add(name)
            elif isinstance(known, (Wired, Effect)) and isinstance(value, (FunctionType, staticmethod)):
                members[name] = known.with_function(value)
            else:
                problems.append(
                    Problem(
                        id="lifecycle.E007",
                        message=f"'{name}' is a {known.word} in a base class and something else here.",
                        hint=f"Override it with a {known.word}, remove it with '{name} = None', or use another name.",
                        where=f"{cls.__name__}.{name}",
                    )
                )
    return members, removed


def _meta(cls: type[Any], problems: list[Problem]) -> tuple[Meta, set[str]]:
    known = Meta.__dataclass_fields__
    values: dict[str, Any] = {}
    for base in lineage(cls):
        options = vars(base).get("Meta")
        if options is None:
            continue
        for part in reversed(options.__mro__[:-1]):
            values.update({name: value for name, value in vars(part).items() if not name.startswith("__")})
    values.pop("abstract", None)
    for name in [name for name in values if name not in known]:
        del values[name]
        problems.append(
            Problem(
                id="lifecycle.E001",
                message=f"Meta has no option '{name}'.",
                hint=did_you_mean(name, [*known, "abstract"]),
                where=f"{cls.__name__}.Meta",
            )
        )
    return Meta(**values), set(values)


# What reading alone can judge -----------------------------------------------------------------------


def _names(declaration: Declaration) -> None:
    seen: dict[int, str] = {}
    for attribute, member in declaration.members.items():
        if attribute in RESERVED:
            declaration.report(
                "lifecycle.E006",
                f"'{attribute}' is a name of Lifecycle itself and cannot be a {member.word}.",
                "Choose another name.",
                attribute,
            )
        first = seen.setdefault(id(member), attribute)
        if first != attribute or member.attribute != attribute:
            other = first if first != attribute else member.attribute
            declaration.report(
                "lifecycle.E005",
                f"'{attribute}' is the same {member.word} object as '{other}'.",
                f"Declare a {member.word} of its own for each name.",
                attribute,
            )


def _unknown_options(declaration: Declaration) -> None:
    for attribute, member in declaration.members.items():
        if isinstance(member, Wired):
            for wiring in member.wirings:
                _report_unknown(declaration, attribute, wiring.role, wiring.unknown, ("code", "message", "kind"))
        else:
            _report_unknown(declaration, attribute, type(member).__name__, member.unknown, known_options(member))


def known_options(member: Declared) -> tuple[str, ...]:
    """What a declaration of this kind may say."""
    if isinstance(member, Transition):
        return transitions.OPTIONS
    if isinstance(member, Effect):
        return ("on", "on_enter", *effects.OPTIONS)
    return {"Deadline": ("at", "batch_size"), "Reminder": ("after", "repeat")}.get(
        type(member).__name__, ("after", "batch_size")
    )


def _report_unknown(
    declaration: Declaration, attribute: str, what: str, unknown: Mapping[str, Any], known: tuple[str, ...]
) -> None:
    for name in unknown:
        declaration.report("lifecycle.E001", f"{what} has no option '{name}'.", did_you_mean(name, known), attribute)
