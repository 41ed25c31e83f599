"""lifecycle_doctor: what it prints, what it answers, what it refuses to be asked."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from lifecycle import SYSTEM
from lifecycle.doctor import FAULTS
from lifecycle.models import Tick
from lifecycle.models.writes import bypass
from lifecycle.runtime import create
from lifecycle.store import aliases
from tests.support.models import Ticket

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("healthy")]


def doctor(*arguments: str, code: int = 0) -> str:
    """Calls the command; answers stdout. Its exit code must be this one."""
    out = io.StringIO()
    try:
        call_command("lifecycle_doctor", *arguments, stdout=out, stderr=io.StringIO(), no_color=True)
        ended = 0
    except CommandError as error:
        ended = error.returncode
    assert ended == code, out.getvalue()
    return out.getvalue()


def changed_from_outside() -> Ticket:
    ticket = create(Ticket(), actor=SYSTEM)
    with bypass("a change from outside"):
        Ticket.objects.filter(pk=ticket.pk).update(status="solved")
    return ticket


def test_on_a_healthy_system_it_says_so_and_exits_with_0() -> None:
    assert doctor() == "Nothing found on default.\n"


def test_an_error_is_told_with_its_remedy_and_exits_with_1() -> None:
    ticket = changed_from_outside()

    said = doctor(code=1)

    assert said.startswith("error drift on default: 1 ticket was changed past the lifecycle")
    assert f"for example: {ticket.pk} (in 'solved', version 1" in said
    assert "  do: Find the writer" in said


def test_json_holds_every_finding_and_nothing_else_is_on_stdout() -> None:
    ticket = changed_from_outside()
    Tick.objects.all().delete()

    report: dict[str, Any] = json.loads(doctor("--format", "json", code=1))

    assert (report["healthy"], report["errors"], report["warnings"], report["databases"]) == (False, 2, 0, ["default"])
    tick, drift = report["findings"]
    assert (tick["id"], tick["severity"]) == ("no_tick", "error")
    assert set(drift) == {
        "id", "severity", "sentence", "remedy", "using", "lifecycle", "count", "examples",
    }  # fmt: skip
    assert drift["examples"][0].startswith(f"{ticket.pk} ")


def test_a_warning_exits_with_0_unless_warnings_count() -> None:
    Tick.objects.update(counts={"failures": 2})

    assert "warning failing_ticks" in doctor()
    doctor("--fail-level", "warning", code=1)


def test_faults_can_be_chosen_and_left_out() -> None:
    changed_from_outside()
    Tick.objects.all().delete()

    assert "no_tick" not in doctor("--only", "drift", code=1)
    assert "drift" not in doctor("--skip", "drift", code=1)
    assert "Nothing found" in doctor("--skip", "drift", "--skip", "no_tick")
    assert "Nothing found" in doctor("--lifecycle", "parcels", "--skip", "no_tick")


def test_a_limit_is_a_duration() -> None:
    doctor("--tick", "0", code=1)
    doctor("--tick", "2h")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--only", "drfit"], "There is no fault 'drfit'. Did you mean 'drift'?"),
        (["--skip", "tick"], "There is no fault 'tick'. Did you mean 'no_tick'?"),
        (["--lifecycle", "ticket"], "No lifecycle is named 'ticket'. Did you mean 'tickets'?"),
        (["--database", "defualt"], "DATABASES has no alias 'defualt'. Did you mean 'default'?"),
    ],
)
def test_a_wrong_name_is_refused_with_the_nearest_right_one(arguments: list[str], sentence: str) -> None:
    with pytest.raises(CommandError, match=sentence) as refused:
        call_command("lifecycle_doctor", *arguments)
    assert refused.value.returncode == 2


def test_a_database_without_our_tables_is_looked_at_when_it_is_the_one_that_ought_to_have_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(aliases, "with_our_tables", list)
    assert doctor() == "Nothing found on default.\n"


@pytest.mark.parametrize("wrong", ["soon", "5 parsecs", "-1", "9" * 30 + "d"])
def test_what_is_no_duration_is_refused(wrong: str) -> None:
    with pytest.raises(CommandError, match="expected a duration such as 90s"):
        call_command("lifecycle_doctor", f"--overdue={wrong}")


def test_the_faults_can_be_listed() -> None:
    assert list(json.loads(doctor("--list", "--format", "json"))) == list(FAULTS)
    assert "deprecated_states" in doctor("--list")
