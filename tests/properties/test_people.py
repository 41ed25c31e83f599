"""People and their code in any order, on two databases: what they get wrong harms nobody and is never reported as done.

Hooks that swallow a database's error, callbacks that fail after the commit, keys used again, rows edited in place,
values a column cannot give back, one bad row in a batch: after each the rows must be what the answer said.
"""

from __future__ import annotations

import datetime as dt
from contextlib import ExitStack
from typing import Any

import pytest
from django.test import override_settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from lifecycle import SYSTEM, clock, dispatch
from lifecycle.dispatch.recording import RecordingDispatcher
from lifecycle.exceptions import (
    InvalidInput,
    LifecycleError,
    RequestReused,
    UnsavedEdits,
    WrongState,
)
from lifecycle.execution.drain import drain
from lifecycle.models import OperatorAction, Run, RunAttempt, Tick, TransitionLog, TriggerHold
from lifecycle.runtime import create, fire, fire_many
from lifecycle.sweeps.tick import tick
from tests.cases.lifecycles.folders import behaviours
from tests.cases.misbehaving import (
    CallbackFailed,
    behaving,
    breaks_the_transaction,
    raises,
    registers_a_callback_that_fails,
    swallows,
    swallows_in_a_savepoint,
)
from tests.cases.models.folders import Folder, Name
from tests.properties import edges
from tests.properties.profile import MINUTES, profile

OPTIONS = {"RETAIN_SUCCEEDED": None, "RETAIN_FAILED": None}
TABLES = (RunAttempt, Run, TransitionLog, OperatorAction, TriggerHold, Tick, Folder, Name)
SLUGS = ("a", "b", "c", "d")
ALIASES = ("default", "other")
SOURCES = {"take": ("shelf",), "put_back": ("table", "filed"), "clear": ("shelf", "table")}
PENDING = ("a run", "a follow-up", "a hold")
TARGETS = {"take": "table", "put_back": "shelf", "clear": "filed", "file": "filed"}


# What a hook does, and whether what it stands in may be reported as done.
HOOKS = {
    "nothing": (lambda ctx: None, "done"),
    "swallows": (swallows, "refused"),
    "swallows in a savepoint": (swallows_in_a_savepoint, "done"),
    "registers a callback that fails": (registers_a_callback_that_fails, "done and raised"),
    "raises": (raises, "refused"),
    "breaks the transaction": (breaks_the_transaction, "refused"),
}


class Told:
    """What is known of one record: the model that every row is held against."""

    def __init__(self, row: Folder, entry: int) -> None:
        self.columns = columns_of(row)
        self.began = entry  # the entry this life began with

    def __repr__(self) -> str:
        return f"{self.columns}"


def columns_of(row: Folder) -> dict[str, Any]:
    return {
        name: getattr(row, name) for name in ("status", "title", "labels", "weight", "seen_at", "lifecycle_version")
    }


