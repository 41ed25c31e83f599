"""lifecycle_tick: one pass over what time or an accident left undone; for cron, and for looking."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand

from lifecycle.management import arguments
from lifecycle.sweeps.tick import AliasReport, tick


class Command(BaseCommand):
    help = (
        "Make one tick: take back the runs of lost workers, fire due timeouts and deadlines, retry follow-ups, wake "
        "workers for queues with due runs, delete old runs. Celery workers and lifecycle_worker do this by "
        "themselves; this command is for cron and for trying things out. It can run beside them at any time: if no "
        "tick is due, it does nothing. Exits with 1 if a part failed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--force", action="store_true", help="Tick now, even if no tick is due.")
        arguments.add_database(parser)
        arguments.add_format(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        report = tick(using=arguments.database(options["using"]), force=options["force"])
        if options["format"] == "json":
            self.stdout.write(json.dumps([asdict(alias) for alias in report.aliases], default=str))
        else:
            for alias in report.aliases:
                self.stdout.write("\n".join(_lines(alias)))
        if report.failures:
            raise arguments.found("\n".join(report.failures))


def _lines(alias: AliasReport) -> list[str]:
    if not alias.ran:
        return [f"{alias.using}: not time yet (--force ticks anyway)"]
    lines = [f"{alias.using}:"]
    for part in alias.parts:
        facts = ", ".join(f"{name} {value}" for name, value in part.facts.items())
        more = ", more is left" if part.more else ""
        lines.append(f"  {part.name.replace('_', ' '):<18} {part.done:>6}{more}{'  ' + facts if facts else ''}")
    return lines
