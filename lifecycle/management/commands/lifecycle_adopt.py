"""lifecycle_adopt: gives the rows of an existing table the entry their history begins with."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.db import router

from lifecycle.definition.compiled import Definition
from lifecycle.management import arguments
from lifecycle.store import adoption, aliases

# So many rows in unknown states are listed; a person needs the pattern, not a million lines.
LISTED = 20


class Command(BaseCommand):
    help = (
        "Adopt the rows of a table that existed before its lifecycle. Every row without history gets an entry "
        "($adopt, with the row's own version), and the present time where the row does not say when it entered its "
        "state. Works in batches while the system is running; can be stopped and started again. Rows in a state that "
        "the lifecycle does not know are listed and left as they are, and the command exits with 1."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("lifecycle", help="The lifecycle's name.")
        arguments.add_database(parser, default="where the model is written")
        parser.add_argument(
            "--batch-size", type=arguments.number(1, 10_000), default=1000, metavar="N",
            help="Rows per transaction (1000).",
        )  # fmt: skip
        parser.add_argument("--dry-run", action="store_true", help="Say what would be done, but write nothing.")
        arguments.add_format(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        definition = arguments.definition(options["lifecycle"])
        using = arguments.database(options["using"]) or router.db_for_write(definition.model)
        if not aliases.may_store(definition.model, using):
            raise arguments.wrong(f"The router keeps no {definition.model._meta.verbose_name_plural} on '{using}'.")
        total = adoption.count(definition, using)
        if options["dry_run"]:
            adopted, dated = total, adoption.count_undated(definition, using)
        else:
            adopted, dated = self._adopt(definition, using, total, options)
        unknown, how_many = adoption.strangers(definition, using, LISTED)
        report = {
            "lifecycle": definition.name,
            "using": using,
            "dry_run": options["dry_run"],
            "adopted": adopted,
            "dated": dated,
            "unknown_states": how_many,
            "unknown": [{"record_id": stranger.record_id, "state": stranger.state} for stranger in unknown],
        }
        if options["format"] == "json":
            self.stdout.write(json.dumps(report))
        else:
            would = "would be " if options["dry_run"] else ""
            self.stdout.write(f"{definition.name}: {adopted} {would}adopted, {dated} of them {would}given a time")
            for stranger in unknown:
                self.stdout.write(f"  {stranger.record_id} is in the unknown state '{stranger.state}'")
            if how_many > len(unknown):
                self.stdout.write(f"  and {how_many - len(unknown)} more")
        if how_many:
            raise arguments.found(
                f"{how_many} of '{definition.name}' are in a state it does not know and were left alone. "
                f"Known: {', '.join(definition.states)}."
            )

    def _adopt(self, definition: Definition, using: str, total: int, options: dict[str, Any]) -> tuple[int, int]:
        adopted = dated = 0
        last = None
        while batch := adoption.adopt(definition, options["batch_size"], using, after=last):
            adopted, dated, last = adopted + batch.adopted, dated + batch.dated, batch.last
            # To stderr: stdout is the outcome, also for a program that reads it.
            if options["verbosity"] > 0:
                self.stderr.write(f"{definition.name}: {adopted} of {total}")
        return adopted, dated
