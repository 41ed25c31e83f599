"""One life, one history: a key used again after a delete is another record; nothing pending of the old one meets it."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.apps import apps
from django.core.checks import run_checks
from django.core.management import CommandError, call_command
from django.db import models, transaction
from django.db.models.signals import post_save
from django.utils import timezone

from lifecycle import SYSTEM, Lifecycle, Transition, accessor, registry
from lifecycle.doctor import examine
from lifecycle.exceptions import HistoryAhead, NotAnInitialState, RequestReused
from lifecycle.execution.drain import drain
from lifecycle.models import Run, TransitionLog
from lifecycle.models.writes import bypass, creation_in_any_state
from lifecycle.operations import retry_run
from lifecycle.runtime import create, fire, fire_many
from lifecycle.sweeps.tick import tick
from lifecycle.testing import travel
from tests.cases.lifecycles.neighbours import renewing
from tests.cases.misbehaving import behaving, raises
from tests.cases.models import neighbours
from tests.cases.models.folders import Folder
from tests.columns.lifecycles import InvoiceLifecycle, PaymentLifecycle
from tests.columns.models import Invoice
from tests.support.models import Parcel, Ticket

pytestmark = pytest.mark.django_db


def created() -> Folder:
    return create(Folder(slug="a"), actor=SYSTEM)


def saved() -> Folder:
    folder = Folder(slug="a")
    folder.save()
    return folder


def made() -> Folder:
    return Folder.objects.create(slug="a")


AGAIN = [created, saved, made]


@pytest.fixture
def old() -> Folder:
    """A record that was moved, with a run still pending, deleted."""
    folder = create(Folder(slug="a"), actor=SYSTEM, request_id="made")
    fire(folder, "take", actor=SYSTEM, request_id="moved")
    folder.delete()
    return folder


def scans() -> tuple[list[str], Any]:
    called: list[str] = []
    return called, behaving("effect", lambda ctx: called.append(ctx.record.pk))


@pytest.mark.row("C1")
@pytest.mark.parametrize("again", AGAIN)
@pytest.mark.parametrize("many", [False, True])
def test_a_key_used_again_begins_a_life_whose_versions_go_on(
    old: Folder, again: Callable[[], Folder], many: bool
) -> None:
    folder = again()

    if many:
        assert len(fire_many([folder], "take", actor=SYSTEM).fired) == 1
    else:
        fire(folder, "take", actor=SYSTEM)

    row = Folder.objects.get()
    assert (row.status, row.lifecycle_version) == ("table", 4)
    assert [(one.transition, one.version) for one in row.lifecycle.history] == [("$create", 3), ("take", 4)]
    assert [one.version for one in row.lifecycle.whole_history] == [1, 2, 3, 4]
    assert [one.version for one in row.lifecycle.view(actor=SYSTEM).history] == [4, 3]
    assert [run.entry.version for run in row.lifecycle.runs] == [4]


@pytest.mark.row("C1")
@pytest.mark.parametrize("again", AGAIN)
def test_a_record_that_was_not_moved_yet_shows_nothing_of_the_one_that_was_deleted(
    old: Folder, again: Callable[[], Folder]
) -> None:
    folder = again()

    assert [one.version for one in folder.lifecycle.history] in ([3], [])
    assert {one.version for one in folder.lifecycle.view(actor=SYSTEM).history} <= {3}
    assert folder.lifecycle.view(actor=SYSTEM).runs == []


@pytest.mark.row("C1")
@pytest.mark.parametrize("again", AGAIN)
def test_an_effect_pending_of_the_deleted_record_is_not_called_for_the_new_one(
    old: Folder, again: Callable[[], Folder]
) -> None:
    again()

    called, doing = scans()
    with doing:
        drain()

    run = Run.objects.get()
    assert (called, run.status, run.error_kind, run.attempts) == ([], "failed", "record_gone", 0)
    assert Folder.objects.get().status == "shelf"


@pytest.mark.row("C1")
@pytest.mark.parametrize("again", AGAIN)
def test_a_follow_up_pending_of_the_deleted_record_is_dropped(again: Callable[[], Folder]) -> None:
    folder = create(Folder(slug="a"), actor=SYSTEM)
    fire(folder, "take", actor=SYSTEM)
    with behaving("hook of a follow-up", raises):
        drain()
    assert Run.objects.get().follow_up == "pending"
    folder.delete()

    new = again()
    if again is created:
        assert Run.objects.get().follow_up == "dropped"
    with travel(minutes=30):
        tick(force=True)

    assert Run.objects.get().follow_up == "dropped"
    new.refresh_from_db()
    assert new.status == "shelf"


@pytest.mark.row("C1")
@pytest.mark.parametrize("again", AGAIN)
def test_a_worker_in_the_middle_of_an_effect_of_the_deleted_record_loses_its_run(again: Callable[[], Folder]) -> None:
    folder = create(Folder(slug="a"), actor=SYSTEM)
    fire(folder, "take", actor=SYSTEM)

    def meanwhile(ctx: Any) -> None:
        ctx.record.delete()
        fire(again(), "take", actor=SYSTEM)

    with behaving("effect", meanwhile):
        drain(runs=1)

    first, second = Run.objects.order_by("id")
    assert (first.status, first.error_kind) == ("failed", "record_gone")
    assert (second.status, Folder.objects.get().status) == ("queued", "table")


@pytest.mark.row("C1")
@pytest.mark.parametrize("again", AGAIN)
def test_a_request_of_the_deleted_record_is_no_request_of_the_new_one(old: Folder, again: Callable[[], Folder]) -> None:
    folder = again()

    with pytest.raises(RequestReused, match="earlier record of the key 'a', which was deleted"):
        fire(folder, "take", actor=SYSTEM, request_id="moved")

    folder.refresh_from_db()
    assert folder.status == "shelf"


@pytest.mark.row("C1")
def test_a_creation_repeated_after_its_record_was_deleted_and_made_anew_is_not_answered_by_the_new_one(
    old: Folder,
) -> None:
    created()

    with pytest.raises(RequestReused):
        create(Folder(slug="a"), actor=SYSTEM, request_id="made")


@pytest.mark.row("C1")
def test_a_key_may_be_used_again_any_number_of_times() -> None:
    for _ in range(3):
        folder = created()
        fire(folder, "take", actor=SYSTEM)
        folder.delete()
        folder = saved()
        fire(folder, "take", actor=SYSTEM)
        folder.delete()

    versions = list(TransitionLog.objects.order_by("id").values_list("version", flat=True))
    assert versions == list(range(1, 13))


@pytest.mark.row("C1")
def test_a_usual_creation_and_firing_pay_nothing_for_lives(django_assert_num_queries: Any) -> None:
    folder = created()

    with django_assert_num_queries(6):  # savepoint, SELECT, UPDATE, two INSERTs, release
        fire(folder, "take", actor=SYSTEM)


@pytest.mark.row("C1", "L6")
def test_a_record_saved_under_a_key_used_before_is_repaired_into_a_life_of_its_own(old: Folder) -> None:
    saved()

    call_command("lifecycle_repair", "folders", reason="restored", no_input=True, stdout=io.StringIO())

    row = Folder.objects.get()
    assert (row.status, row.lifecycle_version, Run.objects.get().error_kind) == ("shelf", 3, "record_gone")
    assert [(one.transition, one.version) for one in row.lifecycle.history] == [("$create", 3)]
    assert examine(only=["drift"]) == []


# ---------------------------------------------------------------------------------------------- stays


@pytest.mark.row("C6")
def test_a_version_raised_past_the_lifecycle_ends_no_stay() -> None:
    folder = created()
    fire(folder, "take", actor=SYSTEM)

    def meanwhile(ctx: Any) -> None:
        with bypass("an import"):
            Folder.objects.update(lifecycle_version=9, seen_at=timezone.now())

    with behaving("effect", meanwhile):
        drain()

    row = Folder.objects.get()
    assert (Run.objects.get().follow_up, row.status, row.lifecycle_version) == ("applied", "filed", 10)


@pytest.mark.row("C6")
def test_a_later_entry_ends_a_stay() -> None:
    folder = created()
    fire(folder, "take", actor=SYSTEM)

    def meanwhile(ctx: Any) -> None:
        fire(Folder.objects.get(), "put_back", actor=SYSTEM)

    with behaving("effect", meanwhile):
        drain()

    assert (Run.objects.get().follow_up, Folder.objects.get().status) == ("dropped", "shelf")


# ---------------------------------------------------------------------------------------------- behind their history


@pytest.fixture
def restored() -> Folder:
    """A row as a fixture taken at version 1 puts it back, while its history is at 3."""
    folder = created()
    fire(folder, "take", actor=SYSTEM)
    fire(folder, "put_back", actor=SYSTEM)
    with bypass("a fixture"):
        Folder.objects.update(lifecycle_version=1, status="shelf")
    return Folder.objects.get()


@pytest.mark.row("C2")
@pytest.mark.parametrize("many", [False, True])
def test_a_row_behind_its_history_is_refused_with_the_cause_and_the_command(restored: Folder, many: bool) -> None:
    if many:
        (refusal,) = fire_many([restored], "take", actor=SYSTEM).refused
        error: Any = refusal.error
    else:
        with pytest.raises(HistoryAhead) as caught:
            fire(restored, "take", actor=SYSTEM)
        error = caught.value

    assert isinstance(error, HistoryAhead)
    assert (error.got, error.expected) == (1, 3)
    assert "manage.py lifecycle_repair folders" in str(error)
    assert Folder.objects.get().lifecycle_version == 1


@pytest.mark.row("C2", "L6")
@pytest.mark.parametrize(("keep", "version"), [("row", 4), ("history", 3)])
def test_one_command_lets_a_row_go_on_after_its_newest_entry(restored: Folder, keep: str, version: int) -> None:
    out = io.StringIO()
    call_command("lifecycle_repair", "folders", keep=keep, reason="restored", no_input=True, stdout=out)

    row = Folder.objects.get()
    assert "1 of 1 repaired" in out.getvalue()
    assert (row.status, row.lifecycle_version) == ("shelf", version)
    fire(row, "take", actor=SYSTEM)
    assert [finding.id for finding in examine(only=["drift"])] == []


@pytest.mark.row("L6")
@pytest.mark.parametrize("answer", ["", "n", "y"])
def test_a_repair_shows_the_rows_and_asks_before_it_writes(
    restored: Folder, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.input", lambda question: answer)
    out = io.StringIO()

    call_command("lifecycle_repair", "folders", reason="restored", stdout=out)

    assert "a: in 'shelf', version 1: its history is ahead of it" in out.getvalue()
    assert Folder.objects.get().lifecycle_version == (4 if answer == "y" else 1)
    if answer == "y":
        entry = TransitionLog.objects.latest("id")
        assert (entry.transition, entry.reason, entry.actor_id) == ("$repair", "restored", "lifecycle_repair")


@pytest.mark.row("L6")
def test_a_dry_run_of_a_repair_writes_nothing_and_a_reason_is_required(restored: Folder) -> None:
    call_command("lifecycle_repair", "folders", dry_run=True, stdout=io.StringIO())
    with pytest.raises(CommandError, match="--reason"):
        call_command("lifecycle_repair", "folders", stdout=io.StringIO())

    assert Folder.objects.get().lifecycle_version == 1


# ---------------------------------------------------------------------------------------------- beginnings


@pytest.mark.row("C3")
@pytest.mark.parametrize("first", [InvoiceLifecycle, PaymentLifecycle])
def test_every_lifecycle_of_a_model_begins_with_the_record(first: Any) -> None:
    invoice = create(Invoice(), actor=SYSTEM, lifecycle=first)

    begun = TransitionLog.objects.filter(record_id=str(invoice.pk)).values_list("lifecycle", "transition", "version")
    assert sorted(begun) == [("columns_invoices", "$create", 1), ("columns_payments", "$create", 1)]
    assert invoice.lifecycle.history.count() == invoice.payments.history.count() == 1
    for edge in invoice.payments.available(actor=SYSTEM):
        invoice.payments.fire(edge.name, actor=SYSTEM)
        break
    assert invoice.payments.history.count() == 2


@pytest.mark.row("C4")
def test_what_a_receiver_moved_on_during_the_insert_enqueues_no_effect_of_its_first_state() -> None:
    def receive(sender: Any, instance: Any, created: bool, **_: Any) -> None:
        if created:
            fire(Ticket.objects.get(pk=instance.pk), "ask", actor=SYSTEM)

    post_save.connect(receive, sender=Ticket)
    try:
        ticket = create(Ticket(status="open"), actor=SYSTEM)
    finally:
        post_save.disconnect(receive, sender=Ticket)

    assert (ticket.status, ticket.lifecycle_version) == ("waiting", 2)
    assert [(one.transition, one.version) for one in ticket.lifecycle.history] == [("$create", 1), ("ask", 2)]
    assert not Run.objects.filter(entry__transition="$create").exists()


@pytest.mark.row("C4")
def test_a_batch_that_moves_the_record_during_the_insert_is_noticed_too() -> None:
    def receive(sender: Any, instance: Any, created: bool, **_: Any) -> None:
        if created:
            create(Folder(slug="beside"), actor=SYSTEM)
            fire_many([Parcel.objects.get(pk=instance.pk)], "send", actor=SYSTEM)

    post_save.connect(receive, sender=Parcel)
    try:
        parcel = create(Parcel(), actor=SYSTEM)
    finally:
        post_save.disconnect(receive, sender=Parcel)

    assert (parcel.status, parcel.lifecycle_version) == ("labelling", 2)


@pytest.mark.row("C4")
def test_a_receiver_that_takes_back_what_it_fired_leaves_the_record_in_its_first_state() -> None:
    entered: list[str] = []

    def receive(sender: Any, instance: Any, created: bool, **_: Any) -> None:
        if created:
            with transaction.atomic():
                fire(Folder.objects.get(pk=instance.pk), "take", actor=SYSTEM)
                transaction.set_rollback(True)

    post_save.connect(receive, sender=Folder)
    try:
        with behaving("hook of a creation", lambda ctx: entered.append(ctx.record.pk)):
            folder = created()
    finally:
        post_save.disconnect(receive, sender=Folder)

    assert (entered, folder.status, Folder.objects.get().lifecycle_version) == (["a"], "shelf", 1)


@pytest.mark.row("C7")
@pytest.mark.parametrize("kind", [Ticket, Folder])
def test_a_creation_that_its_caller_rolled_back_can_be_made_again(kind: Any) -> None:
    record = kind(pk="a") if kind is Folder else kind()
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        create(record, actor=SYSTEM)
        raise ZeroDivisionError

    create(record, actor=SYSTEM)

    assert kind.objects.get().lifecycle_version == 1
    with pytest.raises(NotAnInitialState, match="exists already"):
        create(record, actor=SYSTEM)


@pytest.mark.row("M10")
def test_a_run_whose_record_is_not_there_says_what_that_may_mean() -> None:
    folder = created()
    fire(folder, "take", actor=SYSTEM)
    Folder.objects.all().delete()

    drain()

    run = Run.objects.get()
    assert (run.status, run.error_kind) == ("failed", "record_gone")
    assert "row-level security" in run.error
    assert "retry the run" in run.error


@pytest.mark.row("M10")
def test_a_run_of_a_hidden_record_can_be_retried_once_it_is_there_again() -> None:
    folder = created()
    fire(folder, "take", actor=SYSTEM)
    row = Folder.objects.values().get()
    Folder.objects.all().delete()
    drain()

    with creation_in_any_state():
        Folder.objects.create(**row)
    retry_run(Run.objects.get(), actor=SYSTEM, reason="it was hidden")
    drain()

    assert (Run.objects.get().status, Folder.objects.get().status) == ("succeeded", "filed")


@pytest.mark.row("M17")
def test_the_doctor_finds_records_that_were_saved_directly_and_the_command_begins_them() -> None:
    saved()
    create(Folder(slug="b"), actor=SYSTEM)

    (finding,) = examine(only=["unbegun"])
    assert (finding.id, finding.examples) == ("unbegun", ("a",))
    assert "lifecycle_adopt folders" in finding.remedy
    call_command("lifecycle_adopt", "folders", stdout=io.StringIO(), stderr=io.StringIO())
    assert examine(only=["unbegun"]) == []


@pytest.mark.row("M17")
@pytest.mark.parametrize("before", [False, True])
def test_a_project_may_ask_for_the_entry_of_records_that_are_saved_directly(settings: Any, before: bool) -> None:
    if before:
        fire(created(), "take", actor=SYSTEM)
        Folder.objects.all().delete()
    settings.LIFECYCLE = {**settings.LIFECYCLE, "BEGIN_SAVED": True}

    folder = saved()
    folder.save()
    created_one = create(Folder(slug="b"), actor=SYSTEM)

    (entry,) = folder.lifecycle.history
    assert (entry.transition, entry.target, entry.version) == ("$create", "shelf", 3 if before else 0)
    assert entry.reason == "Saved without create()."
    assert created_one.lifecycle.history.count() == 1
    assert examine(only=["unbegun", "drift"]) == []
    fire(folder, "take", actor=SYSTEM)
    assert [one.transition for one in folder.lifecycle.history] == ["$create", "take"]


@pytest.mark.row("K15")
def test_a_model_with_a_key_of_several_columns_keeps_no_other_from_being_compared(restored: Folder) -> None:
    with composite_key():
        assert [finding.id for finding in examine(only=["drift"])] == ["drift"]


@pytest.mark.row("M18")
def test_a_lifecycle_on_a_model_without_its_columns_is_a_check_not_a_crash() -> None:
    class Bare(models.Model):
        status = models.CharField(max_length=10, choices=[("a", "A"), ("b", "B")])

        class Meta:
            app_label = "cases"
            managed = False

    try:

        class BareLifecycle(Lifecycle[Bare]):
            class Meta:
                model = Bare
                name = "bare"
                initial = "a"
                final = ["b"]

            go = Transition("a", "b")

        registry.register(BareLifecycle)
        accessor.attach(registry.get("bare"))
        found = [message for message in run_checks(tags=["lifecycle"]) if message.id == "lifecycle.E105"]
        assert found
        assert found[0].hint
    finally:
        registry.unregister("bare")
        apps.all_models["cases"].pop("bare", None)
        apps.clear_cache()


@contextmanager
def composite_key() -> Iterator[None]:
    """The folders' model as if its key had two columns."""
    options = Folder._meta
    before = options.__dict__.get("pk_fields")
    options.__dict__["pk_fields"] = [options.pk, options.get_field("title")]
    other = registry.get("tickets").model._meta
    kept = other.__dict__.get("pk_fields")
    other.__dict__["pk_fields"] = [other.pk, other.get_field("title")]
    options.__dict__["pk_fields"] = before or [options.pk]
    try:
        yield
    finally:
        if kept is None:
            other.__dict__.pop("pk_fields", None)
        else:
            other.__dict__["pk_fields"] = kept


@pytest.mark.row("C8")
def test_the_child_of_a_model_is_seen_as_its_parent_inside_and_comes_back_as_it_went_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a lifecycle declares is written for its own model; the child's row is one attribute away."""
    note = create(neighbours.CreditNote(customer="Ada", number="1", why="broken"), actor=SYSTEM)
    seen: list[Any] = []
    monkeypatch.setitem(renewing, "hook", lambda ctx: seen.append((type(ctx.record), ctx.record.creditnote.why)))

    fired = fire(note, "renew", actor=SYSTEM)

    assert seen == [(neighbours.Invoice, "broken")]
    assert fired.record is note
    assert (note.lifecycle.version, note.why) == (2, "broken")
    assert fire(neighbours.CreditNote.objects.get(), "close", actor=SYSTEM).record.status == "closed"
