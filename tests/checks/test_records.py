"""Whether a definition fits its model, as ``manage.py check`` says it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks
from django.db import models
from django.test.utils import isolate_apps

from lifecycle import ANY, Deadline, Lifecycle, Reminder, Retry, State, Timeout, Transition, effect, registry
from lifecycle.checks.ids import TAG
from lifecycle.models import ChangedAtField, LifecycleModel, StateField, VersionField
from tests.support.models import Ticket

S = Ticket.Status


class Tickets(Lifecycle[Ticket]):
    class Meta:
        abstract = True
        model = Ticket
        name = "checked_tickets"
        initial = S.OPEN
        final = S.CLOSED
        # A second lifecycle of a model needs columns of its own; these tests ask for other things.
        accessor = "checked"

    move = Transition(S.OPEN, [S.WAITING, S.SOLVED, S.ESCALATED], route=lambda ctx: "waiting")
    close = Transition(ANY, S.CLOSED)


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Registers these lifecycles and no others."""

    def register(*lifecycles: type[Lifecycle[Any]]) -> list[tuple[str, str, str]]:
        definitions = {lifecycle.definition.name: lifecycle.definition for lifecycle in lifecycles}
        monkeypatch.setattr(registry, "_definitions", definitions)
        return told(run_checks(tags=[TAG]))

    return register


def told(messages: list[CheckMessage]) -> list[tuple[str, str, str]]:
    return [(str(one.id), str(one.obj), str(one.msg)) for one in messages]


def test_the_lifecycles_of_the_support_team_have_nothing_wrong() -> None:
    from tests.support.lifecycles import ParcelLifecycle, TicketLifecycle

    names = {TicketLifecycle.__name__, ParcelLifecycle.__name__}
    assert [one for one in told(run_checks(tags=[TAG])) if one[1].split(".")[0] in names] == []


def test_a_definition_without_a_model_is_checked_for_its_rules_alone(only: Any) -> None:
    class Gates(Lifecycle[Any]):
        class Meta:
            name = "gates"
            states = ["open", "closed"]
            initial = "open"
            final = "closed"

        close = Transition("open", "closed", accept=["note"], permission="gates.close_gate")

    assert only(Gates) == []


def test_what_breaks_a_rule_is_reported_under_the_rules_id(only: Any) -> None:
    class Process(Tickets):
        pass

    effects = {"ring": _effect_that_cannot_be_kept(Process)}
    Process.definition = replace(Process.definition, effects=effects)
    assert only(Process) == [
        (
            "lifecycle.E034",
            "Process.ring",
            "The lease of effect 'ring' is 0:00:00.500000: too short to be renewed in time.",
        )
    ]


def _effect_that_cannot_be_kept(process: type[Lifecycle[Any]]) -> Any:
    from lifecycle.definition.compiled import CompiledEffect

    return CompiledEffect(
        name="ring",
        call=print,
        on=frozenset({"close"}),
        retry=Retry(),
        timeout=timedelta(minutes=1),
        lease=timedelta(milliseconds=500),
    )


def test_columns_that_are_missing_or_of_another_kind(only: Any) -> None:
    class Process(Tickets):
        class Meta:
            changed_at_field = "stauts_changed_at"
            version_field = "title"

    found = only(Process)
    assert found == [
        ("lifecycle.E105", "Process.Meta.changed_at_field", "support.Ticket has no field 'stauts_changed_at'."),
        (
            "lifecycle.E105",
            "Process.Meta.version_field",
            "support.Ticket.title is a CharField and cannot be the version_field.",
        ),
    ]
    hints = [one.hint or "" for one in run_checks(tags=[TAG])]
    assert "Did you mean 'status_changed_at'?" in hints[0]
    assert hints[1] == "Declare it as VersionField()."


