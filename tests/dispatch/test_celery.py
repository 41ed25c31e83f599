"""The Celery dispatcher: what it sends, what it never does to its caller, what it keeps."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery
from celery.contrib.testing.app import setup_default_app
from django.test import override_settings

from lifecycle import dispatch, tasks
from lifecycle.dispatch import celery as celery_dispatch
from lifecycle.dispatch.celery import CeleryDispatcher
from lifecycle.dispatch.none import NoDispatcher
from lifecycle.exceptions import InvalidSettings


def an_app(broker: str, **settings: Any) -> Iterator[Celery]:
    app = Celery("dispatching", broker=broker, set_as_current=False, fixups=[])
    app.conf.update(settings)
    with setup_default_app(app):
        app.set_default()
        app.set_current()
        yield app


@pytest.fixture
def app() -> Iterator[Celery]:
    """An app whose messages stay in this process."""
    from kombu.transport.memory import Channel

    Channel.queues.clear()
    yield from an_app("memory://")
    Channel.queues.clear()


@pytest.fixture
def refusing_app() -> Iterator[Celery]:
    """An app whose broker's port nobody listens at."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield from an_app(f"redis://127.0.0.1:{taken.getsockname()[1]}/0")


def messages(app: Celery, queue: str) -> list[Any]:
    with app.connection_for_read() as connection:
        simple = connection.SimpleQueue(queue)
        found = []
        while simple.qsize():
            message = simple.get(block=False)
            found.append(message)
            message.ack()
        simple.close()
        return found


class TestMessage:
    def test_it_says_only_which_queue_to_look_at_and_soon_expires(self, app: Celery) -> None:
        """celery/celery #3501, #2599, celery/kombu #337: no message carries a time."""
        assert CeleryDispatcher().publish("mail") is True
        [message] = messages(app, "celery")
        assert message.headers["task"] == "lifecycle.drain"
        assert message.payload[0] == ["mail"]
        assert message.headers["ignore_result"] is True
        assert message.headers["eta"] is None
        assert message.properties["expiration"] == "60000"

    def test_our_queues_are_mapped_to_celerys_by_the_settings(self, app: Celery) -> None:
        with override_settings(LIFECYCLE={"QUEUES": {"mail": "slow"}}):
            dispatcher = CeleryDispatcher()
            dispatcher.publish("mail")
            dispatcher.publish("default")
        assert [message.payload[0] for message in messages(app, "slow")] == [["mail"]]
        assert [message.payload[0] for message in messages(app, "celery")] == [["default"]]

    def test_nothing_is_published_in_eager_mode(self, app: Celery) -> None:
        app.conf.task_always_eager = True
        assert CeleryDispatcher().publish("default") is False
        assert messages(app, "celery") == []

    def test_the_task_names_are_those_that_a_worker_knows(self, app: Celery) -> None:
        assert {"lifecycle.drain", "lifecycle.tick"} <= set(app.tasks)
        assert tasks.drain.acks_late is False
        assert tasks.drain.ignore_result is True