class People(RuleBasedStateMachine):
    """Everything people do to some folders on two databases."""

    def __init__(self) -> None:
        super().__init__()
        for using in ALIASES:
            for table in TABLES:
                table._base_manager.using(using).all().delete()
        self.now = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
        self.known: dict[tuple[str, str], Told] = {}
        self.requests: dict[tuple[str, str], tuple[str, str, int]] = {}
        self.scanned: list[tuple[str, str, int]] = []
        self.stack = ExitStack()
        self.stack.enter_context(clock.replaced(lambda: self.now))
        self.stack.enter_context(dispatch.replaced(RecordingDispatcher()))
        self.stack.enter_context(override_settings(LIFECYCLE=OPTIONS))
        self.stack.callback(behaviours.clear)
        behaviours["effect"] = self.note_scan

    def note_scan(self, ctx: Any) -> None:
        self.scanned.append(
            (
                ctx.record._state.db,
                ctx.record.pk,
                Run.objects.using(ctx.record._state.db).get(pk=ctx.run_id).entry_id,
            )
        )

    # ---------------------------------------------------------------------------------------------- creating

    @initialize()
    def there_are_some_folders(self) -> None:
        """Some with a past: what few examples may not come to happens at the beginning of each."""
        for using in ALIASES:
            for slug in SLUGS[:3]:
                self.someone_creates(using, slug, None, "first")
        for left in PENDING:
            self.is_used_again(("other", "c"), left, directly=False)
        self.someone_fires_many("other", "clear", ("a",), edited=False)
        for slug in SLUGS[:2]:
            row = Folder.objects.get(pk=slug)
            fire(row, "take", actor=SYSTEM)
            self.moved(self.known["default", slug], "take", {})

    @rule(
        using=st.sampled_from(ALIASES),
        slug=st.sampled_from(SLUGS),
        request=st.sampled_from([None, None, "k1", "k2"]),
        title=st.sampled_from(["first", "second"]),
    )
    def someone_creates(self, using: str, slug: str, request: str | None, title: str) -> None:
        """Also a key whose record was deleted, and a request id that was spent on another folder."""
        there = (using, slug) in self.known
        spent = self.requests.get((using, request)) if request else None
        same = there and spent == (slug, title, self.known[using, slug].began)  # a repeat, whose record is there still
        record = Folder(slug=slug, title=title)
        try:
            answer = create(record, actor=SYSTEM, request_id=request, using=using)
        except RequestReused:
            assert spent is not None
            assert not same
            return
        except LifecycleError:  # taken; or a repeat whose record has been deleted since
            assert there or spent is not None
            return
        assert not there or same, "created twice"
        if there:
            assert answer.pk == slug
            return
        entry = TransitionLog.objects.using(using).filter(record_id=slug).latest("id")
        assert entry.transition == "$create"
        self.known[using, slug] = Told(answer, entry.pk)
        if request:
            self.requests[using, request] = (slug, title, entry.pk)

    @rule(using=st.sampled_from(ALIASES), slug=st.sampled_from(SLUGS), title=st.sampled_from(["directly", ""]))
    def someone_saves_a_new_row_directly(self, using: str, slug: str, title: str) -> None:
        """Without the runtime: the record has no entry until it is fired."""
        if (using, slug) in self.known:
            return
        row = Folder(slug=slug, title=title)
        row.save(using=using, force_insert=True)
        last = TransitionLog.objects.using(using).order_by("id").last()
        self.known[using, slug] = Told(row, (last.pk if last else 0) + 1)

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def someone_deletes(self, data: Any) -> None:
        using, slug = key = data.draw(st.sampled_from(sorted(self.known)))
        Folder.objects.using(using).get(pk=slug).delete()
        del self.known[key]

    @precondition(lambda self: self.known)
    @rule(
        data=st.data(),
        left=st.sampled_from([*PENDING, "whatever there is"]),
        directly=st.booleans(),
        then=st.sampled_from(["a drain", "a firing", "nothing"]),
    )
    def someone_uses_a_key_again(self, data: Any, left: str, directly: bool, then: str) -> None:
        """At once after the delete, with what the deleted record left pending."""
        using, slug = key = data.draw(st.sampled_from(sorted(self.known)))
        self.is_used_again(key, left, directly=directly)
        if then == "a drain":
            self.a_worker_drains("nothing")
        if then == "a firing":
            row = Folder.objects.using(using).get(pk=slug)
            fire(row, "take", actor=SYSTEM)
            self.moved(self.known[key], "take", {})

    def is_used_again(self, key: tuple[str, str], left: str, *, directly: bool) -> None:
        using, slug = key
        if left in PENDING:
            self.something_is_left(key, left)
        Folder.objects.using(using).get(pk=slug).delete()
        del self.known[key]
        if directly:
            self.someone_saves_a_new_row_directly(using, slug, "again")
        else:
            self.someone_creates(using, slug, None, "again")
        self.nothing_of_an_earlier_life_is_pending()

    def something_is_left(self, key: tuple[str, str], left: str) -> None:
        """Lets a run, a follow-up or a held timeout wait for a record."""
        using, slug = key
        told, row = self.known[key], Folder.objects.using(using).get(pk=slug)
        for transition in ("take",) if row.status == "shelf" else ("put_back", "take"):
            fire(row, transition, actor=SYSTEM)
            self.moved(told, transition, {})
        if left == "a follow-up":
            self.a_worker_drains("raises")
        if left == "a hold":
            self.time_passes(61, (slug,))
        self.no_effect_was_called_for_another_life()

    # ---------------------------------------------------------------------------------------------- firing

    @precondition(lambda self: self.known)
    @rule(
        data=st.data(),
        transition=st.sampled_from(["take", "take", "put_back"]),
        hook=st.sampled_from(sorted(HOOKS)),
        given_=st.sampled_from(sorted(edges.INPUTS)),
        edit=st.sampled_from(["none", "none", "none", "assigned", "in place"]),
    )
    def someone_fires(self, data: Any, transition: str, hook: str, given_: str, edit: str) -> None:
        using, slug = key = data.draw(st.sampled_from(sorted(self.known)))
        told = self.known[key]
        row = Folder.objects.using(using).get(pk=slug)
        if edit == "assigned":
            row.title = "edited"
        elif edit == "in place":
            row.labels.append("edited")
        given, fits = edges.INPUTS[given_] if transition == "take" else ({}, True)
        behave, ending = HOOKS[hook]
        expected = self.expected(told, transition, edit, fits=fits)
        with behaving("hook" if transition == "take" else "hook of a return", behave):
            error = error_of(lambda: fire(row, transition, actor=SYSTEM, input=dict(given)))
        if expected:
            assert isinstance(error, expected), (expected, error)
        elif ending == "refused":
            assert error is not None, "reported as done, but it cannot have been committed"
        elif ending == "done and raised":
            assert isinstance(error, CallbackFailed), error
        else:
            assert error is None, error
        if expected or ending == "refused":
            return
        self.moved(told, transition, given)
        told.columns["lifecycle_version"] = Folder.objects.using(using).get(pk=slug).lifecycle_version
        assert columns_of(row) == told.columns, "the instance does not show the row"

    def expected(self, told: Told, transition: str, edit: str, *, fits: bool) -> tuple[type[Exception], ...]:
        """The refusals that a fire may meet before its hooks are called; one of them, if any."""
        wrong = {
            UnsavedEdits: edit != "none",
            WrongState: told.columns["status"] not in SOURCES[transition],
            InvalidInput: not fits,
        }
        return tuple(error for error, there in wrong.items() if there)

    def moved(self, told: Told, transition: str, given: dict[str, Any]) -> None:
        columns = told.columns
        columns["status"] = TARGETS[transition]
        columns.update(edges.stored(given))
        columns["lifecycle_version"] = None  # asked of the rows, where the numbers of a life are checked

    @rule(
        using=st.sampled_from(ALIASES),
        transition=st.sampled_from(["put_back", "clear"]),
        poisoned=st.sampled_from([("a",), (), ("b", "c")]),
        edited=st.booleans(),
    )
    def someone_fires_many(self, using: str, transition: str, poisoned: tuple[str, ...], edited: bool) -> None:
        """A queryset or a list; some of its rows cannot be decided, or were edited by whoever holds them."""

        def guard(ctx: Any) -> None:
            if ctx.record.pk in poisoned:
                breaks_the_transaction(ctx)

        rows: Any = Folder.objects.using(using).order_by("pk")
        unsaved: set[str] = set()
        if edited:
            rows = list(rows)
            for row in rows[:1]:
                row.labels.append("edited")
                unsaved.add(row.pk)
        here = {slug for alias, slug in self.known if alias == using}
        movable = {slug for slug in here if self.known[using, slug].columns["status"] in SOURCES[transition]}
        with behaving("guard", guard):
            report = fire_many(rows, transition, actor=SYSTEM)
        fired = {one.record.pk for one in report.fired}
        assert fired == movable - set(poisoned) - unsaved
        assert {one.record_id for one in report.refused} == here - fired
        for slug in fired:
            self.moved(self.known[using, slug], transition, {})

    # ---------------------------------------------------------------------------------------------- workers and time

    @rule(hook=st.sampled_from(sorted(HOOKS)))
    def a_worker_drains(self, hook: str) -> None:
        """Effects are called, and what follows from them meets the same kinds of hooks."""
        behave, ending = HOOKS[hook]
        pending = self.pending()
        with behaving("hook of a follow-up", behave):
            drain(seconds=600, runs=100)
        assert not Run.objects.filter(status__in=["queued", "running"]).exists()
        for (using, slug), told in self.known.items():
            if (using, slug) in pending and ending != "refused" and told.columns["status"] == "table":
                self.moved(told, "file", {})

    def pending(self) -> set[tuple[str, str]]:
        """The records whose present stay has a run that is due."""
        found = set()
        for (using, slug), told in self.known.items():
            runs = Run.objects.using(using).filter(
                record_id=slug, status="queued", entry_id__gte=told.began, available_at__lte=self.now
            )
            latest = TransitionLog.objects.using(using).filter(record_id=slug, pk__gte=told.began).order_by("pk").last()
            if latest is not None and runs.filter(entry=latest).exists():
                found.add((using, slug))
        return found

    @rule(minutes=st.sampled_from([61, 1]), poisoned=st.sampled_from([("a",), ()]))
    def time_passes(self, minutes: int, poisoned: tuple[str, ...]) -> None:
        """A timeout moves what it can, however bad one of the rows is; what waited for longer follows."""

        def guard(ctx: Any) -> None:
            if ctx.record.pk in poisoned:
                breaks_the_transaction(ctx)

        self.now += dt.timedelta(minutes=minutes)
        with behaving("guard", guard):
            report = tick(force=True)
        assert report.failures == []
        for (using, slug), told in self.known.items():
            row = Folder.objects.using(using).get(pk=slug)
            overdue = row.status == "table" and row.status_changed_at + dt.timedelta(hours=1) <= self.now
            held = TriggerHold.objects.using(using).filter(record_id=slug).exists()
            assert not overdue or slug in poisoned or held, "one bad row kept another from its timeout"
            if row.status != told.columns["status"]:
                self.moved(told, {"shelf": "put_back", "filed": "file"}[row.status], {})

    # ---------------------------------------------------------------------------------------------- what must hold

    @invariant()
    def every_row_is_what_was_answered(self) -> None:
        for using in ALIASES:
            rows = {row.pk: row for row in Folder.objects.using(using)}
            assert rows.keys() == {slug for alias, slug in self.known if alias == using}
            for slug, row in rows.items():
                self.row_and_history_agree(using, row, self.known[using, slug])

    def row_and_history_agree(self, using: str, row: Folder, told: Told) -> None:
        if told.columns["lifecycle_version"] is None:
            told.columns["lifecycle_version"] = row.lifecycle_version
        assert columns_of(row) == told.columns
        entries = list(TransitionLog.objects.using(using).filter(record_id=row.pk).order_by("id"))
        versions = [entry.version for entry in entries]
        assert versions == sorted(set(versions)), f"{using}/{row.pk}: numbered {versions}"
        life = [entry for entry in entries if entry.pk >= told.began]
        assert [entry.version for entry in life] == list(
            range(row.lifecycle_version - len(life) + 1, row.lifecycle_version + 1)
        )
        if life:
            assert life[-1].target == row.status
        assert list(row.lifecycle.history.values_list("pk", flat=True).order_by("pk")) == [entry.pk for entry in life]

    @invariant()
    def no_effect_was_called_for_another_life(self) -> None:
        for using, slug, entry in self.scanned:
            assert (using, slug) in self.known, "called for a record that was deleted"
            assert entry >= self.known[using, slug].began, "an effect of the deleted record was called for the new one"
        self.scanned.clear()

    @invariant()
    def nothing_of_an_earlier_life_is_pending(self) -> None:
        """A life that has an entry has ended what the one before it left; directly saved rows have none yet."""
        for (using, slug), told in self.known.items():
            first = TransitionLog.objects.using(using).filter(record_id=slug, pk__gte=told.began).order_by("pk").first()
            if first is not None:
                assert self.pending_kinds(using, slug, version__lt=first.version) == []

    def pending_kinds(self, using: str, slug: str, **of_entry: Any) -> list[str]:
        """The kinds of what waits for a record, of its entries with such versions."""
        runs = Run.objects.using(using).filter(
            record_id=slug, **{f"entry__{name}": value for name, value in of_entry.items()}
        )
        found = {
            "a run": runs.filter(status__in=["queued", "running"]),
            "a follow-up": runs.filter(follow_up__in=["pending", "abandoned"]),
            "a hold": TriggerHold.objects.using(using).filter(record_id=slug, **of_entry),
        }
        return [kind for kind, rows in found.items() if rows.exists()]

    @invariant()
    def no_run_was_doubled(self) -> None:
        for using in ALIASES:
            entries = list(Run.objects.using(using).values_list("entry_id", "effect"))
            assert len(entries) == len(set(entries))

    def teardown(self) -> None:
        self.stack.close()


def error_of(call: Any) -> BaseException | None:
    try:
        call()
    except Exception as error:  # noqa: BLE001 whatever it is, it is looked at
        return error
    return None


@pytest.mark.timeout(MINUTES * 60)
def test_whatever_people_get_wrong_the_rows_are_what_they_were_told(other: str) -> None:
    run_state_machine_as_test(People, settings=profile(examples=12, steps=40))
