"""What a running system writes into its log: one line per thing somebody may have to know."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from lifecycle import SYSTEM, Actor, logs, registry, signals
from lifecycle.definition.compiled import Guard
from lifecycle.exceptions import GuardRefused, PermissionRefused, WrongState
from lifecycle.execution.drain import drain
from lifecycle.models import FollowUp, Run
from lifecycle.runtime import create, fire, fire_many, register_guard
from lifecycle.sweeps.tick import tick
from tests.execution.rows import claim, expire, queue_run
from tests.support.models import Parcel, Ticket

pytestmark = pytest.mark.django_db


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level("INFO", logger="lifecycle")
    return caplog


def of(lines: pytest.LogCaptureFixture, name: str) -> list[tuple[str, str]]:
    return [(record.levelname, record.getMessage()) for record in lines.records if record.name == name]


class TestRefusals:
    def test_a_refused_transition_is_one_line_of_information(self, lines: pytest.LogCaptureFixture) -> None:
        ticket = create(Ticket(priority=9), actor=SYSTEM)

        with pytest.raises(GuardRefused):
            fire(ticket, "solve", actor=Actor("bot"), input={"answer": "x"})

        said = f"tickets/{ticket.pk}: 'solve' by machine bot is refused (not_urgent): "
        said += "Urgent tickets are solved by phone."
        assert of(lines, "lifecycle.transitions") == [("INFO", said)]
        [record] = [record for record in lines.records if record.name == "lifecycle.transitions"]
        assert record.lifecycle == {  # type: ignore[attr-defined]
            "name": "tickets",
            "record_id": str(ticket.pk),
            "transition": "solve",
            "actor": ["machine", "bot"],
            "code": "not_urgent",
        }

    def test_wrong_states_missing_permissions_and_forbidden_endpoints_are_refusals_too(
        self, lines: pytest.LogCaptureFixture
    ) -> None:
        ticket, person = create(Ticket(), actor=SYSTEM), User.objects.create_user("mia")
        with pytest.raises(WrongState):
            fire(ticket, "reopen", actor=SYSTEM)
        with pytest.raises(PermissionRefused):
            fire(ticket, "escalate", actor=person)
        with pytest.raises(PermissionRefused):
            fire(ticket, "reply", actor=person, manual=True)

        assert [line.split(" is refused ")[0] for _, line in of(lines, "lifecycle.transitions")] == [
            f"tickets/{ticket.pk}: 'reopen' by system system",
            f"tickets/{ticket.pk}: 'escalate' by user {person.pk}",
            f"tickets/{ticket.pk}: 'reply' by user {person.pk}",
        ]

    def test_each_refused_record_of_a_batch_is_a_line(self, lines: pytest.LogCaptureFixture) -> None:
        fine, refused = create(Ticket(), actor=SYSTEM), create(Ticket(title="x"), actor=SYSTEM)
        fire(refused, "ask", actor=SYSTEM)
        lines.clear()

        fire_many([fine, refused], "ask", actor=SYSTEM)

        [(level, line)] = of(lines, "lifecycle.transitions")
        assert (level, line.partition(":")[0]) == ("INFO", f"tickets/{refused.pk}")

    def test_a_refusal_inside_a_hook_is_told_once_where_it_was_fired(self, lines: pytest.LogCaptureFixture) -> None:
        other = create(Parcel(), actor=SYSTEM)
        ticket = create(Ticket(), actor=SYSTEM)
        unregister = register_guard("tickets", "touch", lambda ctx: bool(fire(other, "scan", actor=SYSTEM)))
        try:
            with pytest.raises(WrongState):
                fire(ticket, "touch", actor=SYSTEM)
        finally:
            unregister()

        [(_, line)] = of(lines, "lifecycle.transitions")
        assert line.startswith(f"parcels/{other.pk}: 'scan'")

    def test_a_refused_creation_is_a_line_too(
        self, lines: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        closed = Guard(name="is_open", ask=lambda ctx: False, code="support_closed", message="The office is closed.")
        definition = replace(registry.get("tickets"), create_guards=(closed,))
        monkeypatch.setattr(registry, "_definitions", {**registry._definitions, "tickets": definition})

        with pytest.raises(GuardRefused):
            create(Ticket(), actor=SYSTEM)

        said = "tickets/new: '$create' by system system is refused (support_closed): The office is closed."
        assert of(lines, "lifecycle.transitions") == [("INFO", said)]

    def test_what_succeeds_is_no_line(self, lines: pytest.LogCaptureFixture) -> None:
        fire(create(Ticket(), actor=SYSTEM), "ask", actor=SYSTEM)
        assert of(lines, "lifecycle.transitions") == []

    def test_a_listener_that_fails_disturbs_neither_the_caller_nor_the_transaction(
        self, lines: pytest.LogCaptureFixture
    ) -> None:
        def broken(**kwargs: Any) -> None:
            raise RuntimeError("broken listener")

        ticket = create(Ticket(), actor=SYSTEM)
        signals.transition_refused.connect(broken)
        try:
            with transaction.atomic(), pytest.raises(WrongState):
                fire(ticket, "reopen", actor=SYSTEM)
            fire(ticket, "ask", actor=SYSTEM)
        finally:
            signals.transition_refused.disconnect(broken)

        assert [level for level, _ in of(lines, "lifecycle.signals")] == ["ERROR"]

    def test_nothing_is_asked_when_nobody_listens(self, monkeypatch: pytest.MonkeyPatch) -> None:
        sent: list[Any] = []
        monkeypatch.setattr(signals.transition_refused, "receivers", [])
        signals.transition_refused.sender_receivers_cache.clear()
        monkeypatch.setattr(signals.transition_refused, "send_robust", lambda **facts: sent.append(facts) or [])
        try:
            with pytest.raises(WrongState):
                fire(create(Ticket(), actor=SYSTEM), "reopen", actor=SYSTEM)
        finally:
            monkeypatch.undo()
            signals.transition_refused.sender_receivers_cache.clear()
        assert sent == []


@pytest.mark.django_db(transaction=True)
class TestFollowUps:
    @pytest.fixture
    def answers(self) -> Iterator[list[Any]]:
        answers: list[Any] = ["Not yet."]

        def ask(ctx: Any) -> Any:
            if isinstance(answers[0], Exception):
                raise answers[0]
            return answers[0]

        unregister = register_guard("parcels", "labelled", ask)
        yield answers
        unregister()

    def test_one_that_waits_is_a_warning_and_one_given_up_an_error(
        self, lines: pytest.LogCaptureFixture, answers: list[Any]
    ) -> None:
        parcel = create(Parcel(), actor=SYSTEM)
        fire(parcel, "send", actor=SYSTEM)
        drain()
        run = Run.objects.get()
        assert of(lines, "lifecycle.follow_ups") == [
            (
                "WARNING",
                f"parcels/{parcel.pk}: the follow-up 'labelled' of run {run.pk} waits (try 1): GuardRefused: Not yet.",
            )
        ]
        Run.objects.update(follow_up_tries=9, follow_up_due_at=run.created_at)
        lines.clear()

        tick(force=True)

        assert Run.objects.get().follow_up == FollowUp.ABANDONED
        [(level, line)] = of(lines, "lifecycle.follow_ups")
        assert level == "ERROR"
        assert "is abandoned (try 10): GuardRefused: Not yet." in line

    def test_an_exception_is_an_error_with_its_frames(
        self, lines: pytest.LogCaptureFixture, answers: list[Any]
    ) -> None:
        answers[0] = ZeroDivisionError("a bug")
        fire(create(Parcel(), actor=SYSTEM), "send", actor=SYSTEM)
        drain()

        [record] = [record for record in lines.records if record.name == "lifecycle.follow_ups"]
        assert record.levelno == logging.ERROR
        assert record.exc_info is not None


def test_a_dead_run_is_an_error(lines: pytest.LogCaptureFixture, django_capture_on_commit_callbacks: Any) -> None:
    run = queue_run(max_crashes=1)
    expire(claim())

    with django_capture_on_commit_callbacks(execute=True):
        tick(force=True)

    [(level, line)] = of(lines, "lifecycle.runs")
    assert level == "ERROR"
    assert line.startswith(f"parcels/none: run {run.pk} of 'refund_postage' is dead (workers lost: 1): The worker")


def test_listening_twice_writes_no_line_twice(lines: pytest.LogCaptureFixture) -> None:
    logs.connect()
    with pytest.raises(WrongState):
        fire(create(Ticket(), actor=SYSTEM), "reopen", actor=SYSTEM)
    assert len(of(lines, "lifecycle.transitions")) == 1
