"""One life, one history: a key used again after a delete is another record; nothing pending of the old one meets it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from lifecycle import SYSTEM
from lifecycle.exceptions import RequestReused
from lifecycle.execution.drain import drain
from lifecycle.models import EffectRun, TransitionLog
from lifecycle.models.writes import bypass
from lifecycle.runtime import create, fire, fire_many
from lifecycle.sweeps.tick import tick
from lifecycle.testing import travel
from tests.cases.misbehaving import behaving, raises
from tests.cases.models.folders import Folder

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
    assert (row.status, row.lifecycle_version) == ("desk", 4)
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

    run = EffectRun.objects.get()
    assert (called, run.status, run.error_kind, run.attempts) == ([], "failed", "record_gone", 0)
    assert Folder.objects.get().status == "shelf"


@pytest.mark.row("C1")
@pytest.mark.parametrize("again", AGAIN)
def test_a_follow_up_pending_of_the_deleted_record_is_dropped(again: Callable[[], Folder]) -> None:
    folder = create(Folder(slug="a"), actor=SYSTEM)
    fire(folder, "take", actor=SYSTEM)
    with behaving("hook of a follow-up", raises):
        drain()
    assert EffectRun.objects.get().follow_up == "pending"
    folder.delete()

    new = again()
    if again is created:
        assert EffectRun.objects.get().follow_up == "dropped"
    with travel(minutes=30):
        tick(force=True)

    assert EffectRun.objects.get().follow_up == "dropped"
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

    first, second = EffectRun.objects.order_by("id")
    assert (first.status, first.error_kind) == ("failed", "record_gone")
    assert (second.status, Folder.objects.get().status) == ("queued", "desk")


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
    assert (EffectRun.objects.get().follow_up, row.status, row.lifecycle_version) == ("applied", "filed", 10)


@pytest.mark.row("C6")
def test_a_later_entry_ends_a_stay() -> None:
    folder = created()
    fire(folder, "take", actor=SYSTEM)

    def meanwhile(ctx: Any) -> None:
        fire(Folder.objects.get(), "put_back", actor=SYSTEM)

    with behaving("effect", meanwhile):
        drain()

    assert (EffectRun.objects.get().follow_up, Folder.objects.get().status) == ("dropped", "shelf")
