"""Metrics and the health view: what a watchman sees of a healthy system, a lame one and a dead database."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.utils import OperationalError
from django.test import RequestFactory

from lifecycle import clock
from lifecycle.contrib.health import health
from lifecycle.models import FollowUp, Run, RunStatus, Tick
from lifecycle.sweeps.tick import SLOW, tick
from tests.execution.rows import queue_run, queue_runs

prometheus_client = pytest.importorskip("prometheus_client")

from lifecycle.contrib import prometheus  # noqa: E402

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).resolve().parent.parent.parent


def ask_health(status: int) -> dict[str, Any]:
    import json

    response = health(RequestFactory().get("/health/"))
    assert response.status_code == status, response.content
    assert "no-cache" in response.headers["Cache-Control"]
    answer: dict[str, Any] = json.loads(response.content)
    return answer


def scrape() -> dict[str, float]:
    """Every sample by its name."""
    registry = prometheus_client.CollectorRegistry()
    prometheus.register(registry)
    samples = [sample for family in registry.collect() for sample in family.samples]
    assert {tuple(sample.labels.items()) for sample in samples} == {(("database", "default"),)}
    return {sample.name: sample.value for sample in samples}


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def refuse(*args: Any) -> Any:
        raise OperationalError("could not connect to secret-host as secret-user")

    monkeypatch.setattr(connection, "cursor", refuse)
    yield
    monkeypatch.undo()


def ago(**duration: float) -> dt.datetime:
    return clock.now() - dt.timedelta(**duration)


class TestHealth:
    def test_a_system_that_ticks_and_keeps_up_is_well(self) -> None:
        tick(force=True)
        queue_runs(2)
        answer = ask_health(200)
        assert (answer["status"], answer["databases"]["default"]["problems"]) == ("ok", [])
        assert answer["databases"]["default"]["numbers"]["due"] == 2

    def test_without_a_tick_it_is_not(self) -> None:
        assert ask_health(503)["databases"]["default"]["problems"] == ["no_tick"]
        tick(force=True)
        Tick.objects.update(last_finished_at=ago(hours=1))
        assert ask_health(503)["status"] == "failing"

    def test_with_work_that_nobody_does_it_is_not(self) -> None:
        tick(force=True)
        queue_run(available_at=ago(hours=1))
        assert ask_health(503)["databases"]["default"]["problems"] == ["overdue_runs"]

    def test_dead_runs_need_a_person_not_another_server(self) -> None:
        queue_run(status=RunStatus.DEAD)
        tick(force=True)
        assert ask_health(200)["databases"]["default"]["numbers"]["dead"] == 1

    def test_a_database_that_does_not_answer_is_named_and_nothing_of_its_error_is_told(self, silent: None) -> None:
        answer = ask_health(503)
        assert answer == {
            "status": "failing",
            "databases": {"default": {"status": "failing", "problems": ["database"], "numbers": {}}},
        }

    def test_only_reading_is_allowed(self) -> None:
        assert health(RequestFactory().post("/health/")).status_code == 405


class TestPrometheus:
    def test_the_gauges_say_what_is_due_running_stuck_and_when_the_last_tick_was(self) -> None:
        queue_run(available_at=ago(seconds=30))
        queue_run(status=RunStatus.RUNNING, lease_until=ago(seconds=-60))
        queue_run(status=RunStatus.DEAD)
        queue_run(status=RunStatus.SUCCEEDED, follow_up=FollowUp.ABANDONED)
        tick(force=True)
        Tick.objects.filter(name="main").update(last_finished_at=ago(seconds=12))
        Run.objects.filter(status=RunStatus.RUNNING).update(lease_until=ago(seconds=1))

        seen = scrape()

        assert 29 < seen.pop("lifecycle_oldest_due_seconds") < 60
        assert 11 < seen.pop("lifecycle_tick_age_seconds") < 40
        assert seen == {
            "lifecycle_database_up": 1,
            "lifecycle_due_runs": 1,
            "lifecycle_running_runs": 1,
            "lifecycle_expired_leases": 1,
            "lifecycle_blocked_follow_ups": 0,
            "lifecycle_abandoned_follow_ups": 1,
            "lifecycle_dead_runs": 1,
            "lifecycle_failed_runs": 0,
            "lifecycle_held_triggers": 0,
            "lifecycle_tick_failures": 0,
        }

    def test_what_was_never_counted_is_left_out_rather_than_called_zero(self) -> None:
        Tick.objects.filter(name=SLOW).delete()
        seen = scrape()
        assert "lifecycle_dead_runs" not in seen
        assert "lifecycle_tick_age_seconds" not in seen

    def test_a_database_that_does_not_answer_is_down_and_fails_no_scrape(self, silent: None) -> None:
        assert scrape() == {"lifecycle_database_up": 0}

    def test_registering_asks_no_database(self, django_assert_num_queries: Any) -> None:
        with django_assert_num_queries(0):
            prometheus.register(prometheus_client.CollectorRegistry())

    def test_a_scrape_costs_the_same_however_much_is_due(self, django_assert_max_num_queries: Any) -> None:
        queue_runs(50)
        with django_assert_max_num_queries(16):
            scrape()

    def test_the_view_answers_in_prometheus_own_format(self) -> None:
        response = prometheus.metrics(RequestFactory().get("/metrics/"))
        assert response.headers["Content-Type"].startswith("text/plain")
        assert b'lifecycle_database_up{database="default"} 1.0' in response.content


def test_nothing_of_it_is_loaded_unless_a_project_asks() -> None:
    program = (
        "import django; django.setup(); import sys; import lifecycle.execution.drain, lifecycle.sweeps.tick\n"
        "print(sorted(n for n in sys.modules if n.split('.')[0] in ('opentelemetry', 'prometheus_client')"
        " or n.startswith('lifecycle.contrib')))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "DJANGO_SETTINGS_MODULE": "tests.settings"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ran.returncode, ran.stdout.strip()) == (0, "[]"), ran.stderr
