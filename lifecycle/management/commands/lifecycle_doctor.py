"""lifecycle_doctor: looks for what nobody would see before it hurts."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand

from lifecycle.doctor import ERROR, WARNING, Finding, Limits, databases, examine, known_faults
from lifecycle.management import arguments
from lifecycle.management.progress import Progress


class Command(BaseCommand):
    help = (
        "Look for faults of a running system: rows that something other than the lifecycle changed, records in "
        "unknown or deprecated states, runs that no worker carries out, missing indexes and triggers, missing ticks, "
        "clocks that differ, a broker that does not answer. Only reads. Exits with 1 if it finds an error, otherwise "
        "with 0. --list names the faults."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        usual = Limits()
        parser.add_argument(
            "--only", action="append", metavar="FAULT", help="Look only for this fault; may be repeated."
        )
        parser.add_argument(
            "--skip", action="append", metavar="FAULT", help="Do not look for this fault; may be repeated."
        )
        parser.add_argument("--list", action="store_true", help="List the faults and exit.")
        parser.add_argument(
            "--lifecycle", action="append", metavar="NAME", dest="lifecycles",
            help="Look only at the records and runs of this lifecycle; may be repeated. Default: all.",
        )  # fmt: skip
        arguments.add_database(parser)
        arguments.add_format(parser)
        parser.add_argument(
            "--fail-level", choices=[ERROR, WARNING], default=ERROR, help="Exit with 1 from this severity on (error)."
        )
        for name, meaning in (
            ("overdue", "So long a run may be due"),
            ("tick", "So old the last tick may be"),
            ("skew", "So far the clocks may be apart"),
        ):
            default = getattr(usual, name)
            parser.add_argument(
                f"--{name}", type=arguments.duration, default=default, metavar="DURATION",
                help=f"{meaning} ({default.total_seconds():g}s).",
            )  # fmt: skip
        parser.add_argument(
            "--examples", type=arguments.number(0, 1000), default=usual.examples, metavar="N",
            help=f"So many records or runs a finding lists ({usual.examples}).",
        )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        if options["list"]:
            self._list(options["format"])
            return
        only, skip = self._faults(options["only"]), self._faults(options["skip"])
        alias = arguments.database(options["using"])
        looked_at = [alias] if alias is not None else databases()
        lifecycles = options["lifecycles"]
        with Progress(self.stderr, verbosity=options["verbosity"]) as progress:
            findings = examine(
                using=looked_at,
                lifecycles=[arguments.definition(name) for name in lifecycles] if lifecycles else None,
                only=only or None,
                skip=skip,
                limits=Limits(
                    overdue=options["overdue"],
                    tick=options["tick"],
                    skew=options["skew"],
                    examples=options["examples"],
                ),
                say=progress.say,
            )
        errors = sum(finding.severity == ERROR for finding in findings)
        if options["format"] == "json":
            self.stdout.write(json.dumps(_report(looked_at, findings, errors)))
        else:
            self._print(looked_at, findings)
        if errors or (findings and options["fail_level"] == WARNING):
            raise arguments.found(_counted(findings, errors))

    def _faults(self, names: list[str] | None) -> list[str]:
        return [arguments.one_of("fault", name, known_faults()) for name in names or ()]

    def _list(self, kind: str) -> None:
        faults = known_faults()
        if kind == "json":
            self.stdout.write(json.dumps(faults))
            return
        for name, meaning in faults.items():
            self.stdout.write(f"{name:<22} {meaning}")

    def _print(self, looked_at: Sequence[str], findings: Sequence[Finding]) -> None:
        if not findings:
            self.stdout.write(self.style.SUCCESS(f"Nothing found on {', '.join(looked_at)}."))
        for finding in findings:
            paint = self.style.ERROR if finding.severity == ERROR else self.style.WARNING
            self.stdout.write(
                f"{paint(finding.severity)} {finding.id}{f' on {finding.using}' if finding.using else ''}: "
                f"{finding.sentence}"
            )
            if finding.examples:
                more = ", …" if finding.count > len(finding.examples) else ""
                self.stdout.write(f"  for example: {', '.join(finding.examples)}{more}")
            self.stdout.write(f"  do: {finding.remedy}")


def _report(looked_at: Sequence[str], findings: Sequence[Finding], errors: int) -> dict[str, Any]:
    return {
        "healthy": not findings,
        "errors": errors,
        "warnings": len(findings) - errors,
        "databases": list(looked_at),
        "findings": [finding.as_dict() for finding in findings],
    }


def _counted(findings: Sequence[Finding], errors: int) -> str:
    warnings = len(findings) - errors
    return f"{errors} {'error' if errors == 1 else 'errors'}, {warnings} {'warning' if warnings == 1 else 'warnings'}."
