"""lifecycle_migrate_state: moves the records of a state that is on its way out, by a transition, in batches."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import dataclass, field
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import router

from lifecycle.actors import SYSTEM
from lifecycle.definition.compiled import Definition
from lifecycle.exceptions import InvalidInput, LifecycleError
from lifecycle.management import arguments
from lifecycle.management.progress import Progress
from lifecycle.models import stuck
from lifecycle.runtime import can, fire_many
from lifecycle.runtime.verbs.batch import BATCH_SIZE
from lifecycle.store import aliases

# So many refused records are listed; a person needs the pattern, not a million lines.
LISTED = 20
INTERRUPTED = 130


@dataclass(kw_only=True)
class Moved:
    """What was done so far."""

    moved: int = 0
    refused: int = 0
    refusals: list[dict[str, str]] = field(default_factory=list)

    def refuse(self, record_id: str, error: BaseException) -> None:
        """Counts a record that stays where it is, and keeps why, for the first few."""
        self.refused += 1
        if len(self.refusals) < LISTED:
            code = error.code if isinstance(error, LifecycleError) else type(error).__name__
            self.refusals.append({"record_id": record_id, "code": code, "message": str(error)})


class Command(BaseCommand):
    help = (
        "Move every record out of one state by a transition, as the system, in batches. This is the step between "
        "declaring a state deprecated and removing it. Each batch is a transaction of its own. Guards, hooks and "
        "effects are those of any other firing, and the history says who and why. Can run while the system is "
        "running, and can be stopped and started again. Exits with 1 if a record was refused."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--lifecycle", required=True, metavar="NAME", help="The lifecycle's name.")
        parser.add_argument("--from", required=True, metavar="STATE", dest="source", help="The state to empty.")
        parser.add_argument("--transition", required=True, metavar="NAME", help="The transition to fire.")
        parser.add_argument(
            "--reason",
            metavar="TEXT",
            help="Kept in each history entry. Default: a sentence that says that the state is emptied.",
        )
        parser.add_argument(
            "--batch-size", type=arguments.number(1, 10_000), default=BATCH_SIZE, metavar="N",
            help=f"Records per transaction ({BATCH_SIZE}).",
        )  # fmt: skip
        parser.add_argument(
            "--limit", type=arguments.number(1, 10**12), metavar="N", help="Stop after this many records."
        )
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="Ask every record's guards and say what would be done, but move none.",
        )
        arguments.add_database(parser, default="where the model is written")
        arguments.add_format(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        definition = arguments.definition(options["lifecycle"])
        source, transition = _checked(definition, options["source"], options["transition"])
        using = arguments.database(options["using"]) or router.db_for_write(definition.model)
        if not aliases.may_store(definition.model, using):
            raise arguments.wrong(f"The router keeps no {definition.model._meta.verbose_name_plural} on '{using}'.")
        done, stopped = Moved(), False
        try:
            with Progress(self.stderr, verbosity=options["verbosity"]) as progress:
                self._move(definition, source, transition, using, options, done, progress)
        except KeyboardInterrupt:
            stopped = True
        left = stuck.in_state(definition, source, using).count()
        report = {
            "lifecycle": definition.name,
            "using": using,
            "from": source,
            "transition": transition,
            "dry_run": options["dry_run"],
            "moved": done.moved,
            "refused": done.refused,
            "refusals": done.refusals,
            "left": left,
        }
        if options["format"] == "json":
            self.stdout.write(json.dumps(report))
        else:
            self._print(report)
        if stopped:
            raise CommandError("Stopped. What is moved stays moved; call it again to go on.", returncode=INTERRUPTED)
        if done.refused:
            raise arguments.found(f"{done.refused} of '{definition.name}' stay in '{source}'.")

    def _move(
        self,
        definition: Definition,
        source: str,
        transition: str,
        using: str,
        options: dict[str, Any],
        done: Moved,
        progress: Progress,
    ) -> None:
        rows = stuck.in_state(definition, source, using)
        total = rows.count()
        reason = options["reason"] or f"The state '{source}' is emptied."
        limit, last = options["limit"], None
        while limit is None or done.moved + done.refused < limit:
            size = options["batch_size"]
            if limit is not None:
                size = min(size, limit - done.moved - done.refused)
            # By key, not simply "the first ones": a refused record stays in the state and must not be met again.
            batch = list((rows if last is None else rows.filter(pk__gt=last))[:size])
            if not batch:
                return
            last = batch[-1].pk
            if options["dry_run"]:
                _ask(definition, batch, transition, done)
            else:
                _fire(definition, batch, transition, reason, size, done)
            progress.say(f"{definition.name}: {done.moved} of {total} moved, {done.refused} refused")

    def _print(self, report: dict[str, Any]) -> None:
        would = "would be " if report["dry_run"] else ""
        self.stdout.write(
            f"{report['lifecycle']}: {report['moved']} {would}moved from '{report['from']}' by "
            f"'{report['transition']}', {report['refused']} {would}refused; {report['left']} in the state now."
        )
        for refusal in report["refusals"]:
            self.stdout.write(f"  {refusal['record_id']}: {refusal['code']}: {refusal['message']}")
        if report["refused"] > len(report["refusals"]):
            self.stdout.write(f"  and {report['refused'] - len(report['refusals'])} more")


def _checked(definition: Definition, source: str, transition: str) -> tuple[str, str]:
    arguments.one_of("state", source, definition.states, of=definition.name)
    arguments.one_of("transition", transition, definition.transitions, of=definition.name)
    edge = definition.transitions[transition]
    if source not in edge.sources:
        ways = ", ".join(one.name for one in definition.leaving(source)) or "none"
        raise arguments.wrong(f"'{transition}' does not start in '{source}'. Transitions that do: {ways}.")
    if source in edge.targets:
        raise arguments.wrong(f"'{transition}' leads from '{source}' to '{source}': the state would never be empty.")
    return source, transition


def _fire(definition: Definition, batch: list[Any], transition: str, reason: str, size: int, done: Moved) -> None:
    try:
        report = fire_many(batch, transition, actor=SYSTEM, reason=reason, batch_size=size, lifecycle=definition)
    except InvalidInput as error:  # the reason
        raise arguments.wrong(str(error)) from error
    done.moved += len(report.fired)
    for refusal in report.refused:
        done.refuse(refusal.record_id, refusal.error)


def _ask(definition: Definition, batch: list[Any], transition: str, done: Moved) -> None:
    for record in batch:
        try:
            # With an empty input, as `fire_many` fires: a required field of the transition's form is a refusal too.
            verdict = can(record, transition, actor=SYSTEM, input={}, lifecycle=definition)
        except Exception as error:  # noqa: BLE001 a guard that fails would be this record's refusal
            done.refuse(str(record.pk), error)
            continue
        if verdict.allowed:
            done.moved += 1
        else:
            reasons: list[Any] = [*verdict.refusals, *verdict.problems]
            sentence = " ".join(str(reason) for reason in reasons)
            done.refuse(str(record.pk), LifecycleError(sentence, code=reasons[0].code))
