"""demo: the whole example with one command, and with ``--check`` its acceptance table."""

from __future__ import annotations

import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from example_project import acceptance, databases, ground, lines, sample
from example_project.children import Child, Teller
from example_project.stack import QUIET, ChildEnded, Stack, is_sqlite, wait_until
from example_project.visitor import Visitor
from lifecycle.models import ParameterOverride
from orders.models import Order

NAME, PASSWORD = "admin", "admin"
COLLEAGUE = "clerk"


class Command(BaseCommand):
    help = (
        "Runs the example: web pages, the sandbox payment provider and a worker. Ctrl-C stops everything. "
        "With --check it drives the acceptance table over HTTP and ends."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="first port to try (8000); 0 for any free one")
        parser.add_argument("--fresh", action="store_true", help="forget the orders of the last demo, and begin anew")
        parser.add_argument("--check", action="store_true", help="drive the acceptance table, then stop")
        parser.add_argument("--worker", choices=["threads", "prefork", "solo"], default="threads", help="Celery's pool")
        parser.add_argument("--no-celery", action="store_true", help="the library's own worker instead of Celery's")

    def handle(self, *args: Any, **options: Any) -> None:
        place = ground.chosen
        if place is None:
            raise CommandError("Start it as `manage.py demo`.")
        demo = Demo(place, options)
        try:
            code = demo.run()
        finally:
            place.leave()
        if code:
            sys.exit(code)


