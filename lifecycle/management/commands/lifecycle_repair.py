"""lifecycle_repair: rows that were changed past their lifecycle, put back or accepted with a reason."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.db import router

from lifecycle.actors import Actor
from lifecycle.definition.compiled import Definition
from lifecycle.management import arguments
from lifecycle.models import drift
from lifecycle.models.drift import Drifted
from lifecycle.store import aliases, repair

LISTED = 20


class Command(BaseCommand):
    help = (
        "Repair rows that do not agree with their history (lifecycle_doctor calls this drift): a fixture or a backup "
        "put them back, or something other than the lifecycle wrote them. Shows the rows and asks. Then it either "
        "puts each row back to what its last entry says, or keeps the row and adds an entry ($repair) with your "
        "reason. No effect is enqueued and no hook is called."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("lifecycle", help="The lifecycle's name.")
        parser.add_argument(
            "--keep", choices=[repair.HISTORY, repair.ROW], default=repair.ROW,
            help="Which is right: the history (the row is put back) or the row (an entry is added). Default: row.",
        )  # fmt: skip
        parser.add_argument(
            "--record", action="append", default=[], metavar="ID", help="Only this record; may be repeated."
        )
        parser.add_argument("--reason", default="", help="Why; kept in the entries. Required with --keep row.")
        parser.add_argument("--dry-run", action="store_true", help="Say what would be done, but write nothing.")
        parser.add_argument("--no-input", "--noinput", action="store_true", help="Do not ask.")
        arguments.add_database(parser, default="where the model is written")
        arguments.add_format(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        definition = arguments.definition(options["lifecycle"])
        using = arguments.database(options["using"]) or router.db_for_write(definition.model)
        if not aliases.may_store(definition.model, using):
            raise arguments.wrong(f"The router keeps no {definition.model._meta.verbose_name_plural} on '{using}'.")
        if options["keep"] == repair.ROW and not options["reason"].strip() and not options["dry_run"]:
            raise arguments.wrong("--reason: say why the rows are right, for whoever reads the history.")
        found = _found(definition, using, options["record"])
        if options["format"] != "json":
            self._show(definition, found, options["keep"])
        done = (
            []
            if options["dry_run"] or not self._agreed(found, options)
            else self._repair(definition, found, using, options)
        )
        report = {
            "lifecycle": definition.name,
            "using": using,
            "keep": options["keep"],
            "dry_run": options["dry_run"],
            "found": len(found),
            "repaired": len(done),
        }
        if options["format"] == "json":
            self.stdout.write(json.dumps(report))
        else:
            self.stdout.write(f"{definition.name}: {len(done)} of {len(found)} repaired")

    def _show(self, definition: Definition, found: list[Drifted], keep: str) -> None:
        what = "put back as the history says" if keep == repair.HISTORY else "kept as they are, with an entry"
        self.stdout.write(f"{definition.name}: {len(found)} rows are not explained by their history; to be {what}")
        for row in found[:LISTED]:
            self.stdout.write(f"  {row.record_id}: in '{row.state}', version {row.version}: {row.reason}")
        if len(found) > LISTED:
            self.stdout.write(f"  and {len(found) - LISTED} more")

    def _agreed(self, found: list[Drifted], options: dict[str, Any]) -> bool:
        if not found or options["no_input"]:
            return bool(found)
        return input("Repair them? [y/N] ").strip().lower() in ("y", "yes")

    def _repair(self, definition: Definition, found: list[Drifted], using: str, options: dict[str, Any]) -> list[Any]:
        actor, reason = Actor("lifecycle_repair"), options["reason"].strip()[:500]
        results = (
            repair.repair(definition, row, options["keep"], actor=actor, reason=reason, using=using) for row in found
        )
        return [one for one in results if one is not None and one.before != one.after]


def _found(definition: Definition, using: str, wanted: list[str]) -> list[Drifted]:
    rows = {row.record_id: row for row in drift.drifted(definition, using)}
    return [row for record_id, row in sorted(rows.items()) if not wanted or record_id in wanted]
