"""lifecycle_graph: prints a lifecycle's diagram, as text or as an SVG file."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from lifecycle import registry
from lifecycle.definition.compiled import Definition
from lifecycle.drawing.dot import dot
from lifecycle.drawing.mermaid import mermaid
from lifecycle.drawing.svg import svg
from lifecycle.management import arguments


def picture(definition: Definition) -> str:
    """An SVG that needs no stylesheet beside it."""
    return svg(definition, standalone=True)


def data(definitions: Sequence[Definition]) -> str:
    """The definitions' shape as JSON, for programs that draw by themselves."""
    return json.dumps([_shape(definition) for definition in definitions])


def _shape(definition: Definition) -> dict[str, Any]:
    return {
        "name": definition.name,
        "states": [
            {
                "name": state.name,
                "label": str(state.label),
                "initial": state.initial,
                "final": state.final,
                "deprecated": state.deprecated,
            }
            for state in definition.states.values()
        ],
        "transitions": [
            {
                "name": edge.name,
                "label": str(edge.label),
                "sources": [state for state in definition.states if state in edge.sources],
                "targets": list(edge.targets),
                "manual": edge.manual,
            }
            for edge in definition.transitions.values()
        ],
        "mermaid": mermaid(definition),
    }


FORMATS: dict[str, Callable[[Definition], str]] = {"mermaid": mermaid, "dot": dot, "svg": picture}


class Command(BaseCommand):
    """``manage.py lifecycle_graph orders --format dot | dot -Tsvg > orders.svg``."""

    help = "Prints the diagram of one or more lifecycles (all of them when none is named)."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("lifecycles", nargs="*", metavar="lifecycle", help="the name in Meta.name")
        parser.add_argument(
            "--format", choices=sorted([*FORMATS, "json"]), default="mermaid", help="default: %(default)s"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        definitions = self._definitions(options["lifecycles"])
        if options["format"] == "json":
            self.stdout.write(data(definitions))
            return
        draw = FORMATS[options["format"]]
        if draw is picture and len(definitions) != 1:
            names = ", ".join(definition.name for definition in definitions) or "none"
            raise arguments.wrong(f"An SVG file holds one picture: name one lifecycle ({names}).")
        for definition in definitions:
            self.stdout.write(draw(definition), ending="")

    def _definitions(self, names: list[str]) -> list[Definition]:
        if not names:
            return registry.all()
        return [arguments.definition(name) for name in names]
