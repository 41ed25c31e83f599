"""CeleryDispatcher: wakes a Celery worker, in bounded time whatever state the broker is in."""

from __future__ import annotations

import logging
import os
import weakref
from collections import deque
from dataclasses import dataclass
from typing import Any, cast

from celery import Celery, current_app

from lifecycle import conf
from lifecycle.dispatch.breaker import Breaker

log = logging.getLogger("lifecycle.dispatch")

DRAIN = "lifecycle.drain"
TICK = "lifecycle.tick"

# After so many seconds a wake-up says nothing new: whoever was to be woken has ticked by then.
EXPIRES = 60
# How many idle connections a process keeps; more are made when more threads publish at once, and closed afterwards.
IDLE = 4


@dataclass(frozen=True)
class Line:
    """An open connection with its producer, and the app it was made for."""

    app: Celery
    connection: Any
    producer: Any

    def hang_up(self) -> None:
        """Lets go of the socket without the closing talk that a silent broker would draw out."""
        try:
            self.connection.collect()
        except Exception:
            log.debug("A broken broker connection could not be closed.", exc_info=True)


class CeleryDispatcher:
    """Publishes ``lifecycle.drain(queue)`` through the worker's own app, or Celery's current one outside of workers.

    Connections are this class's own: Celery's pool retries without an end before it even counts a retry, and its socket
    options belong to the project. Here nothing is tried twice and no socket waits longer than ``publish_timeout``;
    before that stands a breaker, so that an outage costs one caller per period.
    """

    def __init__(self) -> None:
        options = conf.options()
        self.queues = options.queues
        self.timeout = options.publish_timeout
        self.breaker = Breaker(options.breaker_maximum)
        # Last in, first out: the connection used last is the one least likely to have been closed by somebody between.
        # Not one per thread: threaded servers make a thread per request.
        self.idle: deque[Line] = deque()
        _dispatchers.add(self)

    def publish(self, queue: str) -> bool:
        """Wakes a worker for one of our queues, over the Celery queue the settings map it to."""
        return self.send(DRAIN, (queue,), queue=self.queues.get(queue))

    def send(
        self,
        task: str,
        args: tuple[Any, ...] = (),
        *,
        queue: Any = None,
        expires: float = EXPIRES,
        app: Celery | None = None,
    ) -> bool:
        """Publishes a task by its name; False when the broker is away, the breaker open or Celery in eager mode.

        ``app`` is the app to publish with, where the caller knows it (default: the worker's own, else the current one).
        """
        permit = self.breaker.permit()
        if permit is None:
            return False
        try:
            sent = self._send(app or its_app(), task, args, queue, expires)
        except Exception as error:  # noqa: BLE001 a publish never raises
            # Everything: a receiver of Celery's own signals, a wrong URL or a lost host must not reach a caller whose
            # transaction is committed. The runs are in the rows; the tick wakes somebody when it can.
            if self.breaker.failed(permit):
                log.warning(
                    "The broker cannot be reached; pending effects wait for a worker's tick or a lifecycle_worker. "
                    "Tried again after growing pauses of at most %s s. %s: %s",
                    self.breaker.maximum,
                    type(error).__name__,
                    error,
                )
            return False
        if self.breaker.succeeded():
            log.info("The broker can be reached again.")
        return sent

    def _send(self, app: Celery, task: str, args: tuple[Any, ...], queue: Any, expires: float) -> bool:
        if app.conf.task_always_eager:
            # send_task would ignore the setting and publish; drains in eager tests are started by the test kit.
            return False
        line = self._line(app)
        try:
            app.send_task(
                task,
                args,
                producer=line.producer,
                retry=False,
                ignore_result=True,  # otherwise a result backend may be asked, in its own unbounded time
                add_to_parent=False,
                expires=expires,
                **({} if queue is None else {"queue": queue}),
            )
        except BaseException:
            line.hang_up()
            raise
        if len(self.idle) < IDLE:
            self.idle.append(line)
        else:
            line.hang_up()
        return True

    def complaint(self) -> str | None:
        """Why the broker cannot be reached, or None; asked over a connection of its own, past the breaker.

        The address is said without its password.
        """
        app = its_app()
        if app.conf.task_always_eager:
            return None
        line = None
        try:
            line = self._dial(app)
            # Not connect(): that one pauses for seconds of its own; the channel's connect obeys the bounds.
            line.connection.default_channel.close()
        except Exception as error:  # noqa: BLE001 a broker's client may raise anything
            where = line.connection.as_uri() if line is not None else "the broker"
            return f"{where}: {type(error).__name__}: {error}"
        finally:
            if line is not None:
                line.hang_up()
        return None

    def _line(self, app: Celery) -> Line:
        while True:
            try:
                line = self.idle.pop()
            except IndexError:
                return self._dial(app)
            if line.app is app:
                return line
            line.hang_up()

    def _dial(self, app: Celery) -> Line:
        connection = app.connection_for_write(connect_timeout=self.timeout)
        connection.transport_options = {**(connection.transport_options or {}), **self._bounds(connection)}
        return Line(app, connection, app.amqp.Producer(connection, auto_declare=False))

    def _bounds(self, connection: Any) -> dict[str, Any]:
        """Transport options that bound a publish; for these connections alone, over the project's own.

        ``retry=False`` governs the publish only: the connect before it reads its retries from these options, and
        without them waits 2, 4, … seconds in between, for ever.
        """
        seconds = self.timeout
        bounds: dict[str, Any] = {
            "max_retries": max(len(connection.alt) - 1, 0),  # each address of a list once
            "interval_start": 0,
            "interval_step": 0,
            "interval_max": 0,
            "connect_retries_timeout": seconds,
        }
        kind = connection.get_transport_cls().driver_type
        if kind == "redis":
            bounds |= {"socket_connect_timeout": seconds, "socket_timeout": seconds, "retry_on_timeout": False}
        elif kind == "amqp":
            bounds |= {"read_timeout": seconds, "write_timeout": seconds}
        return bounds

    def forget_parent(self) -> None:
        """After a fork: the sockets belong to the parent, and the breaker's lock may be held by nobody alive."""
        self.idle = deque()
        self.breaker.reset()


_workers_app: list[Celery] = []


def use(app: Celery) -> None:
    """In a worker: what is published from here on goes through its own app, whichever was made last in this process."""
    _workers_app[:] = [app]


def its_app() -> Celery:
    """The worker's own app in a worker, Celery's current one elsewhere."""
    return _workers_app[0] if _workers_app else cast(Celery, cast(Any, current_app)._get_current_object())


_dispatchers: weakref.WeakSet[CeleryDispatcher] = weakref.WeakSet()


def _after_fork() -> None:
    for dispatcher in list(_dispatchers):
        dispatcher.forget_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
