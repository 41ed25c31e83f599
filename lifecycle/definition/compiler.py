"""Compiler: makes a definition of a declaration; what cannot be compiled is reported and left out."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from lifecycle.definition.compiled import (
    CompiledDeadline,
    CompiledEffect,
    CompiledReminder,
    CompiledTimeout,
    CompiledTransition,
    Definition,
    Guard,
    Hook,
    State,
)
from lifecycle.definition.durations import After, Duration
from lifecycle.definition.effects import Effect
from lifecycle.definition.frozen import Frozen, deep
from lifecycle.definition.nodes import states_of
from lifecycle.definition.options import Options
from lifecycle.definition.reading import Declaration
from lifecycle.definition.resolver import Resolver
from lifecycle.definition.retries import Retry
from lifecycle.definition.states import CREATE, flat, is_any, words
from lifecycle.definition.transitions import Transition
from lifecycle.definition.triggers import Deadline, Reminder, Timeout, Trigger
from lifecycle.definition.wirings import Role, Wired, Wiring
from lifecycle.payloads import digest

DEFAULT_TIMEOUT = dt.timedelta(seconds=60)
GUARD_CODE = "guard_refused"


def compiled(declaration: Declaration) -> Definition:
    """The definition a declaration means; problems are added to the declaration."""
    return _Compiler(declaration).definition()


class _Compiler:
    def __init__(self, declaration: Declaration) -> None:
        self.declaration = declaration
        self.options = Options(declaration)
        self.owner = declaration.cls()
        self.resolver = Resolver(declaration, self.owner)
        self._resolved: dict[int, list[str]] = {}

    def definition(self) -> Definition:
        meta = self.options.meta()
        states = self._states()
        for attribute, effect in self.declaration.of(Effect).items():
            self.resolver.join(effect, attribute)
        transitions = {name: self._transition(name, declared) for name, declared in self.resolver.transitions.items()}
        reminders = self._reminders()
        effects, enter_effects = self._effects(transitions)
        transitions = {
            name: _with_effects(transition, [effect.name for effect in effects.values() if name in effect.on])
            for name, transition in transitions.items()
        }
        definition = Definition(
            **meta,
            lifecycle=self.declaration.cls,
            owner=self.owner,
            states=Frozen(states),
            initial=tuple(name for name in self.initial if name in states),
            final=frozenset(name for name, state in states.items() if state.final),
            transitions=Frozen(transitions),
            effects=Frozen(effects),
            create_guards=self._guards(CREATE, ()),
            enter_effects=Frozen(enter_effects),
            enter_hooks=self._state_hooks("enter"),
            leave_hooks=self._state_hooks("leave"),
            timeouts=self._timeouts(),
            deadlines=self._deadlines(),
            reminders=reminders,
            parameters=getattr(self.declaration.cls, "Parameters", None),
        )
        return _with_hash(definition)

    # States -----------------------------------------------------------------------------------------

    def _states(self) -> dict[str, State]:
        states, self.initial = states_of(self.declaration)
        self.resolver.states = states
        self.resolver.open_states = tuple(name for name, state in states.items() if not state.final)
        return states

    def _state_hooks(self, role: Role) -> Mapping[str, tuple[Hook, ...]]:
        found: dict[str, list[Hook]] = {}
        for attribute, wiring in self._wirings(role):
            for state in self.resolver.state_names(wiring.on, attribute, code="lifecycle.E027", final=role == "enter"):
                bound = self.resolver.function(self._wired(attribute), "hook", attribute)
                if bound is not None:
                    found.setdefault(state, []).append(Hook(name=bound[0], call=bound[1]))
        return Frozen({state: tuple(hooks) for state, hooks in found.items()})

    # Transitions ------------------------------------------------------------------------------------

    def _transition(self, name: str, declared: Transition) -> CompiledTransition:
        read = self.options.of(declared, name)
        sources = self.resolver.state_names(declared.source, name)
        targets = self.resolver.state_names(declared.target, name)
        routes = self._asked("route", name, read.get("route"))
        if len(routes) > 1:
            self.declaration.report(
                "lifecycle.E023",
                f"Transition '{name}' has {len(routes)} routes.",
                "Keep one: a route answers with the one state to go to.",
                name,
            )
        return CompiledTransition(
            name=name,
            label=read.get("label", words(name)),
            description=read.get("description", ""),
            sources=frozenset(sources),
            targets=tuple(targets),
            any_source=any(is_any(item) for item in flat(declared.source)),
            manual=read.get("manual", True),
            permissions=self._permissions(name, read.get("permission")),
            form=read.get("form"),
            accept=tuple(read.get("accept", ())),
            secrets=frozenset(read.get("secrets", ())),
            guards=self._guards(name, read.get("guards", ())),
            route=routes[0] if routes else None,
            sets=tuple(self._asked("set", name, read.get("set"))),
            hooks=self._hooks(name, read.get("hooks")),
            effects=tuple(self.resolver.add_effects(flat(read.get("effects")), name)),
            on_same=read.get("on_same", "refuse"),
            meta=deep(read.get("meta", {})),
        )

    def _permissions(self, name: str, value: Any) -> tuple[str | Callable[..., Any], ...]:
        found: list[str | Callable[..., Any]] = []
        for item in flat(value):
            if isinstance(item, str):
                found.append(item)  # a codename; dotted paths of functions would look the same
            else:
                bound = self.resolver.function(item, "permission", name)
                if bound is not None:
                    found.append(bound[1])
        return tuple(found)

    def _guards(self, transition: str, listed: Any) -> tuple[Guard, ...]:
        guards = [self._guard(item, transition, {}) for item in flat(listed)]
        for attribute, wiring in self._wirings("guard"):
            if transition in self.resolved(attribute, wiring, create=True):
                guards.append(self._guard(self._wired(attribute), attribute, wiring.options))
        return tuple(guard for guard in guards if guard is not None)

    def _guard(self, value: Any, where: str, options: Mapping[str, Any]) -> Guard | None:
        bound = self.resolver.function(value, "guard", where)
        if bound is None:
            return None
        if not options and isinstance(value, Wired):
            options = next((wiring.options for wiring in value.wirings if wiring.role == "guard"), {})
        options = self.options.guard(options, where)
        return Guard(
            name=bound[0],
            ask=bound[1],
            code=options.get("code", GUARD_CODE),
            message=options.get("message"),
            kind=options.get("kind", "precondition"),
        )

    def _hooks(self, transition: str, listed: Any) -> tuple[Hook, ...]:
        found = [self.resolver.function(item, "hook", transition) for item in flat(listed)]
        for attribute, wiring in self._wirings("hook"):
            if transition in self.resolved(attribute, wiring):
                found.append(self.resolver.function(self._wired(attribute), "hook", attribute))
        return tuple(Hook(name=bound[0], call=bound[1]) for bound in found if bound is not None)

    def _asked(self, role: Role, transition: str, listed: Any) -> list[Callable[..., Any]]:
        found = [self.resolver.function(item, role, transition) for item in flat(listed)]
        for attribute, wiring in self._wirings(role):
            if transition in self.resolved(attribute, wiring):
                found.append(self.resolver.function(self._wired(attribute), role, attribute))
        return [bound[1] for bound in found if bound is not None]

    def _wirings(self, role: Role) -> Iterable[tuple[str, Wiring]]:
        for attribute, member in self.declaration.of(Wired).items():
            for wiring in member.wirings:
                if wiring.role == role:
                    yield attribute, wiring

    def _wired(self, attribute: str) -> Any:
        return self.declaration.members[attribute]

    def resolved(self, attribute: str, wiring: Wiring, create: bool = False) -> list[str]:
        """The transitions of a wiring, looked up once so that a wrong name is reported once."""
        key = id(wiring)
        if key not in self._resolved:
            self._resolved[key] = self.resolver.transition_names(wiring.on, attribute, create=create)
        return self._resolved[key]

    # Effects ----------------------------------------------------------------------------------------

    def _effects(
        self, transitions: Mapping[str, CompiledTransition]
    ) -> tuple[dict[str, CompiledEffect], dict[str, tuple[str, ...]]]:
        effects: dict[str, CompiledEffect] = {}
        entering: dict[str, list[str]] = {}
        for name, declared in self.resolver.effects.items():
            where = declared.attribute or name
            listed = [key for key, transition in transitions.items() if name in transition.effects]
            wired = self._owners(declared, where)
            states = self.resolver.state_names(declared.on_enter, where, code="lifecycle.E027", final=True)
            effect = self._effect(name, declared, where, frozenset([*listed, *wired]), frozenset(states))
            if effect is None:
                continue
            effects[name] = effect
            for state in states:
                entering.setdefault(state, []).append(name)
        return effects, {state: tuple(names) for state, names in entering.items()}

    def _owners(self, declared: Effect, where: str) -> list[str]:
        """The transitions an effect's own declaration names."""
        named = [item for item in declared.on if item != CREATE]
        if len(named) < len(declared.on):
            self.declaration.report(
                "lifecycle.E026",
                f"Effect '{declared.name}' is to be enqueued by the creation, which enqueues nothing itself.",
                "Enqueue it on entering the initial state: on_enter=….",
                where,
            )
        return self.resolver.transition_names(named, where)

    def _effect(
        self, name: str, declared: Effect, where: str, on: frozenset[str], on_enter: frozenset[str]
    ) -> CompiledEffect | None:
        inside = self.declaration.members.get(declared.attribute) is declared
        bound = self.resolver.function(declared.attribute if inside else declared.function, "effect", where)
        read = self.options.of(declared, where)
        timeout = read.get("timeout", DEFAULT_TIMEOUT)
        follow_ups = {
            key: self.resolver.transition_name(read[key], where, code="lifecycle.E035") if read.get(key) else None
            for key in ("on_success", "on_failure", "on_dead")
        }
        if bound is None:
            return None
        return CompiledEffect(
            name=name,
            call=bound[1],
            on=on,
            on_enter=on_enter,
            retry=read.get("retry", Retry()),
            timeout=timeout,
            heartbeat_timeout=read.get("heartbeat_timeout"),
            lease=read.get("lease"),
            queue=read.get("queue"),
            on_success=follow_ups["on_success"],
            on_failure=follow_ups["on_failure"],
            on_dead=follow_ups["on_dead"] if "on_dead" in read else follow_ups["on_failure"],
            atomic=read.get("atomic", False),
            stay_bound=read.get("stay_bound", True if read.get("only_during_stay") else None),
            only_during_stay=read.get("only_during_stay", False),
            delay=read.get("delay", dt.timedelta(0)),
        )

    # Triggers ---------------------------------------------------------------------------------------

    def _timeouts(self) -> Mapping[str, CompiledTimeout]:
        found: dict[str, CompiledTimeout] = {}
        for name, declared in self.declaration.of(Timeout).items():
            read = self.options.of(declared, name)
            transition, when = self._fires(name, declared)
            after = self._after(name, read.get("after"))
            if transition is not None and after is not None:
                found[name] = CompiledTimeout(
                    name=name, transition=transition, when=when, after=after, batch_size=read.get("batch_size", 100)
                )
        return Frozen(found)

    def _deadlines(self) -> Mapping[str, CompiledDeadline]:
        found: dict[str, CompiledDeadline] = {}
        for name, declared in self.declaration.of(Deadline).items():
            read = self.options.of(declared, name)
            transition, when = self._fires(name, declared)
            if transition is not None and "at" in read:
                found[name] = CompiledDeadline(
                    name=name, transition=transition, when=when, at=read["at"], batch_size=read.get("batch_size", 100)
                )
        return Frozen(found)

    def _reminders(self) -> Mapping[str, CompiledReminder]:
        found: dict[str, CompiledReminder] = {}
        for name, declared in self.declaration.of(Reminder).items():
            read = self.options.of(declared, name)
            effects = self.resolver.add_effects([declared.subject], name)
            when = tuple(self.resolver.state_names(declared.when, name, code="lifecycle.E041"))
            after = self._after(name, read.get("after"))
            if effects and after is not None:
                found[name] = CompiledReminder(
                    name=name, effect=effects[0], when=when, after=after, repeat=read.get("repeat")
                )
        return Frozen(found)

    def _fires(self, name: str, declared: Trigger) -> tuple[str | None, tuple[str, ...]]:
        transition = self.resolver.transition_name(declared.subject, name, code="lifecycle.E040")
        return transition, tuple(self.resolver.state_names(declared.when, name, code="lifecycle.E041"))

    def _after(self, name: str, value: Any) -> Duration | None:
        if not isinstance(value, dt.timedelta):
            bound = self.resolver.function(value, "after", name)
            if bound is None:
                return None
            value = bound[1]
        return After(f"{self.declaration.where(name)}", value)


