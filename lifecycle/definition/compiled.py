"""Definition: a lifecycle as compiled and verified — plain, frozen, complete; what every other floor asks."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from lifecycle.definition.retries import Retry


@dataclass(frozen=True, kw_only=True)
class State:
    """A state as compiled. ``label`` may be lazy; ``meta`` is JSON-able data for pages."""

    name: str
    label: Any
    initial: bool = False
    final: bool = False
    deprecated: bool = False
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Guard:
    """A yes/no question. ``ask(ctx)`` answers True, False, a message or a `Refuse`."""

    name: str
    ask: Callable[[Any], Any]
    code: str
    message: Any = None
    kind: Literal["permission", "precondition"] = "precondition"


@dataclass(frozen=True, kw_only=True)
class Hook:
    """A function called inside the transaction, after the record and the entry are written."""

    name: str
    call: Callable[[Any], Any]


@dataclass(frozen=True, kw_only=True)
class CompiledTransition:
    """An edge with a name. ``sources`` is expanded (no ANY); ``targets[0]`` is the default target.

    ``route`` is None when there is one target. ``permissions`` are codenames or callables, all of which must agree.
    ``accept`` names record fields taken from the input; ``form`` is a Django form class or None.
    ``sets`` are called in order, later ones win over earlier ones and over ``accept``.
    ``secrets`` are input keys whose values are redacted in the history. ``effects`` are names.
    """

    name: str
    label: Any
    description: Any = ""
    sources: frozenset[str]
    targets: tuple[str, ...]
    any_source: bool = False
    manual: bool = True
    permissions: tuple[str | Callable[..., Any], ...] = ()
    form: Any = None
    accept: tuple[str, ...] = ()
    secrets: frozenset[str] = frozenset()
    guards: tuple[Guard, ...] = ()
    route: Callable[[Any], Any] | None = None
    sets: tuple[Callable[[Any], Mapping[str, Any] | None], ...] = ()
    hooks: tuple[Hook, ...] = ()
    effects: tuple[str, ...] = ()
    on_same: Literal["refuse", "ok"] = "refuse"
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def target(self) -> str:
        """The only target, or the first of several."""
        return self.targets[0]


@dataclass(frozen=True, kw_only=True)
class CompiledEffect:
    """A side effect executed after the commit. ``call(ctx)`` does it; ``name`` is stored in rows and never renamed.

    ``on_success``, ``on_failure``, ``on_dead`` are transition names or None (``on_dead`` already defaulted to
    ``on_failure``). ``on`` are the transitions and ``on_enter`` the states that enqueue it (with stay binding True for
    ``on_enter`` and False for ``on`` unless ``stay_bound`` says otherwise). ``marks_entry``: its runs prove by a mark
    that their code was never entered; no option of an effect, for such a proof is worth a write only to who acts on it.
    """

    name: str
    call: Callable[[Any], Any]
    on: frozenset[str] = frozenset()
    on_enter: frozenset[str] = frozenset()
    retry: Retry
    timeout: dt.timedelta | None
    heartbeat_timeout: dt.timedelta | None = None
    lease: dt.timedelta | None = None
    queue: str | None = None
    on_success: str | None = None
    on_failure: str | None = None
    on_dead: str | None = None
    atomic: bool = False
    stay_bound: bool | None = None
    only_during_stay: bool = False
    delay: dt.timedelta = dt.timedelta(0)
    marks_entry: bool = False


@dataclass(frozen=True, kw_only=True)
class CompiledTimeout:
    """Fires ``transition`` when a record has stayed in one of ``when`` for ``after(parameters)``."""

    name: str
    transition: str
    when: tuple[str, ...]
    after: Callable[[Any], dt.timedelta]
    batch_size: int = 100


@dataclass(frozen=True, kw_only=True)
class CompiledDeadline:
    """Fires ``transition`` when the date ``at`` (a field's name or an ORM expression) has come."""

    name: str
    transition: str
    when: tuple[str, ...]
    at: Any
    batch_size: int = 100


@dataclass(frozen=True, kw_only=True)
class CompiledReminder:
    """Enqueues ``effect`` once per stay in ``when``, ``after(parameters)`` from its start, then every ``repeat``."""

    name: str
    effect: str
    when: tuple[str, ...]
    after: Callable[[Any], dt.timedelta]
    repeat: dt.timedelta | None = None


@dataclass(frozen=True, kw_only=True)
class Definition:
    """Everything a lifecycle is. Immutable, one per class and process.

    ``owner`` is the one instance of the lifecycle class that methods are bound to (``self.services`` lives there).
    ``hash`` changes when the shape (names, edges, effects, triggers) changes; it is stored on every entry.
    """

    name: str
    lifecycle: type[Any]
    owner: Any
    model: Any
    state_field: str
    changed_at_field: str
    version_field: str
    accessor: str
    queue: str
    states: Mapping[str, State]
    initial: tuple[str, ...]
    final: frozenset[str]
    transitions: Mapping[str, CompiledTransition]
    effects: Mapping[str, CompiledEffect]
    create_guards: tuple[Guard, ...] = ()
    enter_effects: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    enter_hooks: Mapping[str, tuple[Hook, ...]] = field(default_factory=dict)
    leave_hooks: Mapping[str, tuple[Hook, ...]] = field(default_factory=dict)
    timeouts: Mapping[str, CompiledTimeout] = field(default_factory=dict)
    deadlines: Mapping[str, CompiledDeadline] = field(default_factory=dict)
    reminders: Mapping[str, CompiledReminder] = field(default_factory=dict)
    parameters: type[Any] | None = None
    hash: str = ""

    @property
    def owned_fields(self) -> tuple[str, str, str]:
        """The names of the state, changed-at and version columns."""
        return self.state_field, self.changed_at_field, self.version_field

    def leaving(self, state: str) -> Sequence[CompiledTransition]:
        """The transitions that start in a state, in the order they were declared."""
        return [transition for transition in self.transitions.values() if state in transition.sources]
