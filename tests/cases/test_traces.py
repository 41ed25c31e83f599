"""A run leaves no trace: what an effect or a hook does to its process and its session, the next run does not meet."""

from __future__ import annotations

import datetime as dt
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from django.db import ProgrammingError, connection, transaction
from django.utils import timezone, translation

from lifecycle import SYSTEM, clock
from lifecycle.execution import follow_ups, isolation
from lifecycle.execution.drain import drain
from lifecycle.models import Run
from lifecycle.runtime import create, fire
from lifecycle.sweeps.tick import tick
from lifecycle.testing import travel
from tests.cases.errands import errand, folders, performed, runs
from tests.cases.misbehaving import behaving
from tests.cases.models.errands import Errand
from tests.cases.models.folders import Folder, Name
from tests.support.models import Parcel

pytestmark = pytest.mark.django_db(transaction=True)


def first(behave: Any) -> Any:
    """Behaves so the first time, and as it should afterwards."""
    calls: list[int] = []

    def once(ctx: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            return behave(ctx)
        Name.objects.create(name=f"n{len(calls)}")
        return None

    return once


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """What a test does to its session no other test meets."""
    yield
    connection.close()


# ---------------------------------------------------------------------------------------------- transactions


def enters_atomic(ctx: Any) -> None:
    transaction.atomic().__enter__()
    Name.objects.create(name="lost")


def begins(ctx: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
    Name.objects.create(name="lost")


def switches_autocommit_off(ctx: Any) -> None:
    transaction.set_autocommit(False)
    Name.objects.create(name="lost")


@pytest.mark.row("G4")
@pytest.mark.parametrize("behave", [enters_atomic, begins, switches_autocommit_off])
def test_a_transaction_that_an_effect_leaves_open_costs_that_run_alone(behave: Any) -> None:
    connection.ensure_connection()
    if connection.vendor == "mysql" and behave is begins and not hasattr(connection.connection, "server_status"):
        pytest.skip("this driver does not know whether a transaction is open")
    folders(3)

    with behaving("effect", first(behave)):
        assert drain().done == 3

    assert not connection.in_atomic_block
    connection.close()
    assert [run.status for run in runs()] == ["failed", "succeeded", "succeeded"]
    assert "TransactionLeftOpen: It left a transaction open on default" in runs()[0].error
    assert sorted(Name.objects.values_list("name", flat=True)) == ["n2", "n3"]


@pytest.mark.row("G4")
def test_an_error_of_the_effects_own_is_told_rather_than_the_transaction_it_left_open() -> None:
    folders(2)

    def fails(ctx: Any) -> None:
        enters_atomic(ctx)
        raise ValueError("the real reason")

    with behaving("effect", first(fails)):
        drain()

    assert "ValueError: the real reason" in runs()[0].error
    assert runs()[1].status == "succeeded"


@pytest.mark.row("G4")
def test_a_transaction_that_an_atomic_effect_leaves_open_is_rolled_back_with_its_own() -> None:
    parcel = create(Parcel(status="packed"), actor=SYSTEM)
    fire(parcel, "send", actor=SYSTEM)
    drain()
    fire(parcel, "scan", actor=SYSTEM)

    with _interfering(enters_atomic):
        drain()

    assert "TransactionLeftOpen" in runs()[-1].error
    assert not Name.objects.exists()
    assert not connection.in_atomic_block


@pytest.mark.row("G4")
def test_an_atomic_effect_that_leaves_a_block_open_takes_all_of_it_back() -> None:
    run = performed(errand("again"), enters_atomic)

    assert (run.status, run.attempts) == ("queued", 1)
    assert "left a transaction open" in run.error
    assert not Name.objects.exists()


@pytest.mark.row("G4")
def test_a_hook_of_a_follow_up_that_leaves_a_transaction_open_makes_it_wait() -> None:
    folders(2)

    with behaving("hook of a follow-up", first(enters_atomic)):
        drain()

    assert [(run.status, run.follow_up) for run in runs()] == [("succeeded", "pending"), ("succeeded", "applied")]
    assert "transaction" in runs()[0].follow_up_error
    assert list(Name.objects.values_list("name", flat=True)) == ["n2"]


@contextmanager
def _interfering(behave: Any) -> Iterator[None]:
    from lifecycle.execution import interference

    interference.before = lambda definition, effect, ctx: behave(ctx)
    try:
        yield
    finally:
        interference.before = None


# ---------------------------------------------------------------------------------------------- the process


def lives_elsewhere(ctx: Any) -> None:
    timezone.activate(dt.timezone(dt.timedelta(hours=14)))
    translation.activate("de")
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})


def process() -> list[Any]:
    return [
        timezone.get_current_timezone(),
        translation.get_language(),
        signal.getsignal(signal.SIGTERM),
        signal.pthread_sigmask(signal.SIG_BLOCK, ()),
    ]


@pytest.mark.row("G5", "M9")
@pytest.mark.parametrize("place", ["effect", "hook of a follow-up"])
def test_time_zone_language_and_signals_are_as_before_for_the_next_run(place: str) -> None:
    folders(2)
    before, met = process(), []

    def behave(ctx: Any) -> None:
        met.append(process())
        lives_elsewhere(ctx)

    with behaving(place, behave):
        drain()

    assert met == [before, before]
    assert process() == before


