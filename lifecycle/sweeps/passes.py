"""Pass: one run of a sweep — how much it may do, what it did, and what went wrong without stopping it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from django.db import connections, transaction

from lifecycle import clock
from lifecycle.execution import connecting, isolation

log = logging.getLogger("lifecycle.sweeps")

# How long one sweep may go on starting batches. A pass of all of them stays a small part of an effect's lease.
SECONDS = 2.0


@dataclass(kw_only=True)
class Pass:
    """A sweep counts here while it works.

    ``done`` is what it moved, ``failures`` what it met and left, ``more`` says that it stopped with work in sight.
    """

    using: str
    seconds: float = SECONDS
    done: int = 0
    failures: list[str] = field(default_factory=list)
    more: bool = False
    facts: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._until = clock.monotonic() + self.seconds

    def has_time(self) -> bool:
        """Whether another batch may begin; asked where there is one, so that no means more is left."""
        if clock.monotonic() < self._until:
            return True
        self.more = True
        return False

    @contextmanager
    def contained(self, what: str) -> Iterator[None]:
        """Whatever goes wrong inside is logged and counted, and what follows goes on.

        Inside somebody's transaction (a test's) a savepoint keeps that transaction usable; outside, none is opened.
        """
        nested = connections[self.using].in_atomic_block
        try:
            with transaction.atomic(using=self.using) if nested else nullcontext():
                yield
        except (Exception, SystemExit) as error:
            if isolation.told_to_end(error):
                raise
            log.exception("%s on '%s' failed; the next pass tries again.", what, self.using)
            self.failures.append(f"{what}: {type(error).__name__}: {error}"[:500])
            connecting.discard_after(error)
