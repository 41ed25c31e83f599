"""lifecycle_retry: has many finished runs run again, each by the rules that a person in the admin obeys."""

from __future__ import annotations

import getpass
import json
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from django.core.management.base import BaseCommand

from lifecycle import registry
from lifecycle.actors import Actor
from lifecycle.definition.names import effect_name
from lifecycle.exceptions import LifecycleError
from lifecycle.management import arguments
from lifecycle.management.progress import Progress
from lifecycle.models import Run, RunStatus, stuck
from lifecycle.operations import retry_run
from lifecycle.store import aliases, timing

STATUSES = (RunStatus.FAILED, RunStatus.DEAD, RunStatus.CANCELLED)
USUAL = (RunStatus.FAILED, RunStatus.DEAD)
# Runs read at once; each is retried in a transaction of its own.
BATCH = 200


@dataclass(frozen=True, kw_only=True)
class Line:
    """What became of one run; ``code`` and ``message`` say why it was refused."""

    run: int
    lifecycle: str
    effect: str
    record_id: str
    status: str
    retried: bool
    code: str = ""
    message: str = ""


class Command(BaseCommand):
    help = (
        "Queue finished runs again, for example after an outage of another system. They get fresh attempts and keep "
        "their idempotency key. At least one filter is required. Each run is retried by the same rules as in the "
        "admin, and leaves an audit row with the reason. Runs whose outcome already led somewhere are counted and "
        "left alone (--force retries them too). Exits with 1 if a run was refused."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--run", type=arguments.number(1, 2**63 - 1), action="append", metavar="ID", dest="runs",
                            help="This run; may be repeated.")  # fmt: skip
        parser.add_argument("--lifecycle", metavar="NAME", help="Runs of this lifecycle.")
        parser.add_argument("--effect", metavar="NAME", help="Runs of this effect (needs --lifecycle).")
        parser.add_argument("--record", metavar="ID", help="Runs of this record (needs --lifecycle).")
        parser.add_argument(
            "--status", action="append", choices=[str(one) for one in STATUSES], dest="statuses",
            help=f"Runs with this status; may be repeated ({', '.join(USUAL)}).",
        )  # fmt: skip
        parser.add_argument("--error-code", metavar="CODE", help="Runs that failed with this code.")
        parser.add_argument(
            "--older-than",
            type=arguments.duration,
            metavar="DURATION",
            help="Runs that ended at least this long ago: 90s, 2h, 3d.",
        )
        parser.add_argument("--all", action="store_true", help="All runs; required if no filter is given.")
        parser.add_argument("--limit", type=arguments.number(1, 10**9), metavar="N", help="At most this many runs.")
        parser.add_argument(
            "--reason", default="", metavar="TEXT", help="Why; kept in the audit row. Required unless --dry-run."
        )
        parser.add_argument("--force", action="store_true", help="Also retry runs whose outcome already led somewhere.")
        parser.add_argument("--dry-run", action="store_true", help="Say which runs would be retried, but retry none.")
        arguments.add_database(parser)
        arguments.add_format(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        self._check(options)
        alias = arguments.database(options["using"])
        progress = Progress(self.stderr, verbosity=options["verbosity"])
        lines: list[Line] = []
        settled = 0
        for using in [alias] if alias is not None else aliases.with_our_tables():
            rows = _chosen(using, options)
            if not options["force"] and not options["runs"]:
                settled += rows.exclude(follow_up__in=stuck.UNSETTLED).count()
                rows = rows.filter(follow_up__in=stuck.UNSETTLED)
            for run in _each(rows, options["limit"], len(lines)):
                line = _would(run) if options["dry_run"] else _retried(run, options)
                lines.append(line)
                if options["format"] == "text":
                    self._print(line, dry=options["dry_run"])
                else:
                    progress.say(f"{using}: {len(lines)} runs looked at")
        progress.clear()
        retried = sum(line.retried for line in lines)
        if options["format"] == "json":
            report = {
                "dry_run": options["dry_run"],
                "retried": retried,
                "refused": len(lines) - retried,
                "settled": settled,
                "runs": [asdict(line) for line in lines],
            }
            self.stdout.write(json.dumps(report))
        else:
            would = "would be " if options["dry_run"] else ""
            self.stdout.write(f"{retried} {would}retried, {len(lines) - retried} refused, {settled} settled.")
        if retried < len(lines):
            raise arguments.found(f"{len(lines) - retried} of {len(lines)} runs were refused.")

    def _check(self, options: dict[str, Any]) -> None:
        filters = ("runs", "lifecycle", "effect", "record", "statuses", "error_code", "older_than")
        if not options["all"] and not any(options[name] for name in filters):
            raise arguments.wrong("Say which runs: --lifecycle, --effect, --status, --run, … or --all.")
        if options["lifecycle"]:
            definition = arguments.definition(options["lifecycle"])
            if options["effect"]:
                arguments.one_of("effect", options["effect"], definition.effects, of=definition.name)
        elif options["effect"] or options["record"]:
            raise arguments.wrong("--effect and --record need --lifecycle: names and ids are unique within one.")
        if not options["dry_run"] and not options["reason"].strip():
            raise arguments.wrong("--reason is required: say why these runs are to run again.")

    def _print(self, line: Line, *, dry: bool) -> None:
        what = f"run {line.run} ({effect_name(line.lifecycle, line.effect)} of {line.record_id}, {line.status})"
        if line.retried:
            self.stdout.write(f"{what}: {'would be retried' if dry else 'retried'}")
        else:
            self.stdout.write(f"{what}: {line.code}: {line.message}")


def _chosen(using: str, options: dict[str, Any]) -> Any:
    before = timing.now(using) - options["older_than"] if options["older_than"] is not None else None
    rows = stuck.finished(
        using,
        # A run named by its number is tried whatever its status: the refusal then says what is the matter.
        statuses=options["statuses"] or (RunStatus.values if options["runs"] else USUAL),
        lifecycle=options["lifecycle"],
        effect=options["effect"],
        record_id=options["record"],
        error_code=options["error_code"],
        before=before,
    )
    return rows.filter(pk__in=options["runs"]) if options["runs"] else rows


def _each(rows: Any, limit: int | None, done: int) -> Iterator[Run]:
    """The runs in the order of their ids, a batch in memory at a time; what is retried meanwhile disturbs nothing."""
    last = 0
    while limit is None or done < limit:
        batch = list(rows.filter(pk__gt=last)[: BATCH if limit is None else min(BATCH, limit - done)])
        if not batch:
            return
        for run in batch:
            yield run
            done += 1
        last = batch[-1].pk


def _retried(run: Run, options: dict[str, Any]) -> Line:
    try:
        retry_run(run, actor=_operator(), reason=options["reason"], force=options["force"])
    except LifecycleError as error:
        return _line(run, error)
    return _line(run)


def _would(run: Run) -> Line:
    definition = registry.find(run.lifecycle)
    if definition is None or run.effect not in definition.effects:
        known = f"This process knows no effect '{run.effect}' of a lifecycle '{run.lifecycle}'."
        return _line(run, LifecycleError(known, code="unknown_effect"))
    return _line(run)


def _line(run: Run, error: LifecycleError | None = None) -> Line:
    return Line(
        run=run.pk,
        lifecycle=run.lifecycle,
        effect=run.effect,
        record_id=run.record_id,
        status=str(run.status),
        retried=error is None,
        code=error.code if error is not None else "",
        message=str(error) if error is not None else "",
    )


def _operator() -> Actor:
    try:
        who = getpass.getuser()
    except (OSError, KeyError):  # a container without a name for its user
        who = "unknown"
    return Actor("command:lifecycle_retry", label=f"lifecycle_retry ({who})"[:150])