def test_states_and_choices_that_differ(only: Any) -> None:
    """kmmbvnr/django-fsm #217, #294, #295: typos in states were found in production."""

    class Process(Tickets):
        class Meta:
            states = ["open", "waiting", "closed"]

        move = Transition("open", "waiting")

    states = dict(Process.definition.states) | {"parked": State_("parked"), "x" * 64: State_("x" * 64)}
    Process.definition = replace(Process.definition, states=states)
    assert [one for one in only(Process) if one[0] == "lifecycle.E106"] == [
        ("lifecycle.E106", "Process.Meta.states", "The state 'parked' is no choice of support.Ticket.status."),
        ("lifecycle.E106", "Process.Meta.states", f"The state '{'x' * 64}' is no choice of support.Ticket.status."),
        ("lifecycle.E106", "Process.Meta.states", "support.Ticket.status has the choice 'solved', which is no state."),
        (
            "lifecycle.E106",
            "Process.Meta.states",
            "support.Ticket.status has the choice 'escalated', which is no state.",
        ),
    ]


def State_(name: str) -> Any:  # noqa: N802 it makes what it is called
    from lifecycle.definition.compiled import State

    return State(name=name, label=name, final=True)


@isolate_apps("tests.support")
def test_states_that_are_longer_than_the_column(only: Any) -> None:
    class Short(models.Model):
        status = models.CharField(max_length=4)
        status_changed_at = models.DateTimeField()
        lifecycle_version = models.IntegerField()

        class Meta:
            app_label = "support"

    class Process(Lifecycle[Any]):
        class Meta:
            model = Short
            name = "short"
            states = ["open", "closed"]
            initial = "open"
            final = "closed"

        close = Transition("open", "closed")

    assert only(Process) == [
        ("lifecycle.E106", "Process.Meta.states", "The state 'closed' is longer than support.Short.status can hold.")
    ]


def test_accept_names_columns_that_people_may_edit(only: Any) -> None:
    class Process(Tickets):
        close = Transition(ANY, "closed", accept=["note", "note_", "id_", "checked_", "agent", "log"])

    assert only(Process) == [
        ("lifecycle.E107", "Process.close", f"accept: support.Ticket has no field '{name}'.")
        for name in ("note_", "id_", "checked_")
    ]


@isolate_apps("tests.support")
def test_accept_of_a_relation_to_many_or_of_a_column_nobody_edits(only: Any) -> None:
    class Note(LifecycleModel):
        status = StateField([("open", "Open"), ("closed", "Closed")])
        stamp = models.DateTimeField(auto_now=True)
        others = models.ManyToManyField("self")
        scan = models.FileField()

        class Meta:
            app_label = "support"

    class Process(Lifecycle[Any]):
        class Meta:
            model = Note
            name = "notes"
            initial = "open"
            final = "closed"

        close = Transition("open", "closed", accept=["stamp", "others", "scan"])

    assert only(Process) == [
        ("lifecycle.E107", "Process.close", "accept: support.Note.stamp is not editable."),
        ("lifecycle.E107", "Process.close", "accept: support.Note.others is no column of the record."),
        ("lifecycle.E107", "Process.close", "accept: support.Note.scan is a file, which no input can hold."),
    ]


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (models.CharField(primary_key=True, max_length=300), "may be longer"),
        (models.TextField(primary_key=True), "may be longer"),
        (models.CharField(primary_key=True, max_length=255), None),
        (models.BigAutoField(primary_key=True), None),
    ],
    ids=["long", "text", "fits", "number"],
)
@isolate_apps("tests.support")
def test_a_key_that_does_not_fit_the_history(only: Any, key: Any, said: str | None) -> None:
    class Note(LifecycleModel):
        code = key.clone()
        status = StateField([("open", "Open"), ("closed", "Closed")])

        class Meta:
            app_label = "support"

    class Process(Lifecycle[Any]):
        class Meta:
            model = Note
            name = "notes"
            initial = "open"
            final = "closed"

        close = Transition("open", "closed")

    sentence = f"The history keeps a record's key in 255 characters; support.Note.code {said}."
    assert only(Process) == ([] if said is None else [("lifecycle.E108", "Process.Meta.model", sentence)])