class TestOutage:
    def test_a_refused_broker_raises_nothing_costs_nothing_and_is_announced_once(
        self, refusing_app: Celery, caplog: pytest.LogCaptureFixture
    ) -> None:
        dispatcher = CeleryDispatcher()
        started = time.perf_counter()
        assert [dispatcher.publish("default") for _ in range(50)] == [False] * 50
        assert time.perf_counter() - started < 2
        assert [record.levelname for record in caplog.records if record.name == "lifecycle.dispatch"] == ["WARNING"]
        assert len(dispatcher.idle) == 0

    def test_when_it_works_again_that_is_announced_once_too(
        self, app: Celery, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level("INFO", logger="lifecycle.dispatch")
        dispatcher = CeleryDispatcher()
        permit = dispatcher.breaker.permit()
        assert permit is not None
        dispatcher.breaker.failed(permit)
        assert dispatcher.publish("default") is False
        dispatcher.breaker._closed_until = 0.0
        assert [dispatcher.publish("default") for _ in range(3)] == [True] * 3
        assert [record.getMessage() for record in caplog.records if record.name == "lifecycle.dispatch"] == [
            "The broker can be reached again."
        ]

    def test_a_receiver_of_celerys_signals_that_fails_does_not_reach_the_caller(self, app: Celery) -> None:
        from celery import signals

        def broken(**kwargs: Any) -> None:
            raise ZeroDivisionError

        signals.before_task_publish.connect(broken)
        try:
            assert CeleryDispatcher().publish("default") in (True, False)
        finally:
            signals.before_task_publish.disconnect(broken)

    def test_a_url_that_names_no_transport_is_an_outage_like_any_other(self) -> None:
        for app in an_app("nonsense://somewhere"):
            assert app is not None
            assert CeleryDispatcher().publish("default") is False


class TestConnections:
    def test_one_is_kept_and_used_again(self, app: Celery) -> None:
        dispatcher = CeleryDispatcher()
        dispatcher.publish("default")
        [line] = dispatcher.idle
        dispatcher.publish("default")
        assert list(dispatcher.idle) == [line]

    def test_many_threads_get_their_own_and_few_are_kept(self, app: Celery) -> None:
        dispatcher = CeleryDispatcher()
        start, sent = threading.Barrier(8), []

        def go() -> None:
            app.set_current()
            start.wait(10)
            sent.append(dispatcher.publish("default"))

        threads = [threading.Thread(target=go) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert sent == [True] * 8
        assert 1 <= len(dispatcher.idle) <= 4
        assert len(messages(app, "celery")) == 8

    def test_those_of_another_app_are_not_used(self, app: Celery) -> None:
        dispatcher = CeleryDispatcher()
        dispatcher.publish("default")
        for other in an_app("memory://"):
            dispatcher.publish("default")
            assert [line.app for line in dispatcher.idle] == [other]

    @pytest.mark.parametrize(
        ("url", "expected"),
        [
            ("redis://localhost/0", {"socket_timeout": 0.5, "socket_connect_timeout": 0.5, "max_retries": 0}),
            ("amqp://localhost//", {"read_timeout": 0.5, "write_timeout": 0.5, "max_retries": 0}),
            ("memory://", {"max_retries": 0}),
            ("redis://one/0;redis://two/0", {"max_retries": 1}),
        ],
    )
    def test_every_transport_is_bounded_in_its_own_words_and_the_projects_options_stay(
        self, url: str, expected: dict[str, Any]
    ) -> None:
        for app in an_app(url, broker_transport_options={"visibility_timeout": 77}):
            line = CeleryDispatcher()._dial(app)
            options = line.connection.transport_options
            assert expected.items() <= options.items()
            assert options["visibility_timeout"] == 77
            assert app.conf.broker_transport_options == {"visibility_timeout": 77}
            assert line.connection.connect_timeout == 0.5

    @pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # fork beside pytest's own threads
    def test_a_forked_child_keeps_none_of_its_parents(self, app: Celery) -> None:
        dispatcher = CeleryDispatcher()
        dispatcher.publish("default")
        dispatcher.breaker._lock.acquire()  # another thread of the parent is in the middle of something
        child = os.fork()
        if child == 0:
            clean = len(dispatcher.idle) == 0 and dispatcher.breaker.permit() is not None
            os._exit(0 if clean else 1)
        dispatcher.breaker._lock.release()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert len(dispatcher.idle) == 1


class TestCurrent:
    def test_it_is_built_once_from_the_settings_and_anew_when_they_change(self) -> None:
        with override_settings(LIFECYCLE={"DISPATCHER": "lifecycle.dispatch.celery.CeleryDispatcher"}):
            first = dispatch.current()
            assert isinstance(first, CeleryDispatcher)
            assert dispatch.current() is first
        with override_settings(LIFECYCLE={"DISPATCHER": "lifecycle.dispatch.none.NoDispatcher"}):
            assert isinstance(dispatch.current(), NoDispatcher)
            assert dispatch.publish("default") is False

    @pytest.mark.parametrize(
        ("path", "sentence"),
        [
            ("lifecycle.dispatch.nowhere.Dispatcher", "cannot import 'lifecycle.dispatch.nowhere.Dispatcher'"),
            ("lifecycle.dispatch.breaker.threading", "is no class with publish"),
            ("datetime.date", "is no class with publish"),
            ("datetime.datetime.now", "cannot import"),
        ],
    )
    def test_a_dispatcher_that_is_none_is_refused_by_name(self, path: str, sentence: str) -> None:
        with override_settings(LIFECYCLE={"DISPATCHER": path}), pytest.raises(InvalidSettings, match=sentence):
            dispatch.current()


class Consumer:
    """As much of a Celery consumer as the step asks for."""

    def __init__(self, app: Celery) -> None:
        self.app = app
        self.timer = self
        self.calls: list[tuple[str, float]] = []
        self.cancelled = 0

    def call_after(self, seconds: float, call: Any, args: Any) -> Consumer:
        self.calls.append(("after", seconds))
        return self

    def call_repeatedly(self, seconds: float, call: Any, args: Any) -> Consumer:
        self.calls.append(("every", seconds))
        return self

    def cancel(self) -> None:
        self.cancelled += 1


class TestTickStep:
    def test_a_worker_that_starts_gets_the_step_unless_the_settings_say_no(self, app: Celery) -> None:
        class Worker:
            pass

        worker = Worker()
        worker.app = app  # type: ignore[attr-defined]
        with override_settings(LIFECYCLE={"CELERY_TICK": False}):
            tasks.add_tick_step(sender=worker)
            assert tasks.TickStep not in app.steps["consumer"]
        tasks.add_tick_step(sender=worker)
        assert tasks.TickStep in app.steps["consumer"]

    def test_it_ticks_at_once_and_then_once_per_interval_and_a_reconnect_does_not_double_it(self, app: Celery) -> None:
        """Borderless360/django-logic #203."""
        consumer = Consumer(app)
        step = tasks.TickStep(consumer)
        step.start(consumer)
        assert consumer.calls == [("after", 0.1), ("every", 5.0)]
        step.start(consumer)
        assert consumer.cancelled == 2
        step.stop(consumer)
        assert consumer.cancelled == 4

    def test_the_tick_goes_to_a_queue_that_this_worker_consumes(self, app: Celery) -> None:
        app.amqp.queues.select(["reports"])
        assert tasks.TickStep(Consumer(app)).send(Consumer(app)) is True
        [message] = messages(app, "reports")
        assert message.headers["task"] == "lifecycle.tick"
        assert message.properties["expiration"] == "10000"
        assert messages(app, "celery") == []


class SeveralApps:
    """Two apps in one process, the other one current; collected as a case."""

    @pytest.fixture
    def workers_own(self, app: Celery) -> Iterator[Celery]:
        own = Celery("own", broker="memory://", set_as_current=False, fixups=[])
        own.conf.update(task_routes={"lifecycle.*": {"queue": "ours"}})
        yield own
        celery_dispatch._workers_app.clear()

    def test_a_worker_ticks_by_its_own_app_and_where_its_routes_say(self, app: Celery, workers_own: Celery) -> None:
        assert tasks.TickStep(Consumer(workers_own)).send(Consumer(workers_own)) is True

        assert [message.headers["task"] for message in messages(workers_own, "ours")] == ["lifecycle.tick"]
        assert messages(app, "celery") == []

    def test_what_a_worker_publishes_goes_through_its_own_app(self, app: Celery, workers_own: Celery) -> None:
        class Worker:
            app = workers_own

        assert CeleryDispatcher().publish("default")
        tasks.publish_by_the_workers_own_app(sender=Worker())
        assert CeleryDispatcher().publish("default")

        assert len(messages(app, "celery")) == 1
        assert [message.headers["task"] for message in messages(workers_own, "ours")] == ["lifecycle.drain"]


class TestStopping:
    @pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
    def test_children_forked_from_the_worker_hear_that_it_stops(self) -> None:
        ready, go = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            os.write(ready[1], b"x")
            os.read(go[0], 1)
            os._exit(0 if tasks.stopping() else 1)
        try:
            os.read(ready[0], 1)
            assert not tasks.stopping()
            tasks._note_stopping()
            os.write(go[1], b"x")
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        finally:
            tasks._note_starting()
            for end in (*ready, *go):
                os.close(end)
