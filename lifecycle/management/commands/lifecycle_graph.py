"""Command: prints a lifecycle's diagram as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from lifecycle import registry
from lifecycle.definition.compiled import Definition
from lifecycle.drawing.dot import dot
from lifecycle.drawing.mermaid import mermaid
from lifecycle.exceptions import UnknownLifecycle

FORMATS: dict[str, Callable[[Definition], str]] = {"mermaid": mermaid, "dot": dot}


class Command(BaseCommand):
    """``manage.py lifecycle_graph orders --format dot | dot -Tsvg > orders.svg``."""

    help = "Prints the diagram of one or more lifecycles (all of them when none is named)."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("lifecycles", nargs="*", metavar="lifecycle", help="the name in Meta.name")
        parser.add_argument("--format", choices=sorted(FORMATS), default="mermaid", help="default: %(default)s")

    def handle(self, *args: Any, **options: Any) -> None:
        draw = FORMATS[options["format"]]
        for definition in self._definitions(options["lifecycles"]):
            self.stdout.write(draw(definition), ending="")

    def _definitions(self, names: list[str]) -> list[Definition]:
        if not names:
            return registry.all()
        try:
            return [registry.get(name) for name in names]
        except UnknownLifecycle as error:
            raise CommandError(str(error)) from error
