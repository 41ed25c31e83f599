"""What may be written in a lifecycle's body, and what comes of it."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import translation
from django.utils.translation import gettext_lazy as _
from django.utils.translation import override

from lifecycle import (
    ANY,
    ANY_EXCEPT,
    CREATE,
    Deadline,
    Effect,
    InvalidDefinition,
    Lifecycle,
    Reminder,
    Retry,
    State,
    Timeout,
    Transition,
    effect,
    guard,
    on_enter,
    on_leave,
)
from lifecycle.definition import lifecycle as declarations
from lifecycle.definition.compiler import shape
from lifecycle.definition.durations import InvalidDuration
from tests.support.lifecycles import ParcelLifecycle, TicketLifecycle
from tests.support.models import Ticket


class Base(Lifecycle[Any]):
    class Meta:
        abstract = True
        name = "gates"
        states = ["open", "closed", "locked", "gone"]
        initial = "open"
        final = "gone"

    close = Transition("open", "closed")
    reopen = Transition("closed", "open")
    lock = Transition("closed", "locked")
    unlock = Transition("locked", "closed")
    remove = Transition(ANY, "gone")

    @close.guard(code="blocked", message="Something is in the way.")
    def is_free(self, ctx: Any) -> bool:
        return bool(ctx.free)

    @close.set
    def note_time(self, ctx: Any) -> dict[str, Any]:
        return {"closed_by": ctx.actor}

    @close.effect(retry=Retry(attempts=3))
    def ring(self, ctx: Any) -> str:
        return "base"


# States -----------------------------------------------------------------------------------------------


def test_states_and_labels_come_from_the_fields_choices() -> None:
    states = TicketLifecycle.definition.states
    assert list(states) == ["open", "waiting", "solved", "escalated", "closed"]
    assert states["waiting"].label == "Waiting for the customer"
    assert [name for name, state in states.items() if state.final] == ["closed"]
    assert [name for name, state in states.items() if state.initial] == ["open", "escalated"]
    assert TicketLifecycle.definition.initial == ("open", "escalated")


def test_everything_compiled_is_plain_text_never_a_member_of_the_choices() -> None:
    definition = TicketLifecycle.definition
    names = [*definition.states, *definition.initial, *definition.final]
    for transition in definition.transitions.values():
        names += [*transition.sources, *transition.targets]
    assert {type(name) for name in names} == {str}


def test_meta_states_add_labels_and_meta_to_the_fields_choices() -> None:
    class Described(TicketLifecycle):
        class Meta:
            name = "described"
            states = {
                Ticket.Status.OPEN: State("Fresh", meta={"tone": "calm"}),
                "solved": {"meta": {"tags": ["a"]}},
                "closed": "Shut",
            }

    states = Described.definition.states
    assert list(states) == list(TicketLifecycle.definition.states)
    assert (states["open"].label, states["open"].meta) == ("Fresh", {"tone": "calm"})
    assert (str(states["solved"].label), states["solved"].meta) == ("Solved", {"tags": ("a",)})
    assert states["closed"].label == "Shut"
    assert states["waiting"].meta == {}


def test_states_may_be_a_choices_class_without_a_model() -> None:
    class Process(Base):
        class Meta:
            states = Ticket.Status
            initial = Ticket.Status.OPEN
            final = [Ticket.Status.CLOSED]

        close = Transition("open", "closed")
        go = Transition("open", ["waiting", "solved", "escalated"], route=lambda ctx: "waiting")
        remove = Transition(ANY, "closed")
        reopen = lock = unlock = None  # type: ignore[assignment]

    assert Process.definition.states["waiting"].label == "Waiting for the customer"
    assert Process.definition.model is None


def test_a_label_is_made_of_the_name_when_none_is_given() -> None:
    class Process(Base):
        class Meta:
            states = ["open", "closed", "locked", "gone", "half_open"]

        push_gently = Transition("open", "half_open")
        pull = Transition("half_open", "open")

    assert Process.definition.states["half_open"].label == "Half open"
    assert Process.definition.transitions["push_gently"].label == "Push gently"


def test_lazy_labels_are_shown_in_the_language_of_whoever_looks() -> None:
    # "Yes", "No" and "Unknown" are translated by Django itself.
    with override("de"):

        class Process(Base):
            class Meta:
                states = {"open": State(_("Yes")), "closed": _("No"), "locked": "Locked", "gone": "Gone"}

            close = Transition("open", "closed", label=_("Unknown"))

    definition = Process.definition
    lazy = (definition.states["open"].label, definition.states["closed"].label, definition.transitions["close"].label)
    said = {}
    for language in ("en", "de", "fr"):
        with translation.override(language):
            said[language] = [str(label) for label in lazy]
    assert said == {
        "en": ["Yes", "No", "Unknown"],
        "de": ["Ja", "Nein", "Unbekannt"],
        "fr": ["Oui", "Non", "Inconnu"],
    }


def test_a_deprecated_state_needs_no_way_in_and_any_still_leads_out() -> None:
    class Process(Base):
        class Meta:
            states = {"open": "", "closed": "", "locked": "", "gone": "", "ajar": State(deprecated=True)}

    assert Process.definition.states["ajar"].deprecated
    assert "ajar" in Process.definition.transitions["remove"].sources


# Transitions ------------------------------------------------------------------------------------------


def test_any_means_every_state_that_is_not_final() -> None:
    class Process(Base):
        shake = Transition(ANY_EXCEPT("locked"), "open")

    transitions = Process.definition.transitions
    assert transitions["remove"].sources == {"open", "closed", "locked"}
    assert transitions["shake"].sources == {"open", "closed"}
    assert transitions["remove"].any_source
    assert not transitions["close"].any_source


def test_attributes_stay_the_declared_objects_and_know_their_names() -> None:
    assert isinstance(Base.close, Transition)
    assert Base.close.name == "close"
    assert isinstance(ParcelLifecycle.print_label, Effect)
    assert ParcelLifecycle.print_label.name == "print_label"
    assert Base.close is vars(Base)["close"]


def test_functions_stay_callable_as_bound_methods_of_the_owner() -> None:
    class Process(Base):
        pass

    owner = Process.definition.owner
    assert isinstance(owner, Process)
    assert owner.is_free(SimpleNamespace(free=True)) is True
    assert owner.ring(None) == "base"
    assert Process.definition.transitions["close"].guards[0].ask(SimpleNamespace(free=False)) is False


def test_guards_may_be_methods_functions_names_and_dotted_paths() -> None:
    def is_daytime(ctx: Any) -> bool:
        return ctx == "day"

    class Process(Base):
        def has_key(self, ctx: Any) -> str:
            return f"{type(self).__name__} {ctx}"

        @staticmethod
        def has_hands(ctx: Any) -> str:
            return f"hands {ctx}"

        lock = Transition("closed", "locked", guards=[has_key, has_hands, is_daytime, "is_free", "operator.truth"])

        @lock.guard
        def is_whole(self, ctx: Any) -> bool:
            return True

    guards = Process.definition.transitions["lock"].guards
    assert [one.name for one in guards] == ["has_key", "has_hands", "is_daytime", "is_free", "truth", "is_whole"]
    assert guards[0].ask("c") == "Process c"
    assert guards[1].ask("c") == "hands c"
    assert guards[2].ask("day") is True
    assert guards[4].ask([]) is False
    assert [one.code for one in guards[:3]] == ["guard_refused"] * 3


def test_a_wired_guard_that_is_listed_elsewhere_keeps_its_code_and_message() -> None:
    class Process(Base):
        lock = Transition("closed", "locked", guards=[Base.is_free])

    (asked,) = Process.definition.transitions["lock"].guards
    assert (asked.code, asked.message, asked.kind) == ("blocked", "Something is in the way.", "precondition")


def test_a_dotted_path_is_not_imported_before_it_is_called() -> None:
    class Process(Base):
        lock = Transition("closed", "locked", guards=["no.such.module.fn"], hooks="also.not.there")

    (asked,) = Process.definition.transitions["lock"].guards
    with pytest.raises(ImportError):
        asked.ask(None)


def test_one_guard_may_stand_before_several_transitions_all_of_them_or_creation() -> None:
    class Process(Base):
        @guard(on=[Base.lock, "unlock"], kind="permission")
        def has_key(self, ctx: Any) -> bool:
            return True

        @guard(on=ANY)
        def is_whole(self, ctx: Any) -> bool:
            return True

        @guard(on=ANY_EXCEPT("remove"))
        def has_hinges(self, ctx: Any) -> bool:
            return True

        @guard(on=CREATE, code="no_wall")
        def has_wall(self, ctx: Any) -> bool:
            return True

    definition = Process.definition
    names = {name: [one.name for one in edge.guards] for name, edge in definition.transitions.items()}
    assert names == {
        "close": ["is_free", "is_whole", "has_hinges"],
        "reopen": ["is_whole", "has_hinges"],
        "lock": ["has_key", "is_whole", "has_hinges"],
        "unlock": ["has_key", "is_whole", "has_hinges"],
        "remove": ["is_whole"],
    }
    assert definition.transitions["lock"].guards[0].kind == "permission"
    assert [one.code for one in definition.create_guards] == ["no_wall"]


def test_one_function_may_be_wired_several_times() -> None:
    class Process(Base):
        @Base.lock.hook
        @Base.unlock.hook
        @on_enter("open", "closed")
        @on_leave("open")
        def creak(self, ctx: Any) -> str:
            return f"creak {ctx}"

    definition = Process.definition
    assert [one.name for one in definition.transitions["lock"].hooks] == ["creak"]
    assert [one.name for one in definition.transitions["unlock"].hooks] == ["creak"]
    assert set(definition.enter_hooks) == {"open", "closed"}
    assert set(definition.leave_hooks) == {"open"}
    assert definition.leave_hooks["open"][0].call("!") == "creak !"


def test_enter_hooks_of_any_state_include_final_ones_and_leave_hooks_do_not() -> None:
    class Process(Base):
        @on_enter(ANY)
        def arrive(self, ctx: Any) -> None: ...

        @on_leave(ANY)
        def depart(self, ctx: Any) -> None: ...

    assert list(Process.definition.enter_hooks) == ["open", "closed", "locked", "gone"]
    assert list(Process.definition.leave_hooks) == ["open", "closed", "locked"]


def test_sets_are_asked_in_the_order_they_are_declared() -> None:
    class Process(Base):
        lock = Transition("closed", "locked", set=lambda ctx: {"n": 1})

        @lock.set
        def second(self, ctx: Any) -> dict[str, int]:
            return {"n": 2}

    assert [ask(None) for ask in Process.definition.transitions["lock"].sets] == [{"n": 1}, {"n": 2}]


# Effects ----------------------------------------------------------------------------------------------


def test_effects_are_enqueued_by_transitions_and_by_entering_states() -> None:
    @effect
    def shared(ctx: Any) -> str:
        return f"shared {ctx}"

    class Process(Base):
        lock = Transition("closed", "locked", effects=[shared, "ring"])

        @effect(on=["unlock", Base.reopen], on_enter="open", name="creaking", queue="slow")
        def creak(self, ctx: Any) -> None: ...

    definition = Process.definition
    assert definition.transitions["lock"].effects == ("shared", "ring")
    assert definition.transitions["close"].effects == ("ring",)
    assert definition.transitions["unlock"].effects == ("creaking",)
    assert definition.enter_effects == {"open": ("creaking",)}
    assert definition.effects["creaking"].on == {"unlock", "reopen"}
    assert definition.effects["creaking"].queue == "slow"
    assert definition.effects["shared"].call("x") == "shared x"
    assert definition.effects["shared"].on == {"lock"}
    assert Process.creak.name == "creaking"


def test_on_dead_follows_on_failure_unless_it_is_named() -> None:
    class Process(Base):
        @effect(on_enter="closed", on_failure=Base.reopen)
        def one(self, ctx: Any) -> None: ...

        @effect(on_enter="closed", on_failure=Base.reopen, on_dead=Base.lock)
        def two(self, ctx: Any) -> None: ...

    assert Process.definition.effects["one"].on_dead == "reopen"
    assert Process.definition.effects["two"].on_dead == "lock"


def test_a_follow_up_may_wait_for_a_state_that_comes_later() -> None:
    class Process(Base):
        @Base.close.effect(on_success=Base.unlock)
        def ring(self, ctx: Any) -> None: ...

    assert Process.definition.effects["ring"].on_success == "unlock"


# Triggers ---------------------------------------------------------------------------------------------


def test_triggers_are_compiled_with_what_they_wait_for() -> None:
    definition = TicketLifecycle.definition
    timeout, deadline = definition.timeouts["close_solved"], definition.deadlines["escalate_overdue"]
    reminder = definition.reminders["nudge_customer"]
    assert (timeout.transition, timeout.when, timeout.batch_size) == ("close", ("solved",), 100)
    assert timeout.after(TicketLifecycle.Parameters(patience=timedelta(hours=1))) == timedelta(hours=1)
    assert (deadline.transition, deadline.when, deadline.at) == ("escalate", ("open", "waiting"), "due_on")
    assert (reminder.effect, reminder.when, reminder.repeat) == ("nudge", ("waiting",), timedelta(hours=8))
    assert reminder.after(None) == timedelta(hours=4)


@pytest.mark.parametrize("answer", [180, None, timedelta(seconds=-1), float("inf")])
def test_a_wait_that_parameters_make_absurd_is_an_error_that_names_the_trigger(answer: Any) -> None:
    class Process(Base):
        @dataclass(frozen=True)
        class Parameters:
            patience: timedelta = timedelta(1)

        later = Timeout(Base.close, when="open", after=lambda parameters: parameters.patience)

    after = Process.definition.timeouts["later"].after
    assert after(Process.Parameters()) == timedelta(1)
    assert after(Process.Parameters(patience=timedelta(0))) == timedelta(0)
    with pytest.raises(InvalidDuration, match=r"Process\.later: after answered"):
        after(SimpleNamespace(patience=answer))


# Inheritance ------------------------------------------------------------------------------------------


def test_an_abstract_class_is_not_compiled() -> None:
    assert not hasattr(Base, "definition")
    assert Base not in declarations.declared


def test_a_concrete_class_is_declared_once() -> None:
    class Process(Base):
        pass

    assert declarations.declared.count(Process) == 1


def test_a_subclass_overrides_by_name_and_references_mean_the_overriding_one() -> None:
    class Process(Base):
        close = Transition("open", ["closed", "locked"], route=lambda ctx: "locked")
        later = Timeout(Base.close, when="open", after=timedelta(1))

    definition = Process.definition
    assert definition.transitions["close"].targets == ("closed", "locked")
    assert [one.name for one in definition.transitions["close"].guards] == ["is_free"]
    assert definition.timeouts["later"].transition == "close"
    assert list(definition.transitions) == ["close", "reopen", "lock", "unlock", "remove"]


def test_a_plain_function_that_overrides_a_wired_one_keeps_its_wiring() -> None:
    class Process(Base):
        def is_free(self, ctx: Any) -> bool:
            return not Base.is_free(self, ctx)

        def ring(self, ctx: Any) -> str:  # type: ignore[override]
            return f"{super().ring(ctx)} and more"

    definition = Process.definition
    (asked,) = definition.transitions["close"].guards
    assert (asked.code, asked.ask(SimpleNamespace(free=False))) == ("blocked", True)
    assert definition.effects["ring"].call(None) == "base and more"
    assert definition.effects["ring"].retry.attempts == 3


def test_none_removes_what_a_base_class_declares_and_its_wirings_with_it() -> None:
    class Process(Base):
        lock = unlock = None  # type: ignore[assignment]
        is_free = None  # type: ignore[assignment]

        class Meta:
            states = ["open", "closed", "gone"]

    definition = Process.definition
    assert list(definition.transitions) == ["close", "reopen", "remove"]
    assert definition.transitions["close"].guards == ()


def test_guards_of_a_removed_transition_go_with_it() -> None:
    class Process(Base):
        close = None  # type: ignore[assignment]
        slam = Transition("open", "closed", effects=[Base.ring])

    assert Process.definition.transitions["slam"].guards == ()
    assert Process.definition.effects["ring"].on == {"slam"}


def test_declaring_on_a_base_classs_transition_changes_nothing_of_the_base_class() -> None:
    class First(Base):
        @Base.lock.guard
        def has_key(self, ctx: Any) -> bool:
            return True

    class Second(Base):
        pass

    assert [one.name for one in First.definition.transitions["lock"].guards] == ["has_key"]
    assert Second.definition.transitions["lock"].guards == ()


def test_meta_is_inherited_option_by_option() -> None:
    class Process(Base):
        class Meta:
            name = "gates"
            queue = "slow"

    assert (Process.definition.name, Process.definition.queue) == ("gates", "slow")
    assert Process.definition.initial == ("open",)
    assert not getattr(Process.Meta, "abstract", False)


def test_mixins_bring_transitions_of_their_own() -> None:
    class Archivable(Lifecycle[Any]):
        class Meta:
            abstract = True

        archive = Transition("closed", "gone")

    class Process(Archivable, Base):
        pass

    assert Process.definition.transitions["archive"].targets == ("gone",)
    assert "close" in Process.definition.transitions


# Immutability -----------------------------------------------------------------------------------------


def test_a_declaration_cannot_be_changed() -> None:
    for declared in (
        Base.close,
        Base.ring,
        Timeout("close", "open", timedelta(1)),
        Deadline("close", "open", "due_on"),
        Reminder("ring", "open", timedelta(1)),
    ):
        with pytest.raises(AttributeError, match="immutable"):
            declared.source = "locked"
    with pytest.raises(AttributeError, match="immutable"):
        State("Open").final = True


def test_a_definition_cannot_be_changed() -> None:
    class Process(Base):
        class Meta:
            states = {"open": State(meta={"a": {"b": 1}}), "closed": "", "locked": "", "gone": ""}

    definition = Process.definition
    with pytest.raises(FrozenInstanceError):
        definition.name = "other"  # type: ignore[misc]
    for mapping in (definition.states, definition.transitions, definition.effects, definition.states["open"].meta):
        with pytest.raises(TypeError, match="immutable"):
            mapping["x"] = 1  # type: ignore[index]
        with pytest.raises(TypeError, match="immutable"):
            mapping.clear()  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="immutable"):
        definition.states["open"].meta["a"]["b"] = 2


def test_meta_given_to_a_declaration_may_be_changed_later_without_effect() -> None:
    given = {"tone": "calm"}

    class Process(Base):
        close = Transition("open", "closed", meta=given)

    given["tone"] = "loud"
    assert Process.definition.transitions["close"].meta == {"tone": "calm"}


def test_frozen_mappings_copy_and_pickle() -> None:
    meta = TicketLifecycle.definition.states["open"].meta
    assert copy.copy(meta) == copy.deepcopy(meta) == pickle.loads(pickle.dumps(meta)) == meta


# Hash -------------------------------------------------------------------------------------------------


def variant(**body: Any) -> str:
    made: type[Lifecycle[Any]] = type("Process", (Base,), body)
    return made.definition.hash


def test_the_hash_does_not_depend_on_process_code_or_labels() -> None:
    assert variant() == variant()
    assert variant(close=Transition("open", "closed", label="Shut", meta={"a": 1})) == variant()
    assert variant(is_free=lambda self, ctx: False) == variant()
    assert len(variant()) == 32


@pytest.mark.parametrize(
    "body",
    [
        {"close": Transition(["open", "locked"], "closed")},
        {"close": Transition("open", "closed", manual=False)},
        {"slam": Transition("open", "closed")},
        {"later": Timeout("close", when="open", after=timedelta(1))},
        {"boom": effect(on="close")(lambda self, ctx: None)},
        {"Meta": type("Meta", (), {"name": "barriers"})},
    ],
    ids=["sources", "manual", "transition", "timeout", "effect", "name"],
)
def test_the_hash_changes_with_the_shape(body: dict[str, Any]) -> None:
    assert variant(**body) != variant()


def test_the_hash_is_the_same_in_every_process() -> None:
    # Sets have no order across processes; the shape therefore holds none.
    def flat(value: Any) -> bool:
        if isinstance(value, dict):
            return all(flat(item) for item in value.values())
        if isinstance(value, list):
            return all(flat(item) for item in value)
        return value is None or isinstance(value, (str, int, bool))

    assert flat(shape(TicketLifecycle.definition))
    assert flat(shape(replace(ParcelLifecycle.definition)))


def test_an_error_of_many_problems_survives_pickling() -> None:
    with pytest.raises(InvalidDefinition) as refusal:
        type("Broken", (Base,), {"close": Transition("opne", "closed")})
    again = pickle.loads(pickle.dumps(refusal.value))
    assert str(again) == str(refusal.value)
    assert again.problems == refusal.value.problems