@pytest.mark.row("G5")
def test_a_sweep_works_in_the_projects_time_zone_whatever_was_activated_before() -> None:
    seen = []
    errand()
    folder = create(Folder(slug="a"), actor=SYSTEM)
    fire(folder, "take", actor=SYSTEM)

    with (
        timezone.override("Asia/Tokyo"),
        travel(hours=2),
        behaving("guard", lambda ctx: seen.append(timezone.get_current_timezone_name())),
    ):
        tick(force=True)
        assert timezone.get_current_timezone_name() == "Asia/Tokyo"

    assert seen == ["UTC"]


@pytest.mark.row("G5")
def test_a_deadline_by_a_plain_date_falls_on_the_day_of_the_settings_zone() -> None:
    from lifecycle.models import due
    from tests.support.lifecycles import TicketLifecycle

    definition = TicketLifecycle.definition
    deadline = next(iter(definition.deadlines.values()))
    now = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
    with timezone.override(dt.timezone(dt.timedelta(hours=14))):
        rows = due.deadlines(definition, deadline, "open", now=now, using="default")

    assert "2026-03-02" not in str(rows.query)


# ---------------------------------------------------------------------------------------------- sessions


def sets(text: str) -> Any:
    def behave(ctx: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute(text)

    return behave


@pytest.mark.postgres
@pytest.mark.row("M3", "G7")
@pytest.mark.parametrize(
    "text",
    [
        "set search_path to nowhere",
        "set default_transaction_read_only = on",
        "SELECT set_config('search_path', 'nowhere', false)",
        "CREATE TEMP TABLE lifecycle_run (id int)",
    ],
)
@pytest.mark.parametrize("place", ["effect", "hook of a follow-up"])
def test_what_an_effect_sets_for_its_session_no_other_run_meets(
    place: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders(2)
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", None)

    with behaving(place, first(sets(text))):
        drain()
        follow_ups.apply(runs()[0].pk, "default")

    assert [run.status for run in runs()] == ["succeeded", "succeeded"]
    assert {run.follow_up for run in runs()} <= {"applied", "pending"}
    assert runs()[1].follow_up == "applied"
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('search_path'), current_setting('default_transaction_read_only')")
        assert "nowhere" not in cursor.fetchone()[0]


def changes_session(ctx: Any) -> None:
    statement = {
        "postgresql": "SET search_path TO nowhere",
        "mysql": "SET SESSION sql_mode = 'ANSI_QUOTES'",
        "sqlite": "PRAGMA query_only = 1",
    }[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.mark.row("M3")
def test_a_session_that_an_effect_changed_is_gone_before_the_next_statement() -> None:
    run = performed(errand(), changes_session)

    assert (run.status, run.follow_up, Errand.objects.get().status) == ("succeeded", "applied", "done")


@pytest.mark.postgres
@pytest.mark.row("G7", "M3")
@pytest.mark.parametrize("text", ["SET default_transaction_read_only = on", "SET search_path TO nowhere"])
def test_a_connection_that_is_no_good_any_more_is_let_go_of(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failover it is read-only; it answers, while a new one would reach the new server."""
    folders(2)
    with connection.cursor() as cursor:
        cursor.execute(text)

    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", None)
    for _ in range(2):
        with suppress(ProgrammingError):  # the worker's round logs it and goes on
            drain()

    assert [run.status for run in runs()] == ["succeeded", "succeeded"]


@pytest.mark.row("M3", "G7")
@pytest.mark.postgres
@pytest.mark.parametrize("setting", ["search_path = nowhere", "default_transaction_read_only = on"])
def test_a_session_that_is_no_good_is_thrown_away_by_the_workers_own_statements(setting: str) -> None:
    """As after a failover, or changed past Django."""
    run = errand()

    def behind_our_back(ctx: Any) -> None:
        connection.connection.execute(f"SET {setting}")

    run = performed(run, behind_our_back)
    assert (run.status, run.follow_up) == ("succeeded", "applied")

    connection.ensure_connection()
    connection.connection.execute(f"SET {setting}")
    fresh = errand_on_another_connection()
    with suppress(ProgrammingError):  # said once; the next round has another session
        drain(seconds=10)
    drain(seconds=10)
    fresh.refresh_from_db()
    assert fresh.status == "succeeded"


def errand_on_another_connection() -> Run:
    import threading

    made: list[Run] = []

    def make() -> None:
        record = create(Errand(), actor=SYSTEM)
        fire(record, "go", actor=SYSTEM)
        made.append(Run.objects.latest("id"))
        connection.close()

    thread = threading.Thread(target=make)
    thread.start()
    thread.join(10)
    return made[0]


def test_to_look_for_traces_costs_no_statement_and_little_time(django_assert_num_queries: Any) -> None:
    began = clock.monotonic()
    with django_assert_num_queries(0):
        for _ in range(1000):
            with isolation.call():
                pass
    assert clock.monotonic() - began < 1.0
