"""What all commands have in common: help, JSON on stdout, refusals with the nearest right name and exit code 2."""

from __future__ import annotations

import datetime as dt
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command, get_commands, load_command_class
from django.core.management.base import OutputWrapper

from lifecycle import clock
from lifecycle.management.progress import Progress
from lifecycle.models import Run, RunStatus, Tick
from lifecycle.store import pruning
from lifecycle.sweeps.tick import PARTS, Pass
from tests.execution.rows import queue_runs

ROOT = Path(__file__).resolve().parent.parent.parent
COMMANDS = sorted(name for name, app in get_commands().items() if app == "lifecycle")
OF_A_DATABASE = [name for name in COMMANDS if name not in ("lifecycle_graph", "lifecycle_worker")]
# What each needs to be called at all.
NEEDED: dict[str, dict[str, Any]] = {
    "lifecycle_migrate_state": {"lifecycle": "tickets", "source": "solved", "transition": "close"},
    "lifecycle_repair": {"reason": "again", "no_input": True},
    "lifecycle_retry": {"all": True, "reason": "again"},
    "lifecycle_worker": {"once": True},
}


NAMED = {"lifecycle_adopt": ["tickets"], "lifecycle_repair": ["tickets"]}


def outcome(name: str, **options: Any) -> Any:
    out = io.StringIO()
    given = {**NEEDED.get(name, {}), "format": "json", **options}
    call_command(name, *NAMED.get(name, ()), **given, stdout=out, stderr=io.StringIO())
    return json.loads(out.getvalue())


def test_there_are_those_that_the_documentation_names() -> None:
    assert [
        f"lifecycle_{name}"
        for name in ("adopt", "doctor", "graph", "migrate_state", "prune", "repair", "retry", "tick", "worker")
    ] == COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_and_each_of_its_options(name: str) -> None:
    command = load_command_class("lifecycle", name)
    parser = command.create_parser("manage.py", name)
    assert len(command.help) > 40
    assert [action.dest for action in parser._actions if not action.help] == []
    assert "--format" in parser.format_help()


@pytest.mark.django_db
@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "lifecycle_doctor"])
def test_every_command_answers_in_json_alone_when_asked_to(name: str) -> None:
    assert outcome(name) is not None


@pytest.mark.django_db
@pytest.mark.parametrize("name", OF_A_DATABASE)
def test_an_unknown_database_is_refused_with_the_nearest_right_name(name: str) -> None:
    with pytest.raises(CommandError, match="no alias 'defualt'. Did you mean 'default'?") as refused:
        outcome(name, using="defualt")
    assert refused.value.returncode == 2


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["lifecycle_adopt", "lifecycle_graph"])
def test_an_unknown_lifecycle_is_refused_with_the_nearest_right_name(name: str) -> None:
    out = io.StringIO()
    with pytest.raises(CommandError, match="Did you mean 'tickets'?") as refused:
        call_command(name, "ticket", stdout=out)
    assert refused.value.returncode == 2
    assert out.getvalue() == ""


def test_wrong_usage_ends_the_process_with_2(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "django", "lifecycle_doctor", "--only", "drfit", "--settings", "tests.settings"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "Did you mean 'drift'?" in ran.stderr


@pytest.mark.django_db
class TestPrune:
    def old(self, number: int) -> None:
        long_ago = clock.now() - dt.timedelta(days=30)
        queue_runs(number)
        Run.objects.update(status=RunStatus.SUCCEEDED, created_at=long_ago, finished_at=long_ago)

    def test_what_would_be_deleted_and_what_was_are_counted_by_database(self) -> None:
        self.old(3)
        assert outcome("lifecycle_prune", dry_run=True) == {"dry_run": True, "deleted": {"default": 3}}
        assert Run.objects.count() == 3
        assert outcome("lifecycle_prune") == {"dry_run": False, "deleted": {"default": 3}}
        assert Run.objects.count() == 0

    def test_long_work_says_how_far_it_is_and_not_on_stdout(self) -> None:
        self.old(2)
        out, progress = io.StringIO(), io.StringIO()
        call_command("lifecycle_prune", stdout=out, stderr=progress, verbosity=2)
        assert progress.getvalue().splitlines() == ["default: 2 so far"]
        assert out.getvalue() == "default: 2 deleted\n"

    def test_a_database_that_cannot_be_pruned_is_told_and_the_command_exits_with_1(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*args: Any, **kwargs: Any) -> Any:
            raise RuntimeError("broken")

        monkeypatch.setattr(pruning, "prune", fail)
        with pytest.raises(CommandError, match="default: Pruning: RuntimeError: broken") as failed:
            call_command("lifecycle_prune", stdout=io.StringIO())
        assert failed.value.returncode == 1


@pytest.mark.django_db
class TestTick:
    def test_a_failing_part_exits_with_1_and_the_others_are_made(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(sweep: Pass) -> None:
            raise RuntimeError("broken")

        monkeypatch.setitem(PARTS, "timeouts", fail)
        with pytest.raises(CommandError, match="broken") as failed:
            outcome("lifecycle_tick", force=True)
        assert failed.value.returncode == 1
        assert Tick.objects.get(name="main").counts["failures"] == 1


@pytest.mark.django_db
class TestWorker:
    def test_once_says_how_much_was_done(self) -> None:
        queue_runs(2)
        report = outcome("lifecycle_worker")
        assert (report["event"], report["done"]) == ("finished", 2)

    def test_a_queue_that_nobody_names_is_served_and_doubted(self) -> None:
        queue_runs(1, queue="defualt")
        out, doubts = io.StringIO(), io.StringIO()
        call_command("lifecycle_worker", once=True, queues=["defualt"], stdout=out, stderr=doubts)
        assert out.getvalue() == "lifecycle_worker: 1 done.\n"
        assert "Did you mean 'default'?" in doubts.getvalue()


class TestGraph:
    def test_the_shape_of_a_lifecycle_is_data(self) -> None:
        out = io.StringIO()
        call_command("lifecycle_graph", "parcels", format="json", stdout=out)
        [shape] = json.loads(out.getvalue())
        assert shape["name"] == "parcels"
        assert {"name": "packed", "label": "Packed", "initial": True, "final": False, "deprecated": False} in shape[
            "states"
        ]
        assert {
            "name": "send",
            "label": "Send",
            "sources": ["packed", "stuck"],
            "targets": ["labelling"],
            "manual": True,
        } in shape["transitions"]
        assert shape["mermaid"].startswith("stateDiagram-v2")


class TestProgress:
    def test_nothing_is_said_of_what_is_done_at_once_or_when_told_to_be_silent(self) -> None:
        stream = io.StringIO()
        Progress(stream, verbosity=1).say("a")
        Progress(stream, verbosity=0).say("b")
        assert stream.getvalue() == ""
        Progress(stream, verbosity=2).say("c")
        assert stream.getvalue() == "c"

    def test_on_a_terminal_it_is_one_line_that_is_taken_away_in_the_end(self) -> None:
        class Terminal(io.StringIO):
            def isatty(self) -> bool:
                return True

        terminal = Terminal()
        with Progress(OutputWrapper(terminal), verbosity=1) as progress:
            progress.say("one")
            progress.say("two" * 200)
        first, second, last = terminal.getvalue().split("\r\x1b[K")[1:]
        assert first == "one"
        assert second.startswith("twotwo")
        assert len(second) < 400
        assert "\n" not in terminal.getvalue()
        assert last == ""
