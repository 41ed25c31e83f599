"""lifecycle_prune: deletes finished runs now, all that are old enough."""

from __future__ import annotations

import datetime as dt
import json
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand

from lifecycle.definition.durations import LONGEST
from lifecycle.management import arguments
from lifecycle.management.progress import Progress
from lifecycle.store import aliases
from lifecycle.store.pruning import Retention
from lifecycle.sweeps import retention
from lifecycle.sweeps.passes import Pass


class Command(BaseCommand):
    help = (
        "Delete finished effect runs that are old enough, in small batches. The tick does the same a little at a "
        "time; this command continues until no old runs are left. History entries, unfinished runs, and runs with a "
        "pending or abandoned follow-up are never deleted."
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
        arguments.add_database(parser)
        parser.add_argument("--dry-run", action="store_true", help="Say how many would be deleted, but delete none.")
        arguments.add_format(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        alias = arguments.database(options["using"])
        kept = Retention(succeeded=options["succeeded_days"], failed=options["failed_days"])
        progress = Progress(self.stderr, verbosity=options["verbosity"])
        deleted: dict[str, int] = {}
        failures: list[str] = []
        for using in [alias] if alias is not None else aliases.with_our_tables():
            sweep = Pass(using=using, seconds=float("inf"))
            with sweep.contained("Pruning"):
                retention.run_once(
                    sweep,
                    retention=kept,
                    delete=not options["dry_run"],
                    after_batch=lambda sweep: progress.say(f"{sweep.using}: {sweep.done} so far"),
                )
            deleted[using] = sweep.done
            failures += [f"{using}: {failure}" for failure in sweep.failures]
            progress.clear()
            if options["format"] == "text":
                self.stdout.write(f"{using}: {sweep.done} {'would be deleted' if options['dry_run'] else 'deleted'}")
        if options["format"] == "json":
            self.stdout.write(json.dumps({"dry_run": options["dry_run"], "deleted": deleted}))
        if failures:
            raise arguments.found("\n".join(failures))


def _days(text: str) -> dt.timedelta:
    try:
        days = float(text)
        if not 0 <= days <= LONGEST.days:
            raise ValueError
        return dt.timedelta(days=days)
    except (ValueError, OverflowError):
        raise ArgumentTypeError(f"expected a number of days, got {text!r}") from None


def _shown(kept: dt.timedelta | None) -> str:
    return "for ever" if kept is None else f"{kept.total_seconds() / 86400:g} days"