@isolate_apps("tests.support")
def test_a_key_of_several_columns(only: Any) -> None:
    class Note(LifecycleModel):
        pk = models.CompositePrimaryKey("left", "right")
        left = models.IntegerField()
        right = models.IntegerField()
        status = StateField([("open", "Open"), ("closed", "Closed")])

        class Meta:
            app_label = "support"

    class Process(Lifecycle[Any]):
        class Meta:
            model = Note
            name = "notes"
            initial = "open"
            final = "closed"

        close = Transition("open", "closed")

    said = "The history keeps a record's key in 255 characters; support.Note.pk has several columns."
    assert only(Process) == [("lifecycle.E108", "Process.Meta.model", said)]


def test_dotted_paths_that_cannot_be_imported(only: Any) -> None:
    class Process(Tickets):
        class Meta:
            services = "tests.nowhere.services"

        close = Transition(
            ANY, "closed", guards=["operator.truth", "operator.truht"], hooks="nowhere.hook", set="operator.index"
        )
        later = Timeout(close, when="open", after=timedelta(1))

    assert only(Process) == [
        ("lifecycle.E109", f"Process.{where}", f"'{path}' cannot be imported: {why}")
        for where, path, why in (
            ("Meta.services", "tests.nowhere.services", "No module named 'tests.nowhere'"),
            ("close", "operator.truht", "module 'operator' has no 'truht'."),
            ("close", "nowhere.hook", "No module named 'nowhere'"),
        )
    ]


def test_deadlines_that_wait_for_no_date(only: Any) -> None:
    class Process(Tickets):
        good = Deadline(Tickets.close, when="open", at="due_on")
        computed = Deadline(Tickets.close, when="open", at=models.F("due_on") + timedelta(1))
        missing = Deadline(Tickets.close, when="open", at="due_at")
        number = Deadline(Tickets.close, when="open", at="priority")
        unresolved = Deadline(Tickets.close, when="open", at=models.F("due_at") + timedelta(1))

    assert only(Process) == [
        (
            "lifecycle.E110",
            "Process.missing",
            "Deadline 'missing' waits for 'due_at': support.Ticket has no such field.",
        ),
        (
            "lifecycle.E110",
            "Process.number",
            "Deadline 'number' waits for support.Ticket.priority, which is a PositiveIntegerField.",
        ),
        (
            "lifecycle.E110",
            "Process.unresolved",
            "Deadline 'unresolved' waits for an expression that support.Ticket cannot answer.",
        ),
    ]


def test_two_lifecycles_of_one_model_that_share_columns(only: Any) -> None:
    class First(Tickets):
        class Meta:
            name = "first"

    class Second(Tickets):
        class Meta:
            name = "second"
            accessor = "second"
            changed_at_field = "due_on"

    twice = "of support.Ticket is used twice: by lifecycle 'first' and by 'second'."
    assert only(First, Second) == [
        ("lifecycle.E111", "Second.Meta", f"'status' {twice}"),
        ("lifecycle.E111", "Second.Meta", f"'lifecycle_version' {twice}"),
    ]

    class Third(First):
        class Meta:
            name = "third"
            state_field = "title"
            states = ["open", "waiting", "solved", "escalated", "closed"]
            changed_at_field = "due_on"
            version_field = "priority"

    assert only(First, Third) == [
        (
            "lifecycle.E111",
            "Third.Meta",
            "'record.checked' of support.Ticket is used twice: by lifecycle 'first' and by 'third'.",
        )
    ]


