"""Tasks: what a Celery worker runs for us — drain a queue, tick — and how it comes to tick by itself."""

from __future__ import annotations

import logging
import mmap
from collections.abc import Iterator
from typing import Any

from celery import bootsteps, shared_task, signals
from django.db import connections

from lifecycle import clock, conf, dispatch
from lifecycle.dispatch import celery as celery_dispatch
from lifecycle.dispatch.celery import DRAIN, EXPIRES, TICK, CeleryDispatcher
from lifecycle.execution import drain as draining
from lifecycle.models import due
from lifecycle.store import aliases, timing
from lifecycle.sweeps import tick as ticking

log = logging.getLogger("lifecycle.tasks")


# What bounds our work stands on the effects and in our own settings; a project's limit for its tasks
# (CELERY_TASK_TIME_LIMIT) would interrupt whichever effect happens to run. Celery takes None and 0 for "as set".
_NO_LIMIT = 10 * 365 * 86_400
_OURS: dict[str, Any] = {
    "ignore_result": True,
    "acks_late": False,
    "max_retries": 0,
    "soft_time_limit": _NO_LIMIT,
    "time_limit": _NO_LIMIT,
}


@shared_task(name=DRAIN, **_OURS)
def drain(queue: str = "default") -> None:
    """Runs what is due in one of our queues, for as long as the settings allow, and wakes the next when more is due.

    The message is acknowledged before the work: what it stands for is in the rows, so nothing is lost with it, and one
    delivered twice would only start a drain that finds nothing.
    """
    started = clock.monotonic()
    woke = _wake_another(queue)
    report = draining.drain(queue, stop=stopping, between=ticking.maybe_tick)
    # One message in, at most one out: the number of drains under way neither grows with a backlog nor shrinks. The one
    # sent at the start may have expired by now, then it does not count.
    if report.more and (not woke or clock.monotonic() - started > EXPIRES * 0.8):
        dispatch.publish(queue)


def _wake_another(queue: str) -> bool:
    """Sends one more message when there is work for two: a wake-up wakes one slot, the first run may take long."""
    for using in aliases.with_our_tables():
        if due.work_for(2, queue, using, timing.in_statement(using) or clock.now()):
            return dispatch.publish(queue)
    return False


@shared_task(name=TICK, **_OURS)
def tick() -> None:
    """The periodic pass; its gate lets only one caller per interval through, so any number may call."""
    ticking.tick()


# A worker ticks by itself -----------------------------------------------------------------------


class TickStep(bootsteps.StartStopStep):
    """Sends ``lifecycle.tick`` at the start and then once per interval, to this worker's own queue or where routes say.

    By message rather than by a call, so that a prefork parent never opens a database connection its children would
    inherit; to a queue this worker consumes, so that the message piles up nowhere.
    """

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def __init__(self, consumer: Any, **kwargs: Any) -> None:
        self.timers: list[Any] = []
        super().__init__(consumer, **kwargs)

    def start(self, consumer: Any) -> None:
        """Called after every (re)connect."""
        self.stop(consumer)
        every = conf.options().tick_every.total_seconds()
        self.timers = [
            # At once: what a crash left behind is found when its successor starts.
            consumer.timer.call_after(0.1, self.send, (consumer,)),
            consumer.timer.call_repeatedly(every, self.send, (consumer,)),
        ]

    def stop(self, consumer: Any) -> None:
        """Called before every reconnect too, so that ticks never double."""
        for timer in self.timers:
            timer.cancel()
        self.timers = []

    def send(self, consumer: Any) -> bool:
        """Publishes one tick; it expires before the next but one."""
        queue = _own_queue(consumer.app)
        if queue is None:
            return False
        if _is_routed(consumer.app, TICK):
            queue = None
        every = conf.options().tick_every.total_seconds()
        return _sender().send(TICK, queue=queue, expires=2 * every, app=consumer.app)


def _is_routed(app: Any, task: str) -> bool:
    """Whether the project's ``task_routes`` say where this task goes."""
    return bool(app.amqp.router.lookup_route(task, (), {}, {}))


def _own_queue(app: Any) -> str | None:
    consumed = list(app.amqp.queues.consume_from)
    usual = app.conf.task_default_queue
    return usual if usual in consumed else next(iter(consumed), None)


_own_sender: list[CeleryDispatcher] = []


def _sender() -> CeleryDispatcher:
    """The process's dispatcher where that is Celery's, so that both know of an outage; otherwise one of our own."""
    configured = dispatch.current()
    if isinstance(configured, CeleryDispatcher):
        return configured
    if not _own_sender:
        _own_sender.append(CeleryDispatcher())
    return _own_sender[0]


@signals.worker_init.connect(weak=False, dispatch_uid="lifecycle.tick")
def add_tick_step(sender: Any = None, **kwargs: Any) -> None:
    """Gives the starting worker its tick; sent after the task modules are imported, before the worker is built."""
    if conf.options().celery_tick:
        sender.app.steps["consumer"].add(TickStep)


@signals.worker_init.connect(weak=False, dispatch_uid="lifecycle.app")
def publish_by_the_workers_own_app(sender: Any = None, **kwargs: Any) -> None:
    """A process may hold several apps; what a worker sends is for workers like itself."""
    celery_dispatch.use(sender.app)


# A worker stops ---------------------------------------------------------------------------------

# Celery's warm shutdown waits for the running tasks, and a drain is one task of many runs. The parent tells its
# children through a byte of shared memory, made before they are forked; threads and solo are one process anyway.
_stop = mmap.mmap(-1, 1)


def stopping() -> bool:
    """Whether the worker was asked to stop: finish the current run, start no other."""
    return _stop[0] != 0


@signals.worker_shutting_down.connect(weak=False, dispatch_uid="lifecycle.stopping")
def _note_stopping(**kwargs: Any) -> None:
    # Called inside a signal handler: nothing but the flag.
    _stop[0] = 1


@signals.worker_init.connect(weak=False, dispatch_uid="lifecycle.starting")
def _note_starting(**kwargs: Any) -> None:
    _stop[0] = 0


# A worker forks ---------------------------------------------------------------------------------


@signals.worker_process_init.connect(weak=False, dispatch_uid="lifecycle.fork")
def forget_inherited_connections(**kwargs: Any) -> None:
    """Lets go of database handles the parent opened, without closing them: they are still the parent's.

    Celery does the same when its Django fix-up is active. The library opens none in the parent; a project's start-up
    code may.
    """
    for connection in _open_connections():
        _inherited.append(connection.connection)
        connection.connection = None


# Kept alive: the finalizer of a handle would say goodbye to the server in the parent's name.
_inherited: list[Any] = []


def _open_connections() -> Iterator[Any]:
    return (connection for connection in connections.all(initialized_only=True) if connection.connection is not None)
