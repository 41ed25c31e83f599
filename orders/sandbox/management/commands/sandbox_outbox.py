"""sandbox_outbox: delivers the provider's events until it is stopped."""

from __future__ import annotations

import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand

from orders.sandbox import outbox


class Command(BaseCommand):
    help = (
        "Delivers the sandbox provider's events to the shop, again and again until each is answered. "
        "`manage.py demo` does so by itself."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        self.stdout.write("Delivering events. Ctrl-C stops.")
        outbox.run(stop)
