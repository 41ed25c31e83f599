"""Resolver: the names and functions a declaration mentions, looked up; what leads nowhere is reported."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lifecycle.definition.callables import Dotted, accepts, takes_owner, unwrapped
from lifecycle.definition.effects import Effect
from lifecycle.definition.reading import Declaration, lineage
from lifecycle.definition.states import ANY, CREATE, AnyExcept, flat, plain
from lifecycle.definition.transitions import Transition
from lifecycle.definition.wirings import Wired
from lifecycle.suggest import did_you_mean


class Resolver:
    """Looks names up in one declaration.

    ``states`` is filled by the compiler before transitions are resolved; while it is empty, states are not judged: what
    is wrong then is that there are none.
    """

    def __init__(self, declaration: Declaration, owner: Any) -> None:
        self.declaration = declaration
        self.owner = owner
        self.states: Mapping[str, Any] = {}
        self.open_states: tuple[str, ...] = ()
        self.transitions = declaration.of(Transition)
        self.effects: dict[str, Effect] = {}
        self._attributes = _attributes(declaration)

    # States ---------------------------------------------------------------------------------------

    def state_names(self, value: Any, *where: str, code: str = "lifecycle.E021", final: bool = False) -> list[str]:
        """The names of the states meant, in order, each once; ``final`` makes `ANY` mean final ones too."""
        every = tuple(self.states) if final else self.open_states
        names: list[str] = []
        for item in flat(value):
            if item is ANY:
                names.extend(every)
            elif isinstance(item, AnyExcept):
                excluded = {self._state(name, where, code) for name in item.names}
                names.extend(name for name in every if name not in excluded)
            else:
                name = self._state(item, where, code)
                if name is not None:
                    names.append(name)
        return list(dict.fromkeys(names))

    def _state(self, value: Any, where: tuple[str, ...], code: str) -> str | None:
        name = plain(value)
        if isinstance(name, str) and name in self.states:
            return name
        if self.states:
            self.declaration.report(
                code, f"There is no state {_quoted(value)}.", did_you_mean(name, self.states), *where
            )
        return None

    # Transitions ----------------------------------------------------------------------------------

    def transition_names(self, value: Any, *where: str, create: bool = False) -> list[str]:
        """The names of the transitions a wiring is about; those a subclass removed are left out silently."""
        names: list[str] = []
        for item in flat(value):
            if item is ANY:
                names.extend(self.transitions)
            elif isinstance(item, AnyExcept):
                excluded = {self.transition_name(name, *where) for name in item.names}
                names.extend(name for name in self.transitions if name not in excluded)
            elif create and item == CREATE:
                names.append(CREATE)
            elif not self._removed(item):
                name = self.transition_name(item, *where)
                if name is not None:
                    names.append(name)
        return list(dict.fromkeys(names))

    def transition_name(self, value: Any, *where: str, code: str = "lifecycle.E026") -> str | None:
        """The name of the transition meant, as this class has it; None, and reported, when there is none."""
        if isinstance(value, Transition):
            if value.attribute in self.transitions and self._is_ours(value.attribute, value):
                return value.attribute
            if value.attribute and not self._removed(value):
                self.declaration.report(
                    code,
                    f"The transition '{value.attribute}' belongs to another lifecycle.",
                    "Name a transition of this class or of a base class.",
                    *where,
                )
                return None
            wanted: Any = value.attribute or value
        else:
            wanted = plain(value)
        if isinstance(wanted, str) and wanted in self.transitions:
            return wanted
        if isinstance(wanted, Transition):
            hint = "Assign the Transition to an attribute of this class: the attribute is its name."
        else:
            hint = did_you_mean(wanted, self.transitions)
        self.declaration.report(code, f"There is no transition {_quoted(wanted)}.", hint, *where)
        return None

    def _removed(self, value: Any) -> bool:
        name = value.attribute if isinstance(value, Transition) else plain(value)
        return isinstance(name, str) and name in self.declaration.removed

    def _is_ours(self, attribute: str, value: Any) -> bool:
        return any(vars(base).get(attribute) is value for base in lineage(self.declaration.cls))

    # Effects --------------------------------------------------------------------------------------

    def add_effects(self, values: Iterable[Any], *where: str) -> list[str]:
        """The names of the effects meant; an effect from outside the class body joins the lifecycle by this."""
        names = [self._effect(value, where) for value in values]
        return [name for name in dict.fromkeys(names) if name is not None]

    def _effect(self, value: Any, where: tuple[str, ...]) -> str | None:
        ours = self.declaration.of(Effect)
        if isinstance(value, Effect):
            if value.attribute in ours and self._is_ours(value.attribute, value):
                return ours[value.attribute].name
            if value.owned:
                self.declaration.report(
                    "lifecycle.E031",
                    f"The effect '{value.name}' belongs to another lifecycle.",
                    "Name an effect of this class or of a base class, or write a shared one as a function of (ctx).",
                    *where,
                )
                return None
            self.join(value, *where)
            return value.name
        wanted = plain(value)
        if isinstance(wanted, str):
            if wanted in ours:
                return ours[wanted].name
            if wanted in self.effects:
                return wanted
        known = list(dict.fromkeys([*ours, *self.effects]))
        self.declaration.report(
            "lifecycle.E031", f"There is no effect {_quoted(value)}.", did_you_mean(wanted, known), *where
        )
        return None

    def join(self, effect: Effect, *where: str) -> None:
        """Makes an effect known under its stable name; two effects of one name are refused."""
        if self.effects.setdefault(effect.name, effect) is not effect:
            self.declaration.report(
                "lifecycle.E030",
                f"Two effects are named '{effect.name}'.",
                "The name is stored in rows and must mean one thing: give one of them another with name=….",
                *where,
            )

    # Functions ------------------------------------------------------------------------------------

    def function(self, value: Any, what: str, *where: str, arguments: int = 1) -> tuple[str, Callable[..., Any]] | None:
        """The name and the bound form of a function as declared; None, and reported, when it cannot be called."""
        if isinstance(value, str) and "." in value:
            dotted = Dotted(value)
            return dotted.__name__, dotted
        attribute = value if isinstance(value, str) else self._attributes.get(id(unwrapped(value)))
        if isinstance(value, Wired) and attribute is None:
            if value.attribute in self.declaration.removed:
                return None
            attribute = value.attribute or None
        if attribute is not None:
            bound = self.bound(attribute)
            name = attribute
        else:
            bound = value.function if isinstance(value, (Wired, Effect)) else unwrapped(value)
            name = getattr(bound, "__name__", type(bound).__name__)
        if not callable(bound):
            hint = "Give a method, a function or a dotted path."
            if isinstance(value, str):
                hint = did_you_mean(value, [n for n in dir(self.declaration.cls) if not n.startswith("_")])
            said = _quoted(attribute or value)
            self.declaration.report("lifecycle.E008", f"The {what} {said} cannot be called.", hint, *where)
            return None
        return (name, bound) if self._callable_as_will_be(bound, what, name, arguments, where) else None

    def bound(self, attribute: str) -> Any:
        """An attribute of the class as it is called: a method with its owner, a function of ``(ctx)`` without."""
        raw = inspect.getattr_static(self.declaration.cls, attribute, None)
        if inspect.isfunction(raw) and not takes_owner(raw):
            return raw
        return getattr(self.owner, attribute, None)

    def _callable_as_will_be(self, bound: Any, what: str, name: str, arguments: int, where: tuple[str, ...]) -> bool:
        if inspect.iscoroutinefunction(bound):
            message = f"The {what} '{name}' is async, and it is called by synchronous code."
            hint = "Write it with def; wrap what must be awaited in asgiref's async_to_sync."
        elif not accepts(bound, arguments):
            taken = "(parameters)" if what == "after" else "(self, ctx), or (ctx) outside the class"
            message = f"The {what} '{name}' cannot be called with one argument."
            hint = f"Declare it as a function of {taken}."
        else:
            return True
        self.declaration.report("lifecycle.E008", message, hint, *where)
        return False


def _attributes(declaration: Declaration) -> dict[int, str]:
    """The attribute of every function in the class body, so that ``guards=[is_paid]`` finds the method."""
    found: dict[int, str] = {}
    for base in lineage(declaration.cls):
        for name, value in vars(base).items():
            if isinstance(value, (Wired, Effect)):
                found[id(value)] = found[id(value.function)] = name
            elif inspect.isfunction(value) or isinstance(value, staticmethod):
                found[id(unwrapped(value))] = name
    return {key: name for key, name in found.items() if name not in declaration.removed}


def _quoted(value: Any) -> str:
    value = plain(value)
    return f"'{value}'" if isinstance(value, str) else repr(value)
