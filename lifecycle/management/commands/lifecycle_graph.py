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
from lifecycle.drawing.svg import is_large, svg
from lifecycle.management import arguments


def picture(definition: Definition, around: Sequence[str] = ()) -> str:
    """An SVG that needs no stylesheet beside it: of the whole lifecycle, or of the part around some states."""
    return svg(definition, around=around, standalone=True)


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


TEXTS: dict[str, Callable[[Definition], str]] = {"mermaid": mermaid, "dot": dot}


class Command(BaseCommand):
    """``manage.py lifecycle_graph orders --format dot | dot -Tsvg > orders.svg``."""

    help = "Print the diagram of one or more lifecycles (of all, if none is named)."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("lifecycles", nargs="*", metavar="lifecycle", help="the name in Meta.name")
        parser.add_argument(
            "--format", choices=sorted([*TEXTS, "json", "svg"]), default="mermaid", help="default: %(default)s"
        )
        parser.add_argument(
            "--near",
            metavar="STATE",
            action="append",
            default=[],
            help="Only what leads to this state and out of it (SVG; may be given several times): for lifecycles of more"
            " states than one picture can show.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        definitions = self._definitions(options["lifecycles"])
        if options["format"] == "json":
            self.stdout.write(data(definitions))
            return
        near = options["near"]
        if options["format"] == "svg":
            self._picture(definitions, near)
            return
        if near:
            raise arguments.wrong("--near draws a part of the picture: add --format svg.")
        for definition in definitions:
            self.stdout.write(TEXTS[options["format"]](definition), ending="")

    def _picture(self, definitions: Sequence[Definition], near: Sequence[str]) -> None:
        if len(definitions) != 1:
            names = ", ".join(definition.name for definition in definitions) or "none"
            raise arguments.wrong(f"An SVG file holds one picture: name one lifecycle ({names}).")
        (definition,) = definitions
        for state in near:
            arguments.one_of("state", state, definition.states, of=definition.name)
        if is_large(definition) and not near:
            self.stderr.write(
                f"{definition.name} has {len(definition.states)} states: --near STATE draws the part around one."
            )
        self.stdout.write(picture(definition, near), ending="")

    def _definitions(self, names: list[str]) -> list[Definition]:
        if not names:
            return registry.all()
        return [arguments.definition(name) for name in names]