def _with_effects(transition: CompiledTransition, wired: list[str]) -> CompiledTransition:
    return replace(transition, effects=tuple(dict.fromkeys([*transition.effects, *wired])))


def _with_hash(definition: Definition) -> Definition:
    return replace(definition, hash=digest(shape(definition)))


def shape(definition: Definition) -> dict[str, Any]:
    """The names and edges that decide what a stored entry meant; labels and code are not part of it."""
    return {
        "name": definition.name,
        "states": {
            name: [name in definition.initial, state.final, state.deprecated]
            for name, state in sorted(definition.states.items())
        },
        "initial": list(definition.initial),
        "transitions": {
            name: [sorted(t.sources), list(t.targets), t.manual, list(t.accept), sorted(t.effects), t.on_same]
            for name, t in sorted(definition.transitions.items())
        },
        "effects": {
            name: [sorted(e.on), sorted(e.on_enter), e.on_success, e.on_failure, e.on_dead, e.atomic, e.stay_bound]
            for name, e in sorted(definition.effects.items())
        },
        "timeouts": {name: [t.transition, sorted(t.when)] for name, t in sorted(definition.timeouts.items())},
        "deadlines": {name: [d.transition, sorted(d.when)] for name, d in sorted(definition.deadlines.items())},
        "reminders": {name: [r.effect, sorted(r.when)] for name, r in sorted(definition.reminders.items())},
    }
