"""lifecycle_prune: deletes finished runs now, all that are old enough."""

from __future__ import annotations

import datetime as dt
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand

from lifecycle.store import aliases
from lifecycle.store.pruning import Retention
from lifecycle.sweeps import retention
from lifecycle.sweeps.passes import Pass


class Command(BaseCommand):
    help = (
        "Delete finished effect runs that are old enough, in small batches. The tick does the same a little at a time; "
        "this command goes on until nothing old is left. History entries, unfinished runs and runs with a waiting or "
        "abandoned follow-up are never deleted."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        keep = retention.configured()
        parser.add_argument(
            "--succeeded-days", type=_days, default=keep.succeeded, metavar="N",
            help=f"Keep succeeded and cancelled runs for N days (settings: {_shown(keep.succeeded)}).",
        )  # fmt: skip
        parser.add_argument(
            "--failed-days", type=_days, default=keep.failed, metavar="N",
            help=f"Keep failed and dead runs for N days (settings: {_shown(keep.failed)}).",
        )  # fmt: skip
        parser.add_argument("--using", metavar="ALIAS", help="Only this database. Default: all that hold our tables.")
        parser.add_argument("--dry-run", action="store_true", help="Say how many would be deleted; delete none.")

    def handle(self, *args: Any, **options: Any) -> None:
        kept = Retention(succeeded=options["succeeded_days"], failed=options["failed_days"])
        for using in [options["using"]] if options["using"] else aliases.with_our_tables():
            turn = Pass(using=using, seconds=float("inf"))
            retention.run_once(turn, retention=kept, delete=not options["dry_run"])
            self.stdout.write(f"{using}: {turn.done} {'would be deleted' if options['dry_run'] else 'deleted'}")


def _days(text: str) -> dt.timedelta:
    try:
        days = float(text)
        if days < 0:
            raise ValueError
        return dt.timedelta(days=days)
    except (ValueError, OverflowError):
        raise ArgumentTypeError(f"expected a number of days, got {text!r}") from None


def _shown(kept: dt.timedelta | None) -> str:
    return "for ever" if kept is None else f"{kept.total_seconds() / 86400:g} days"
