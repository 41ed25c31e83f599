"""lifecycle_retry: many runs, each by the rules of the one."""

from __future__ import annotations

import datetime as dt
import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from lifecycle import clock
from lifecycle.models import FollowUp, OperatorAction, Run, RunStatus
from tests.execution.rows import facts, queue_runs

pytestmark = pytest.mark.django_db


def retry(*arguments: str, code: int = 0) -> dict[str, Any]:
    out = io.StringIO()
    try:
        call_command("lifecycle_retry", *arguments, "--format", "json", stdout=out, stderr=io.StringIO())
        ended = 0
    except CommandError as error:
        ended = error.returncode
    assert ended == code, out.getvalue()
    report: dict[str, Any] = json.loads(out.getvalue())
    return report


def ended(number: int, status: RunStatus = RunStatus.FAILED, **values: Any) -> list[Run]:
    runs = queue_runs(number)
    given = {"outcome": "failed", "attempts": 1, "finished_at": clock.now(), **values}
    Run.objects.filter(pk__in=[run.pk for run in runs]).update(status=status, **given)
    return runs


def statuses() -> list[str]:
    return list(Run.objects.order_by("pk").values_list("status", flat=True))


def test_failed_and_dead_runs_run_again_with_an_audit_row_each() -> None:
    ended(1), ended(1, RunStatus.DEAD), ended(1, RunStatus.CANCELLED), ended(1, RunStatus.SUCCEEDED)

    report = retry("--lifecycle", "parcels", "--reason", "The bank is back.")

    assert (report["retried"], report["refused"], report["settled"]) == (2, 0, 0)
    assert [line["status"] for line in report["runs"]] == ["failed", "dead"]
    assert statuses() == ["queued", "queued", "cancelled", "succeeded"]
    audit = list(OperatorAction.objects.values_list("action", "reason", "actor_id", "forced"))
    assert audit == [("retry", "The bank is back.", "command:lifecycle_retry", False)] * 2


def test_filters_choose_by_effect_status_code_record_and_age() -> None:
    [old] = ended(1, error_code="bank_down", finished_at=clock.now() - dt.timedelta(days=2))
    [fresh] = ended(1, error_code="bank_down")
    [other] = ended(1, error_code="no_card", effect="print_label", record_id="7")
    [cancelled] = ended(1, RunStatus.CANCELLED)

    def chosen(*arguments: str) -> list[int]:
        return [line["run"] for line in retry(*arguments, "--dry-run")["runs"]]

    assert chosen("--error-code", "bank_down") == [old.pk, fresh.pk]
    assert chosen("--older-than", "1d") == [old.pk]
    assert chosen("--lifecycle", "parcels", "--effect", "print_label") == [other.pk]
    assert chosen("--lifecycle", "parcels", "--record", "7") == [other.pk]
    assert chosen("--status", "cancelled") == [cancelled.pk]
    assert chosen("--all") == [old.pk, fresh.pk, other.pk]
    assert chosen("--all", "--limit", "2") == [old.pk, fresh.pk]
    assert chosen("--run", str(fresh.pk), "--run", str(other.pk)) == [fresh.pk, other.pk]


def test_a_dry_run_changes_nothing_and_needs_no_reason() -> None:
    [run] = ended(1)
    before = facts(run)

    assert retry("--all", "--dry-run")["retried"] == 1

    assert facts(run) == before
    assert not OperatorAction.objects.exists()


def test_runs_whose_outcome_led_somewhere_are_counted_and_left_alone_unless_forced() -> None:
    [settled] = ended(1, follow_up=FollowUp.APPLIED)
    ended(1)

    report = retry("--all", "--reason", "again")
    assert (report["retried"], report["settled"]) == (1, 1)
    assert facts(settled)["status"] == "failed"

    report = retry("--all", "--reason", "all the same", "--force")
    assert (report["retried"], report["settled"]) == (1, 0)
    assert OperatorAction.objects.filter(forced=True).count() == 1


def test_a_refused_run_is_reported_stops_no_other_and_the_command_exits_with_1() -> None:
    [unknown] = ended(1, effect="gone")
    [settled] = ended(1, follow_up=FollowUp.APPLIED)
    [fine] = ended(1)
    numbers = [part for run in (unknown, settled, fine) for part in ("--run", str(run.pk))]

    report = retry(*numbers, "--reason", "again", code=1)

    assert (report["retried"], report["refused"]) == (1, 2)
    assert [(line["code"], line["retried"]) for line in report["runs"]] == [
        ("unknown_effect", False), ("run_settled", False), ("", True),
    ]  # fmt: skip
    assert statuses() == ["failed", "failed", "queued"]


def test_text_says_a_line_per_run() -> None:
    [run] = ended(1)
    out = io.StringIO()

    call_command("lifecycle_retry", "--all", "--reason", "again", stdout=out)

    first, last = out.getvalue().splitlines()
    assert first == f"run {run.pk} (parcels.refund_postage of none, failed): retried"
    assert last == "1 retried, 0 refused, 0 settled."


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--reason", "x"], "Say which runs"),
        (["--all"], "--reason is required"),
        (["--all", "--reason", "  "], "--reason is required"),
        (["--lifecycle", "parcel", "--dry-run"], "Did you mean 'parcels'?"),
        (["--lifecycle", "parcels", "--effect", "refund_postge", "--dry-run"], "Did you mean 'refund_postage'?"),
        (["--effect", "refund_postage", "--dry-run"], "need --lifecycle"),
        (["--all", "--dry-run", "--database", "other"], "DATABASES has no alias 'other'"),
    ],
)
def test_a_wrong_call_is_refused_and_nothing_is_retried(arguments: list[str], sentence: str) -> None:
    ended(1)
    with pytest.raises(CommandError, match=sentence) as refused:
        call_command("lifecycle_retry", *arguments)
    assert refused.value.returncode == 2
    assert statuses() == ["failed"]