class Demo:
    """One run of the command."""

    def __init__(self, place: ground.Ground, options: dict[str, Any]) -> None:
        self.place = place
        self.check: bool = options["check"]
        self.fresh: bool = options.get("fresh", False)
        self.tell = Teller()
        self.stack = Stack(
            place, self.tell, pool=options["worker"], celery=not options["no_celery"], lines=not self.check
        )
        self.stop = threading.Event()
        self.hurry = threading.Event()
        self.own_database = False
        self.count = ""

    def run(self) -> int:
        """Starts everything, waits, stops everything; returns the exit code."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._asked_to_stop)
        code = 0
        try:
            self._prepare()
            self._start()
            code = self._check_table() if self.check else self._stay()
        except KeyboardInterrupt:
            code = 130 if self.check else 0
        except (ChildEnded, TimeoutError) as error:
            if not self.stop.is_set():
                self.tell("demo", str(error))
                code = 1
        finally:
            self._finish()
        return code

    def _asked_to_stop(self, number: int, frame: Any) -> None:
        if self.stop.is_set():
            self.hurry.set()
            return
        self.stop.set()
        if self.check:
            raise KeyboardInterrupt  # out of whatever request a row is waiting for

    # Starting ------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        for note in self.place.notes:
            self.tell("demo", note)
        if not is_sqlite():
            if self.fresh:
                databases.drop()
            self.own_database = databases.create() and self.place.temporary
        if self.place.redis_port is not None:
            self.start_redis()
        call_command("migrate", verbosity=0, interactive=False)
        users = get_user_model().objects
        if not users.filter(username=NAME).exists():
            users.create_superuser(NAME, "", PASSWORD)
        clerk, is_new = users.get_or_create(username=COLLEAGUE, defaults={"is_staff": True})
        if is_new:
            clerk.set_password(PASSWORD)
            clerk.save()
            permissions = Permission.objects.filter(content_type__app_label="orders")
            # In the check the two are alike; for people who look around, one of them is refused something.
            clerk.user_permissions.set(permissions if self.check else permissions.exclude(codename="refund_order"))

    def _start(self) -> None:
        self.stack.start_web()
        self.stack.start_worker()
        self.stack.start_outbox()
        if not self.check:
            lines.connect(lambda line: self.tell("web", line))
        for line in (
            f"ready: {self.place.url}/",
            f"log in as {NAME} / {PASSWORD}, or as {COLLEAGUE} / {PASSWORD}",
            "Ctrl-C stops; make demo ARGS=--fresh begins anew",
        ):
            self.tell("demo", line)

    # Staying -------------------------------------------------------------------------------------

    def _stay(self) -> int:
        if not Order.objects.exists():
            admin, clerk = (get_user_model().objects.get(username=name) for name in (NAME, COLLEAGUE))
            sample.make(sample.People(admin=admin, clerk=clerk), self.wait)
        connection.close()
        while not self.stop.wait(0.1):
            self.stack.check()
        return 0

    # Checking ------------------------------------------------------------------------------------

    def _check_table(self) -> int:
        self._log_in()
        results = acceptance.run(self._scene, self._skip, self._tell_result)
        failed = sum(bool(result.error) for result in results)
        skipped = sum(bool(result.skipped) for result in results)
        passed = len(results) - failed - skipped
        self.count = (f"{skipped} skipped, " if skipped else "") + f"{passed} passed, {failed} failed"
        return 1 if failed else 0

    def _log_in(self) -> None:
        self.cookies = []
        for name in (NAME, COLLEAGUE):
            visitor = Visitor(self.wait)
            visitor.log_in(name, PASSWORD)
            self.cookies.append(visitor.http.cookies)
            visitor.close()

    @contextmanager
    def _scene(self) -> Iterator[acceptance.Scene]:
        first, second = (Visitor(self.wait, cookies) for cookies in self.cookies)
        try:
            yield acceptance.Scene(first, second, self)
        finally:
            first.close()
            second.close()

    def _skip(self, row: acceptance.Row) -> str:
        if not row.needs_redis or self.place.redis_port:
            return ""
        if is_sqlite():
            return "there is no Redis in this form; LIFECYCLE_STACK=postgres has one"
        return "there is no redis-server on this machine to start and stop"

    def _tell_result(self, result: acceptance.Result) -> None:
        row = result.row
        if result.skipped:
            self.tell("demo", f"skipped  {row.do}: {result.skipped}")
        elif result.error:
            self.tell("demo", f"FAILED   {row.do}: {row.see}")
            for line in result.error.splitlines():
                self.tell("demo", f"         {line}")
        else:
            self.tell("demo", f"ok       {row.do}: {row.see} ({result.seconds:.1f} s)")

    def wait(self, what: str, probe: Any, seconds: float) -> Any:
        """`wait_until`, ended at once by a stop or by the death of a child."""
        return wait_until(what, probe, seconds, stop=self.stop, check=self.stack.check)

    # Powers: what rows ask of the command -------------------------------------------------------------

    @contextmanager
    def payment_window(self, *, seconds: int) -> Iterator[None]:
        """While open, orders expire sooner: the parameter as an operator would change it."""
        from django.utils import timezone

        override = ParameterOverride.objects.create(
            lifecycle="orders", name="payment_window", value=f"PT{seconds}S", updated_at=timezone.now()
        )
        try:
            yield
        finally:
            override.delete()

    def kill_worker(self) -> None:
        self.stack.kill("worker")

    def start_worker(self) -> None:
        self.stack.start_worker()

    def stop_redis(self) -> None:
        self.stack.kill("redis")

    def start_redis(self) -> None:
        folder = Path(self.place.folder, "redis")
        folder.mkdir(exist_ok=True)
        self.stack.children["redis"] = Child(
            "redis", ["example_project.ownredis", str(self.place.redis_port), str(folder)], self.tell, QUIET
        )
        wait_until("Redis answers", self._redis_answers, 10, stop=self.stop)

    def _redis_answers(self) -> bool:
        try:
            socket.create_connection((ground.HOST, self.place.redis_port), 0.5).close()
        except OSError:
            return False
        return True

    # Stopping ------------------------------------------------------------------------------------

    def _finish(self) -> None:
        began = time.monotonic()
        self.stop.set()
        self.stack.stop(self.hurry)
        connection.close()
        if self.own_database:
            databases.drop()
        self.tell("demo", f"stopped in {time.monotonic() - began:.2f} s")
        if self.count:
            self.tell("demo", self.count)
