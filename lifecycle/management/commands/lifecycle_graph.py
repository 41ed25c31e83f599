"""Command: prints a lifecycle's diagram, as text or as an SVG file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from lifecycle import registry
from lifecycle.definition.compiled import Definition
from lifecycle.drawing.dot import dot
from lifecycle.drawing.mermaid import mermaid
from lifecycle.drawing.svg import svg
from lifecycle.exceptions import UnknownLifecycle


def picture(definition: Definition) -> str:
    """An SVG that needs no stylesheet beside it."""
    return svg(definition, standalone=True)


FORMATS: dict[str, Callable[[Definition], str]] = {"mermaid": mermaid, "dot": dot, "svg": picture}


class Command(BaseCommand):
    """``manage.py lifecycle_graph orders --format dot | dot -Tsvg > orders.svg``."""

    help = "Prints the diagram of one or more lifecycles (all of them when none is named)."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("lifecycles", nargs="*", metavar="lifecycle", help="the name in Meta.name")
        parser.add_argument("--format", choices=sorted(FORMATS), default="mermaid", help="default: %(default)s")

    def handle(self, *args: Any, **options: Any) -> None:
        draw = FORMATS[options["format"]]
        definitions = self._definitions(options["lifecycles"])
        if draw is picture and len(definitions) != 1:
            names = ", ".join(definition.name for definition in definitions) or "none"
            raise CommandError(f"An SVG file holds one picture: name one lifecycle ({names}).")
        for definition in definitions:
            self.stdout.write(draw(definition), ending="")

    def _definitions(self, names: list[str]) -> list[Definition]:
        if not names:
            return registry.all()
        try:
            return [registry.get(name) for name in names]
        except UnknownLifecycle as error:
            raise CommandError(str(error)) from error
