"""Adopting: rows that were there before their lifecycle get the entry their history begins with."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from lifecycle import SYSTEM
from lifecycle.models import TransitionLog
from lifecycle.models.writes import creation_in_any_state
from lifecycle.runtime import create
from tests.columns.models import Invoice, OldTable, Token

pytestmark = pytest.mark.django_db


def adopt(name: str, **options: Any) -> dict[str, Any]:
    out, progress = io.StringIO(), io.StringIO()
    try:
        call_command("lifecycle_adopt", name, format="json", stdout=out, stderr=progress, **options)
    finally:
        adopt.progress = progress.getvalue().splitlines()  # type: ignore[attr-defined]
        adopt.out = out.getvalue()  # type: ignore[attr-defined]
    report: dict[str, Any] = json.loads(out.getvalue())
    return report


def old_rows(*states: str) -> list[OldTable]:
    """As an older program left them: no version, no time."""
    with creation_in_any_state():
        rows = [OldTable.objects.create(phase="new") for _ in states]
    with connection.cursor() as cursor:
        for record, state in zip(rows, states, strict=True):
            cursor.execute("UPDATE columns_oldtable SET phase = %s, moved_at = NULL WHERE id = %s", [state, record.pk])
    return rows


def entries(name: str) -> list[tuple[Any, ...]]:
    rows = TransitionLog.objects.filter(lifecycle=name).order_by("id")
    return list(rows.values_list("record_id", "transition", "source", "target", "version", "actor_kind"))


def test_every_row_without_an_entry_gets_one_in_the_state_it_has_and_a_time() -> None:
    one, two = old_rows("paid", "new")
    report = adopt("columns_old")
    assert (report["adopted"], report["dated"], report["unknown"]) == (2, 2, [])
    assert entries("columns_old") == [
        (str(one.pk), "$adopt", None, "paid", 0, "system"),
        (str(two.pk), "$adopt", None, "new", 0, "system"),
    ]
    one.refresh_from_db()
    assert (one.phase, one.revision) == ("paid", 0)
    assert one.moved_at == TransitionLog.objects.earliest("id").at
    one.lifecycle.fire("ship", actor=SYSTEM)
    assert [row[4] for row in entries("columns_old") if row[0] == str(one.pk)] == [0, 1]


def test_adopting_again_changes_nothing() -> None:
    old_rows("paid", "new")
    adopt("columns_old")
    before = entries("columns_old")
    assert adopt("columns_old")["adopted"] == 0
    assert entries("columns_old") == before


def test_a_row_the_runtime_created_or_moved_needs_no_entry_and_a_known_time_stays() -> None:
    create(OldTable(), actor=SYSTEM)
    moved = OldTable.objects.create()
    moved.lifecycle.fire("pay", actor=SYSTEM)
    fresh = OldTable.objects.create()
    report = adopt("columns_old")
    assert (report["adopted"], report["dated"]) == (1, 0)
    assert OldTable.objects.get(pk=fresh.pk).moved_at == fresh.moved_at


def test_batches_go_on_after_each_other_and_say_how_far_they_are() -> None:
    old_rows(*["paid"] * 5)
    assert adopt("columns_old", batch_size=2)["adopted"] == 5
    assert adopt.progress == ["columns_old: 2 of 5", "columns_old: 4 of 5", "columns_old: 5 of 5"]  # type: ignore[attr-defined]
    assert len(entries("columns_old")) == 5


def test_a_dry_run_says_what_it_would_do_and_writes_nothing() -> None:
    old_rows("paid", "new")
    report = adopt("columns_old", dry_run=True)
    assert (report["adopted"], report["dated"], report["dry_run"]) == (2, 2, True)
    assert entries("columns_old") == []
    assert OldTable.objects.filter(moved_at__isnull=True).count() == 2


def test_rows_in_unknown_states_are_listed_and_left_alone_while_the_others_are_adopted() -> None:
    stranger, known = old_rows("lost", "paid")
    with pytest.raises(CommandError, match="1 of 'columns_old' are in a state it does not know"):
        adopt("columns_old")
    report = json.loads(adopt.out)  # type: ignore[attr-defined]
    assert report["unknown"] == [{"record_id": str(stranger.pk), "state": "lost"}]
    assert [row[0] for row in entries("columns_old")] == [str(known.pk)]
    stranger.refresh_from_db()
    assert (stranger.phase, stranger.moved_at) == ("lost", None)


def test_an_imported_version_is_taken_over_so_that_the_next_transition_follows_it() -> None:
    with creation_in_any_state():
        token = Token.objects.create(status="paid", lifecycle_version=3)
    assert adopt("columns_tokens")["adopted"] == 1
    token.lifecycle.fire("ship", actor=SYSTEM)
    assert [row[3:5] for row in entries("columns_tokens")] == [("paid", 3), ("shipped", 4)]
    assert entries("columns_tokens")[0][0] == str(token.pk)
    assert adopt("columns_tokens")["adopted"] == 0


def test_of_two_lifecycles_on_a_row_each_is_adopted_by_its_own_name() -> None:
    Invoice.objects.create()
    adopt("columns_payments")
    assert [row[3] for row in entries("columns_payments")] == ["open"]
    assert entries("columns_invoices") == []


def test_the_text_form_names_the_numbers_and_the_strangers() -> None:
    (stranger,) = old_rows("lost")
    out = io.StringIO()
    with pytest.raises(CommandError, match="Known: new, paid, shipped"):
        call_command("lifecycle_adopt", "columns_old", stdout=out, verbosity=0)
    assert out.getvalue().splitlines() == [
        "columns_old: 0 adopted, 0 of them given a time",
        f"  {stranger.pk} is in the unknown state 'lost'",
    ]


def test_an_unknown_lifecycle_suggests_the_nearest_and_a_wrong_batch_size_is_refused() -> None:
    with pytest.raises(CommandError, match="Did you mean 'columns_old'"):
        adopt("columns_odl")
    with pytest.raises(CommandError, match="expected a number from 1 to 10000, got '0'"):
        call_command("lifecycle_adopt", "columns_old", "--batch-size", "0")
