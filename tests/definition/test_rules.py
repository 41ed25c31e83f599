"""Every rule: a definition that breaks it, and the sentence it gets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any

import pytest
from django import forms

from lifecycle import (
    ANY,
    ANY_EXCEPT,
    CREATE,
    Deadline,
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
from lifecycle.definition.problems import Problem
from tests.support.models import Ticket


class Gate(Lifecycle[Any]):
    """A process with nothing wrong; every case below breaks one thing of it."""

    class Meta:
        abstract = True
        name = "gates"
        states = ["open", "closed", "locked", "gone"]
        initial = "open"
        final = ["gone"]

    close = Transition("open", "closed")
    reopen = Transition("closed", "open")
    lock = Transition("closed", "locked")
    unlock = Transition("locked", "closed")
    remove = Transition(ANY, "gone")


Case = tuple[Callable[[], Any], list[tuple[str, str, str]]]
CASES: dict[str, Case] = {}


def wrong(*told: tuple[str, str, str]) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """The problems a definition must be refused with: id, place, sentence."""

    def note(make: Callable[[], Any]) -> Callable[[], Any]:
        CASES[make.__name__] = (make, list(told))
        return make

    return note


def problems_of(make: Callable[[], Any]) -> list[Problem]:
    with pytest.raises(InvalidDefinition) as refusal:
        make()
    return list(refusal.value.problems)


def test_a_definition_with_nothing_wrong_compiles() -> None:
    class Good(Gate):
        pass

    assert list(Good.definition.transitions) == ["close", "reopen", "lock", "unlock", "remove"]


# Options ----------------------------------------------------------------------------------------------


@wrong(("lifecycle.E001", "Broken.Meta", "Meta has no option 'inital'."))
def meta_with_an_unknown_option() -> None:
    class Broken(Gate):
        class Meta:
            inital = "open"


@wrong(("lifecycle.E001", "Broken.close", "Transition has no option 'lable'."))
def transition_with_an_unknown_option() -> None:
    class Broken(Gate):
        close = Transition("open", "closed", lable="Close")  # type: ignore[arg-type]


@wrong(("lifecycle.E001", "Broken.ring", "Effect has no option 'retires'."))
def effect_with_an_unknown_option() -> None:
    class Broken(Gate):
        @effect(on=Gate.close, retires=3)  # type: ignore[call-overload]
        def ring(self, ctx: Any) -> None: ...


@wrong(("lifecycle.E001", "Broken.ring", "Effect has no option 'on_sucess'."))
def transition_effect_with_an_unknown_option() -> None:
    class Broken(Gate):
        @Gate.close.effect(on_sucess="reopen")  # type: ignore[call-overload]
        def ring(self, ctx: Any) -> None: ...


@wrong(("lifecycle.E001", "Broken.is_free", "guard has no option 'msg'."))
def guard_with_an_unknown_option() -> None:
    class Broken(Gate):
        @Gate.close.guard(msg="Somebody stands in it.")  # type: ignore[call-overload]
        def is_free(self, ctx: Any) -> bool:
            return True


@wrong(("lifecycle.E001", "Broken.later", "Timeout has no option 'batchsize'."))
def timeout_with_an_unknown_option() -> None:
    class Broken(Gate):
        later = Timeout(Gate.close, when="open", after=timedelta(1), batchsize=3)  # type: ignore[arg-type]


@wrong(("lifecycle.E001", "Broken.Meta.states.open", "State has no option 'colour'."))
def state_with_an_unknown_option() -> None:
    class Broken(Gate):
        class Meta:
            states = {"open": {"colour": "red"}, "closed": {}, "locked": {}, "gone": {}}


@wrong(
    ("lifecycle.E002", "Broken.close", "manual is 'no'."),
    ("lifecycle.E002", "Broken.close", "on_same is 'maybe'."),
    ("lifecycle.E002", "Broken.close", "meta is {'tone': {1, 2}}."),
    ("lifecycle.E002", "Broken.close", "form is 'ShipForm'."),
    ("lifecycle.E002", "Broken.close", "accept is [3]."),
    ("lifecycle.E002", "Broken.close", "label is 7."),
)
def transition_with_options_of_the_wrong_type() -> None:
    class Broken(Gate):
        close = Transition(
            "open",
            "closed",
            manual="no",  # type: ignore[arg-type]
            on_same="maybe",  # type: ignore[arg-type]
            meta={"tone": {1, 2}},
            form="ShipForm",
            accept=[3],  # type: ignore[list-item]
            label=7,
        )


@wrong(
    ("lifecycle.E002", "Broken.ring", "timeout is datetime.timedelta(0)."),
    ("lifecycle.E002", "Broken.ring", "delay is datetime.timedelta(days=-1)."),
    ("lifecycle.E002", "Broken.ring", "queue is ''."),
    ("lifecycle.E002", "Broken.ring", "retry is 3."),
)
def effect_with_options_of_the_wrong_type() -> None:
    class Broken(Gate):
        @effect(on=Gate.close, timeout=timedelta(0), delay=timedelta(-1), queue="", retry=3)  # type: ignore[call-overload]
        def ring(self, ctx: Any) -> None: ...


@wrong(("lifecycle.E002", "Broken.is_free", "kind is 'wish'."))
def guard_of_an_unknown_kind() -> None:
    class Broken(Gate):
        @Gate.close.guard(kind="wish")  # type: ignore[call-overload]
        def is_free(self, ctx: Any) -> bool:
            return True


@wrong(("lifecycle.E002", "Broken.later", "batch_size is 0."))
def timeout_with_an_empty_batch() -> None:
    class Broken(Gate):
        later = Timeout(Gate.close, when="open", after=timedelta(1), batch_size=0)


@wrong(("lifecycle.E002", "Broken.on_day", "at is 7."))
def deadline_at_a_number() -> None:
    class Broken(Gate):
        on_day = Deadline(Gate.close, when="open", at=7)


@wrong(
    ("lifecycle.E002", "Broken.Meta.accessor", "accessor is 'a gate'."),
    ("lifecycle.E002", "Broken.Meta.queue", "queue is None."),
    ("lifecycle.E002", "Broken.Meta.services", "services is 5."),
)
def meta_with_options_of_the_wrong_type() -> None:
    class Broken(Gate):
        class Meta:
            accessor = "a gate"
            queue = None
            services = 5


# Names ------------------------------------------------------------------------------------------------


@wrong(("lifecycle.E003", "Broken", "The lifecycle name 'my gates' cannot be stored."))
def lifecycle_name_with_a_space() -> None:
    class Broken(Gate):
        class Meta:
            name = "my gates"


@wrong(("lifecycle.E003", "Broken", f"The lifecycle name '{'d' * 101}' has 101 characters; 100 fit."))
def lifecycle_name_too_long() -> None:
    class Broken(Gate):
        class Meta:
            name = "d" * 101


@wrong(("lifecycle.E003", "Broken.$open", "The state name '$open' cannot be stored."))
def state_name_of_the_librarys_own() -> None:
    class Broken(Gate):
        class Meta:
            states = ["open", "closed", "locked", "gone", "$open"]

        start = Transition("open", "$open")
        end = Transition("$open", "open")


@wrong(("lifecycle.E003", f"Broken.{'s' * 64}", f"The state name '{'s' * 64}' has 64 characters; 63 fit."))
def state_name_too_long() -> None:
    class Broken(Gate):
        class Meta:
            states = ["open", "closed", "locked", "gone", "s" * 64]

        start = Transition("open", "s" * 64)


@wrong(("lifecycle.E003", "Broken._close", "The transition name '_close' cannot be stored."))
def transition_name_with_an_underscore_first() -> None:
    class Broken(Gate):
        _close = Transition("open", "closed")


@wrong(("lifecycle.E003", "Broken.ring the bell", "The effect name 'ring the bell' cannot be stored."))
def effect_name_with_spaces() -> None:
    class Broken(Gate):
        @effect(on=Gate.close, name="ring the bell")
        def ring(self, ctx: Any) -> None: ...


@wrong(("lifecycle.E003", "Broken.is_free", "The code 'not free!' of guard 'is_free' is no code."))
def guard_code_with_a_space() -> None:
    class Broken(Gate):
        @guard(on=[Gate.close, Gate.lock], code="not free!")
        def is_free(self, ctx: Any) -> bool:
            return True


@wrong(("lifecycle.E003", "Broken.Meta.states", "The state 1 is not a string."))
def state_that_is_a_number() -> None:
    class Number(Enum):
        ONE = 1

    class Broken(Gate):
        class Meta:
            states = ["open", "closed", "locked", "gone", Number.ONE]


# What Meta must say -----------------------------------------------------------------------------------


@wrong(
    ("lifecycle.E004", "Broken.Meta.model", "Meta has no model."),
    ("lifecycle.E004", "Broken.Meta.name", "Meta has no name."),
    ("lifecycle.E004", "Broken.Meta.initial", "Meta has no initial state."),
)
def no_meta_at_all() -> None:
    class Broken(Lifecycle[Any]):
        pass


@wrong(("lifecycle.E004", "Broken.Meta.model", "Meta.model is 'Order', which is no model class."))
def model_by_name() -> None:
    class Broken(Gate):
        class Meta:
            model = "Order"


@wrong(("lifecycle.E005", "Broken.shut", "'shut' is the same transition object as 'close'."))
def one_transition_under_two_names() -> None:
    class Broken(Gate):
        shut = Gate.close


@wrong(("lifecycle.E006", "Broken.services", "'services' is a name of Lifecycle itself and cannot be a transition."))
def transition_with_a_name_of_lifecycle_itself() -> None:
    class Broken(Gate):
        services = Transition("open", "closed")  # type: ignore[assignment]


@wrong(("lifecycle.E007", "Broken.close", "'close' is a transition in a base class and something else here."))
def transition_overridden_by_a_function() -> None:
    class Broken(Gate):
        def close(self, ctx: Any) -> None: ...  # type: ignore[override]


# Functions --------------------------------------------------------------------------------------------


@wrong(("lifecycle.E008", "Broken.is_free", "The guard 'is_free' cannot be called with one argument."))
def guard_without_a_context() -> None:
    class Broken(Gate):
        @Gate.close.guard
        def is_free(self) -> bool:
            return True


@wrong(("lifecycle.E008", "Broken.is_free", "The guard 'is_free' is async, and it is called by synchronous code."))
def guard_that_is_async() -> None:
    class Broken(Gate):
        @Gate.close.guard
        async def is_free(self, ctx: Any) -> bool:
            return True


@wrong(("lifecycle.E008", "Broken.ring", "The effect 'ring' is async, and it is called by synchronous code."))
def effect_that_is_async() -> None:
    class Broken(Gate):
        @Gate.close.effect
        async def ring(self, ctx: Any) -> None: ...


@wrong(("lifecycle.E008", "Broken.close", "The guard 'is_fre' cannot be called."))
def guard_by_a_wrong_name() -> None:
    class Broken(Gate):
        close = Transition("open", "closed", guards=["is_fre"])

        def is_free(self, ctx: Any) -> bool:
            return True


@wrong(("lifecycle.E008", "Broken.close", "The set 5 cannot be called."))
def set_that_is_a_number() -> None:
    class Broken(Gate):
        close = Transition("open", "closed", set=5)


@wrong(
    ("lifecycle.E008", "Broken.ring", "The effect 'ring' cannot be called."),
    ("lifecycle.E008", "Broken.is_free", "The guard 'is_free' cannot be called."),
)
def declarations_around_no_function() -> None:
    class Broken(Gate):
        ring = effect(on="close")(5)  # type: ignore[arg-type]
        is_free = Gate.close.guard(5)  # type: ignore[type-var]


# Parameters -------------------------------------------------------------------------------------------


@wrong(("lifecycle.E009", "Broken.Parameters", "Parameters is not a frozen dataclass."))
def parameters_that_can_be_changed() -> None:
    class Broken(Gate):
        @dataclass
        class Parameters:
            patience: int = 3


@wrong(("lifecycle.E009", "Broken.Parameters.patience", "Parameter 'patience' has no default."))
def parameter_without_a_default() -> None:
    class Broken(Gate):
        @dataclass(frozen=True)
        class Parameters:
            patience: int


@wrong(
    (
        "lifecycle.E009",
        "Broken.Parameters.model",
        "Parameter 'model' is a <class 'object'>, which cannot be stored as JSON.",
    )
)
def parameter_that_is_no_json() -> None:
    class Broken(Gate):
        @dataclass(frozen=True)
        class Parameters:
            model: object = None


@wrong(
    ("lifecycle.E009", "Broken.Parameters.patience", "The default of parameter 'patience' is 'long', no whole number.")
)
def parameter_whose_default_is_of_another_type() -> None:
    class Broken(Gate):
        @dataclass(frozen=True)
        class Parameters:
            patience: int = "long"  # type: ignore[assignment]


# States -----------------------------------------------------------------------------------------------


@wrong(("lifecycle.E010", "Broken.Meta.states", "There are no states."))
def no_states() -> None:
    class Broken(Lifecycle[Any]):
        class Meta:
            name = "empty"
            states: list[str] = []
            initial = "open"


@wrong(("lifecycle.E010", "Broken.Meta.states", "Meta.states cannot be read: 'open'."))
def states_that_are_one_string() -> None:
    class Broken(Lifecycle[Any]):
        class Meta:
            name = "empty"
            states = "open"
            initial = "open"


@wrong(("lifecycle.E010", "Broken.Meta.state_field", "Ticket has no field 'state' to keep the state in."))
def state_field_that_does_not_exist() -> None:
    class Broken(Lifecycle[Ticket]):
        class Meta:
            model = Ticket
            name = "broken"
            state_field = "state"
            initial = "open"


@wrong(("lifecycle.E010", "Broken.Meta.state_field", "There are no states."))
def state_field_without_choices() -> None:
    class Broken(Lifecycle[Ticket]):
        class Meta:
            model = Ticket
            name = "broken"
            state_field = "title"
            initial = "open"


@wrong(("lifecycle.E011", "Broken.Meta.states", "The state 'open' is listed twice."))
def state_listed_twice() -> None:
    class Broken(Gate):
        class Meta:
            states = ["open", "closed", "locked", "gone", "open"]


@wrong(("lifecycle.E012", "Broken.Meta.initial", "Meta.initial names 'opne', which is no state."))
def unknown_initial_state() -> None:
    class Broken(Gate):
        class Meta:
            initial = ["open", "opne"]


@wrong(("lifecycle.E013", "Broken.Meta.final", "Meta.final names 'goner', which is no state."))
def unknown_final_state() -> None:
    class Broken(Gate):
        class Meta:
            final = ["gone", "goner"]


@wrong(("lifecycle.E014", "Broken.Meta.states", "Meta.states describes 'opne', which is no state."))
def description_of_a_state_the_field_does_not_have() -> None:
    class Broken(Lifecycle[Ticket]):
        class Meta:
            model = Ticket
            name = "broken"
            initial = "open"
            final = ["closed"]
            states = {"opne": State("Open")}

        move = Transition("open", ["waiting", "solved", "escalated"], route=lambda ctx: "waiting")
        end = Transition(ANY, "closed")


@wrong(("lifecycle.E015", "Broken.Meta.states", "No path leads from an initial state to 'locked'."))
def state_nobody_can_come_to() -> None:
    class Broken(Gate):
        lock = None  # type: ignore[assignment]


@wrong(("lifecycle.E016", "Broken.Meta.final", "'locked' is not final, but no transition leaves it."))
def state_nobody_can_leave() -> None:
    class Broken(Gate):
        unlock = None  # type: ignore[assignment]
        remove = Transition(["open", "closed"], "gone")


@wrong(("lifecycle.E017", "Broken.return_", "Transition 'return_' leaves the final state 'gone'."))
def final_state_that_is_left() -> None:
    class Broken(Gate):
        return_ = Transition("gone", "open")


@wrong(("lifecycle.E018", "Broken.say_goodbye", "'say_goodbye' waits for 'gone' to be left, and it is final."))
def leave_hook_on_a_final_state() -> None:
    class Broken(Gate):
        @on_leave("gone")
        def say_goodbye(self, ctx: Any) -> None: ...


@wrong(("lifecycle.E019", "Broken.lock", "Transition 'lock' leads into the deprecated state 'locked'."))
def transition_into_a_deprecated_state() -> None:
    class Broken(Gate):
        class Meta:
            states = {"open": "Open", "closed": "Closed", "locked": State("Locked", deprecated=True), "gone": "Gone"}


@wrong(("lifecycle.E019", "Broken.Meta.initial", "The initial state 'ajar' is deprecated."))
def creation_in_a_deprecated_state() -> None:
    class Broken(Gate):
        class Meta:
            states = {"ajar": State(deprecated=True), "open": "Open", "closed": "", "locked": "", "gone": ""}
            initial = ["open", "ajar"]


# Transitions ------------------------------------------------------------------------------------------


@wrong(
    ("lifecycle.E020", "Broken.vanish", "Transition 'vanish' has no source."),
    ("lifecycle.E020", "Broken.wait", "Transition 'wait' has no target."),
)
def transitions_without_ends() -> None:
    class Broken(Gate):
        vanish = Transition([], "gone")
        wait = Transition("open", None)


@wrong(
    (
        "lifecycle.E020",
        "Broken.vanish",
        "Transition 'vanish' starts in no state: ANY_EXCEPT('open', 'closed', 'locked') leaves none.",
    )
)
def transition_from_nowhere() -> None:
    class Broken(Gate):
        vanish = Transition(ANY_EXCEPT("open", "closed", "locked"), "gone")


@wrong(("lifecycle.E021", "Broken.close", "There is no state 'opne'."))
def transition_from_an_unknown_state() -> None:
    class Broken(Gate):
        close = Transition(["open", "opne"], "closed")


@wrong(("lifecycle.E021", "Broken.close", "There is no state 'clsed'."))
def transition_to_an_unknown_state() -> None:
    class Broken(Gate):
        slam = Transition("open", "closed")
        close = Transition("open", "clsed")


@wrong(("lifecycle.E021", "Broken.remove", "There is no state 'opne'."))
def any_except_an_unknown_state() -> None:
    class Broken(Gate):
        remove = Transition(ANY_EXCEPT("opne"), "gone")


@wrong(("lifecycle.E021", "Broken.jump", "Transition 'jump' has the target ANY."))
def transition_to_any_state() -> None:
    class Broken(Gate):
        jump = Transition("open", ANY, route=lambda ctx: "open")


@wrong(("lifecycle.E022", "Broken.push", "Transition 'push' has 2 targets and no route."))
def several_targets_without_a_route() -> None:
    class Broken(Gate):
        push = Transition("open", ["closed", "locked"])


@wrong(("lifecycle.E023", "Broken.close", "Transition 'close' has a route and a single target."))
def route_with_nothing_to_choose() -> None:
    class Broken(Gate):
        @Gate.close.route
        def where_to(self, ctx: Any) -> str:
            return "closed"


@wrong(("lifecycle.E023", "Broken.push", "Transition 'push' has 2 routes."))
def two_routes() -> None:
    class Broken(Gate):
        push = Transition("open", ["closed", "locked"], route=lambda ctx: "closed")

        @push.route
        def where_to(self, ctx: Any) -> str:
            return "closed"


@wrong(
    ("lifecycle.E024", "Broken.close", "Transition 'close' accepts 'status', a column only the runtime writes."),
    (
        "lifecycle.E024",
        "Broken.close",
        "Transition 'close' accepts 'lifecycle_version', a column only the runtime writes.",
    ),
    ("lifecycle.E024", "Broken.close", "Transition 'close' accepts 'id', the record's key."),
)
def accepting_owned_columns() -> None:
    class Broken(Gate):
        close = Transition("open", "closed", accept=["note", "status", "lifecycle_version", "id"])


@wrong(("lifecycle.E025", "Broken.push", "Transition 'push' has on_same='ok' and several targets."))
def on_same_with_several_targets() -> None:
    class Broken(Gate):
        push = Transition("open", ["closed", "locked"], route=lambda ctx: "closed", on_same="ok")


@wrong(
    ("lifecycle.E028", "Broken.close", "The form of 'close' asks for a file (photo), which no input can hold."),
    ("lifecycle.E028", "Broken.close", "The form of 'close' asks for a file (scan), which no input can hold."),
)
def form_with_a_file() -> None:
    class WithFiles(forms.Form):
        photo = forms.ImageField()
        scan = forms.FileField(required=False)
        note = forms.CharField(widget=forms.Textarea)

    class Broken(Gate):
        close = Transition("open", "closed", form=WithFiles)


@wrong(("lifecycle.E026", "Broken.is_free", "There is no transition 'cloes'."))
def guard_on_an_unknown_transition() -> None:
    class Broken(Gate):
        @guard(on=["close", "cloes"])
        def is_free(self, ctx: Any) -> bool:
            return True


@wrong(("lifecycle.E026", "Broken.ring", "There is no transition 'cloes'."))
def effect_on_an_unknown_transition() -> None:
    class Broken(Gate):
        @effect(on=["close", "cloes"])
        def ring(self, ctx: Any) -> None: ...


@wrong(
    ("lifecycle.E026", "Broken.ring", "Effect 'ring' is to be enqueued by the creation, which enqueues nothing itself.")
)
def effect_on_creation() -> None:
    class Broken(Gate):
        @effect(on=[CREATE, "close"])
        def ring(self, ctx: Any) -> None: ...


@wrong(("lifecycle.E026", "Broken.is_free", "The transition 'shut' belongs to another lifecycle."))
def guard_on_a_transition_of_another_lifecycle() -> None:
    class Other(Gate):
        shut = Transition("open", "closed")

    class Broken(Gate):
        @guard(on=[Other.shut, Gate.close])
        def is_free(self, ctx: Any) -> bool:
            return True


@wrong(("lifecycle.E027", "Broken.creak", "There is no state 'opne'."))
def hook_on_an_unknown_state() -> None:
    class Broken(Gate):
        @on_enter("opne", "open")
        def creak(self, ctx: Any) -> None: ...


@wrong(("lifecycle.E027", "Broken.creak", "There is no state 'opne'."))
def effect_on_entering_an_unknown_state() -> None:
    class Broken(Gate):
        @effect(on_enter=["opne", "open"])
        def creak(self, ctx: Any) -> None: ...


# Effects ----------------------------------------------------------------------------------------------


@wrong(("lifecycle.E030", "Broken.chime", "Two effects are named 'ring'."))
def two_effects_of_one_name() -> None:
    class Broken(Gate):
        @Gate.close.effect
        def ring(self, ctx: Any) -> None: ...

        @Gate.close.effect(name="ring")
        def chime(self, ctx: Any) -> None: ...


@wrong(("lifecycle.E031", "Broken.close", "There is no effect 'rong'."))
def transition_enqueueing_an_unknown_effect() -> None:
    class Broken(Gate):
        close = Transition("open", "closed", effects=["rong"])

        @Gate.lock.effect
        def ring(self, ctx: Any) -> None: ...


@wrong(
    ("lifecycle.E031", "Broken.later", "There is no effect 'rong'."),
)
def reminder_of_an_unknown_effect() -> None:
    class Broken(Gate):
        later = Reminder("rong", when="open", after=timedelta(1))


BAD_RETRY = (
    "Retry cannot be kept: attempts is 0, total is datetime.timedelta(0), "
    "backoff is datetime.timedelta(days=-1), factor is 0, jitter is 2, "
    "retry_on is 'ValueError'."
)


@wrong(("lifecycle.E032", "Broken.ring", BAD_RETRY))
def retry_that_cannot_be_kept() -> None:
    class Broken(Gate):
        @effect(
            on=Gate.close,
            retry=Retry(
                attempts=0, total=timedelta(0), backoff=timedelta(-1), factor=0, jitter=2, retry_on="ValueError"
            ),  # type: ignore[arg-type]
        )
        def ring(self, ctx: Any) -> None: ...


LIMITS_NOTHING = (
    "Retry cannot be kept: total is datetime.timedelta(seconds=14400), but attempts is 1, so there is no other attempt "
    "to limit."
)


@wrong(("lifecycle.E032", "Broken.ring", LIMITS_NOTHING))
def retry_whose_total_limits_nothing() -> None:
    class Broken(Gate):
        @Gate.close.effect(retry=Retry(total=timedelta(hours=4)))
        def ring(self, ctx: Any) -> None: ...


TOO_SHORT = "The lease of effect 'ring' is 0:00:00.900000: too short to be renewed in time."


@wrong(("lifecycle.E034", "Broken.ring", TOO_SHORT))
def lease_too_short_to_be_kept() -> None:
    class Broken(Gate):
        @Gate.close.effect(lease=timedelta(milliseconds=900))
        def ring(self, ctx: Any) -> None: ...


NEVER_SILENT = "Effect 'ring' may be silent for 0:01:00, but its attempt ends after 0:01:00 anyway."


@wrong(("lifecycle.E034", "Broken.ring", NEVER_SILENT))
def heartbeat_timeout_that_limits_nothing() -> None:
    class Broken(Gate):
        @Gate.close.effect(heartbeat_timeout=timedelta(minutes=1))
        def ring(self, ctx: Any) -> None: ...


@wrong(("lifecycle.E035", "Broken.ring", "There is no transition 'lokc'."))
def follow_up_that_is_no_transition() -> None:
    class Broken(Gate):
        @Gate.close.effect(on_success="lokc")
        def ring(self, ctx: Any) -> None: ...


@wrong(
    ("lifecycle.E036", "Broken.ring", "on_success of effect 'ring' is 'lock', which cannot start in 'open'."),
    ("lifecycle.E036", "Broken.ring", "on_failure of effect 'ring' is 'unlock', which cannot start in 'open'."),
    ("lifecycle.E036", "Broken.ring", "on_dead of effect 'ring' is 'reopen', which cannot start in 'open'."),
)
def follow_up_that_cannot_start_in_the_entered_state() -> None:
    class Broken(Gate):
        @effect(on_enter="open", on_success=Gate.lock, on_failure=Gate.unlock, on_dead=Gate.reopen)
        def ring(self, ctx: Any) -> None: ...


@wrong(
    ("lifecycle.E036", "Broken.ring", "on_success of effect 'ring' is 'close', which cannot start in 'gone' or after.")
)
def follow_up_that_cannot_start_after_the_transition() -> None:
    class Broken(Gate):
        @Gate.remove.effect(on_success=Gate.close)
        def ring(self, ctx: Any) -> None: ...


@wrong(("lifecycle.E036", "Broken.ring", "on_success of effect 'ring' is 'close', which cannot start in 'closed'."))
def follow_up_of_a_stay_bound_effect_that_cannot_start_in_the_target() -> None:
    class Broken(Gate):
        @Gate.close.effect(on_success=Gate.close, stay_bound=True)
        def ring(self, ctx: Any) -> None: ...


@wrong(("lifecycle.E036", "Broken.ring", "on_success of effect 'ring' is 'unlock', which cannot start in 'open'."))
def follow_up_of_a_reminder_that_cannot_start_in_its_state() -> None:
    class Broken(Gate):
        @effect(on_success=Gate.unlock)
        def ring(self, ctx: Any) -> None: ...

        later = Reminder(ring, when="open", after=timedelta(1))


@wrong(("lifecycle.E037", "Broken.ring", "Effect 'ring' is enqueued by nothing."))
def effect_nothing_enqueues() -> None:
    class Broken(Gate):
        @effect()
        def ring(self, ctx: Any) -> None: ...


@wrong(
    ("lifecycle.E038", "Broken.ring", "Effect 'ring' has only_during_stay=True and stay_bound=False: it has no stay.")
)
def effect_for_a_stay_it_is_not_bound_to() -> None:
    class Broken(Gate):
        @effect(on_enter="open", only_during_stay=True, stay_bound=False)
        def ring(self, ctx: Any) -> None: ...


# Triggers ---------------------------------------------------------------------------------------------


@wrong(("lifecycle.E040", "Broken.later", "There is no transition 'cloes'."))
def timeout_of_an_unknown_transition() -> None:
    class Broken(Gate):
        later = Timeout("cloes", when="open", after=timedelta(1))


@wrong(("lifecycle.E040", "Broken.later", "There is no transition 'close'."))
def timeout_of_a_transition_that_was_removed() -> None:
    class Broken(Gate):
        close = None  # type: ignore[assignment]
        slam = Transition("open", "closed")
        later = Timeout(Gate.close, when="open", after=timedelta(1))


@wrong(("lifecycle.E041", "Broken.later", "There is no state 'opne'."))
def timeout_in_an_unknown_state() -> None:
    class Broken(Gate):
        later = Timeout(Gate.close, when=["open", "opne"], after=timedelta(1))


@wrong(("lifecycle.E041", "Broken.later", "'later' waits in no state."))
def timeout_that_waits_nowhere() -> None:
    class Broken(Gate):
        later = Timeout(Gate.close, when=[], after=timedelta(1))


@wrong(("lifecycle.E042", "Broken.later", "'later' waits in 'locked', where 'close' cannot start."))
def timeout_where_its_transition_cannot_start() -> None:
    class Broken(Gate):
        later = Timeout(Gate.close, when=["open", "locked"], after=timedelta(1))


@wrong(("lifecycle.E042", "Broken.on_day", "'on_day' waits in 'locked', where 'close' cannot start."))
def deadline_where_its_transition_cannot_start() -> None:
    class Broken(Gate):
        on_day = Deadline(Gate.close, when=["open", "locked"], at="due_on")


@wrong(
    ("lifecycle.E043", "Broken.at_once", "after of 'at_once' is 0:00:00."),
    ("lifecycle.E043", "Broken.before", "after of 'before' is -1 day, 0:00:00."),
    ("lifecycle.E043", "Broken.number", "after of 'number' answered 180."),
    (
        "lifecycle.E043",
        "Broken.boom",
        "after of 'boom' raised AttributeError: 'NoneType' object has no attribute 'window'.",
    ),
)
def waits_that_are_no_durations() -> None:
    class Broken(Gate):
        at_once = Timeout(Gate.close, when="open", after=timedelta(0))
        before = Timeout(Gate.close, when="open", after=timedelta(-1))
        number = Timeout(Gate.close, when="open", after=lambda parameters: 180)  # type: ignore[arg-type, return-value]
        boom = Timeout(Gate.close, when="open", after=lambda parameters: parameters.window)


@wrong(("lifecycle.E008", "Broken.later", "The after 180 cannot be called."))
def wait_that_is_a_number() -> None:
    class Broken(Gate):
        later = Timeout(Gate.close, when="open", after=180)  # type: ignore[arg-type]


@wrong(("lifecycle.E045", "Broken.later", "'later' reminds in 'gone', which is final."))
def reminder_in_a_final_state() -> None:
    class Broken(Gate):
        @effect
        def ring(self, ctx: Any) -> None: ...

        later = Reminder(ring, when=["open", "gone"], after=timedelta(1))


@wrong(("lifecycle.E002", "Broken.later", "repeat is datetime.timedelta(0)."))
def reminder_that_repeats_at_once() -> None:
    class Broken(Gate):
        @effect
        def ring(self, ctx: Any) -> None: ...

        later = Reminder(ring, when="open", after=timedelta(1), repeat=timedelta(0))


# What is told -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_a_definition_that_breaks_a_rule_is_refused_with_its_sentence(case: str) -> None:
    make, told = CASES[case]
    found = problems_of(make)
    assert sorted((one.id, one.where, one.message) for one in found) == sorted(told)
    assert all(one.hint.endswith((".", ")")) for one in found), "every problem has a hint that is a sentence"


def test_all_problems_are_told_at_once_each_with_its_hint() -> None:
    def make() -> None:
        class Broken(Gate):
            close = Transition("opne", "closed", lable="Close")  # type: ignore[arg-type]
            later = Timeout("colse", when="open", after=timedelta(1))

            @effect(on="lock", on_success="unlok")
            def ring(self, ctx: Any) -> None: ...

    with pytest.raises(InvalidDefinition) as refusal:
        make()
    text = str(refusal.value)
    assert "Broken is not a valid lifecycle: " in text
    for problem in refusal.value.problems:
        assert f"[{problem.id}] {problem.where}: {problem.message}\n    → {problem.hint}" in text
    assert {one.id for one in refusal.value.problems} >= {f"lifecycle.E0{n}" for n in ("01", "21", "35", "40")}


@pytest.mark.parametrize(
    ("case", "hint"),
    [
        ("meta_with_an_unknown_option", "Did you mean 'initial'?"),
        ("transition_with_an_unknown_option", "Did you mean 'label'?"),
        ("transition_from_an_unknown_state", "Did you mean 'open'? Known: open, closed, locked, gone."),
        ("guard_on_an_unknown_transition", "Did you mean 'close'? Known: close, reopen, lock, unlock, remove."),
        ("guard_by_a_wrong_name", "Did you mean 'is_free'?"),
        ("reminder_of_an_unknown_effect", "There are none."),
        ("state_field_that_does_not_exist", "Did you mean 'status'?"),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest_right_one(case: str, hint: str) -> None:
    assert problems_of(CASES[case][0])[0].hint.startswith(hint)


def test_a_refused_class_is_not_among_the_declared_ones() -> None:
    from lifecycle.definition.lifecycle import declared

    before = list(declared)
    problems_of(CASES["no_states"][0])
    assert declared == before
