"""DOT: a lifecycle as text for Graphviz."""

from __future__ import annotations

from lifecycle.definition.compiled import Definition, State
from lifecycle.drawing.marks import edges
from lifecycle.drawing.pills import Pill, pills_of

START = "$start"  # no state can be called this


def dot(definition: Definition) -> str:
    """The graph's text, labels in the active language; the same definition gives the same text.

    Final states have a double border, initial ones an arrow from a point. A transition from any state starts in one
    box, whose tooltip names the states. Edges are marked as in `mermaid`.
    """
    lines = [
        f"digraph {quoted(definition.name)} {{",
        "    rankdir=LR;",
        '    node [shape=box, style="rounded"];',
        f'    {quoted(START)} [shape=point, label=""];',
    ]
    lines += [f"    {quoted(name)} [{_look(state)}];" for name, state in definition.states.items()]
    lines += [f"    {quoted(pill.name)} [{_pill_look(pill)}];" for pill in dict.fromkeys(pills_of(definition).values())]
    lines += [f"    {quoted(START)} -> {quoted(name)};" for name in definition.initial]
    lines += [
        f"    {quoted(edge.source)} -> {quoted(edge.target)} [label={quoted(edge.text)}];" for edge in edges(definition)
    ]
    return "\n".join([*lines, "}"]) + "\n"


def quoted(text: str) -> str:
    """A string as DOT reads it, on one line."""
    line = " ".join(text.split())
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _look(state: State) -> str:
    look = [f"label={quoted(str(state.label))}"]
    if state.final:
        look.append("peripheries=2")
    if state.deprecated:
        look.append('style="rounded,dashed"')
    return ", ".join(look)


def _pill_look(pill: Pill) -> str:
    return f'label={quoted(pill.text)}, tooltip={quoted(pill.title)}, style="rounded,dashed"'