@pytest.mark.parametrize(
    ("indexes", "constraints", "missing"),
    [
        ([], [], True),
        ([models.Index(fields=["status"], name="one")], [], True),
        ([models.Index(fields=["status_changed_at", "status"], name="one")], [], True),
        ([models.Index(fields=["status", "status_changed_at", "title"], name="one")], [], False),
        ([models.Index(fields=["status", "-status_changed_at"], name="one")], [], False),
        ([], [models.UniqueConstraint(fields=["status", "status_changed_at"], name="one")], False),
    ],
    ids=["none", "state only", "other order", "longer", "descending", "unique"],
)
@isolate_apps("tests.support")
def test_timeouts_without_an_index(only: Any, indexes: Any, constraints: Any, missing: bool) -> None:
    class Note(LifecycleModel):
        status = StateField([("open", "Open"), ("closed", "Closed")])
        title = models.CharField(max_length=10)

        class Meta:
            app_label = "support"

    Note._meta.indexes, Note._meta.constraints = indexes, constraints

    class Process(Lifecycle[Any]):
        class Meta:
            model = Note
            name = "notes"
            initial = "open"
            final = "closed"

        close = Transition("open", "closed")
        later = Timeout(close, when="open", after=timedelta(1))

    said = "support.Note has no index on (status, status_changed_at), which the tick asks for every timeout."
    assert only(Process) == ([("lifecycle.W101", "Process.later", said)] if missing else [])


@isolate_apps("tests.support")
def test_reminders_alone_need_no_index(only: Any) -> None:
    class Note(LifecycleModel):
        status = StateField([("open", "Open"), ("closed", "Closed")])

        class Meta:
            app_label = "support"

    class Process(Lifecycle[Any]):
        class Meta:
            model = Note
            name = "notes"
            initial = "open"
            final = "closed"

        close = Transition("open", "closed")

        @effect
        def ring(self, ctx: Any) -> None: ...

        later = Reminder(ring, when="open", after=timedelta(1))

    assert only(Process) == []


def test_permissions_that_no_model_declares(only: Any) -> None:
    class Process(Tickets):
        move = Transition(
            "open",
            ["waiting", "solved", "escalated"],
            route=lambda ctx: "waiting",
            permission=["support.solve_ticket", "change_ticket", "auth.add_user", lambda ctx: True],
        )
        close = Transition(ANY, "closed", permission=["support.sovle_ticket", "close_ticket"])

    assert only(Process) == [
        ("lifecycle.W102", "Process.close", "No installed model declares the permission 'support.sovle_ticket'."),
        ("lifecycle.W102", "Process.close", "No installed model declares the permission 'support.close_ticket'."),
    ]
    hints = [one.hint or "" for one in run_checks(tags=[TAG])]
    assert "Did you mean 'support.solve_ticket'?" in hints[0]


def test_lifecycles_of_a_model_and_of_its_child_share_the_parents_columns(only: Any) -> None:
    with isolate_apps("tests.support"):

        class Note(LifecycleModel):
            status = StateField([("open", "Open"), ("closed", "Closed")])

            class Meta:
                app_label = "support"

        class LongNote(Note):
            class Meta:
                app_label = "support"

        class First(Lifecycle[Any]):
            class Meta:
                model = Note
                name = "first"
                initial = "open"
                final = "closed"

            close = Transition("open", "closed")

        class Second(First):
            class Meta:
                model = LongNote
                name = "second"
                accessor = "second"

        assert {one[2].split(" ")[0] for one in only(First, Second)} == {
            "'status'",
            "'status_changed_at'",
            "'lifecycle_version'",
        }


def test_the_columns_of_a_second_lifecycle_are_found(only: Any) -> None:
    with isolate_apps("tests.support"):

        class Note(LifecycleModel):
            status = StateField([("open", "Open"), ("closed", "Closed")])
            payment = StateField([("due", "Due"), ("paid", "Paid")])
            payment_at = ChangedAtField(for_state="payment")
            payment_version = VersionField(for_state="payment")

            class Meta:
                app_label = "support"

        class First(Lifecycle[Any]):
            class Meta:
                model = Note
                name = "first"
                initial = "open"
                final = "closed"

            close = Transition("open", "closed")

        class Second(Lifecycle[Any]):
            class Meta:
                model = Note
                name = "second"
                accessor = "payments"
                state_field = "payment"
                changed_at_field = "payment_at"
                version_field = "payment_version"
                states = {"due": State("Due!")}
                initial = "due"
                final = "paid"

            pay = Transition("due", "paid")

        assert only(First, Second) == []
