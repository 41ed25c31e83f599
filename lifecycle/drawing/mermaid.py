"""Mermaid: a lifecycle as the text of a ``stateDiagram-v2``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lifecycle.definition.compiled import Definition
from lifecycle.drawing.marks import edges
from lifecycle.drawing.pills import pills_of

PLAIN_ID = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
# Words of the language; as a state's id they would end or change the diagram.
RESERVED = frozenset(
    {
        "as",
        "choice",
        "class",
        "classdef",
        "click",
        "default",
        "direction",
        "end",
        "fork",
        "hide",
        "join",
        "left",
        "note",
        "of",
        "over",
        "right",
        "scale",
        "state",
        "style",
    }
)
# ``#`` first: it begins every escape.
ESCAPES = {"#": "#35;", ";": "#59;", ":": "#58;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "%": "#37;", "`": "#96;"}


def mermaid(definition: Definition) -> str:
    """The diagram's text, labels in the active language; the same definition gives the same text.

    Edges are marked: ⏱ fired by time, ✓ and ✗ by an effect's success or failure, ⚙ by server code only. A transition
    from any state starts in one box; a comment names the states.
    """
    pills = tuple(dict.fromkeys(pills_of(definition).values()))
    ids = _ids([*definition.states, *(pill.name for pill in pills)])
    lines = ["stateDiagram-v2"]
    lines += [f'    state "{escaped(str(state.label))}" as {ids[name]}' for name, state in definition.states.items()]
    for pill in pills:
        lines.append(f"    %% {ids[pill.name]}: {escaped(pill.title)}")
        lines.append(f'    state "{escaped(pill.text)}" as {ids[pill.name]}')
    lines += [f"    [*] --> {ids[name]}" for name in definition.initial]
    lines += [f"    {ids[edge.source]} --> {ids[edge.target]} : {escaped(edge.text)}" for edge in edges(definition)]
    lines += [f"    {ids[name]} --> [*]" for name, state in definition.states.items() if state.final]
    deprecated = [ids[name] for name, state in definition.states.items() if state.deprecated]
    if deprecated:
        lines.append("    classDef deprecated stroke-dasharray: 4")
        lines.append(f"    class {','.join(deprecated)} deprecated")
    if pills:
        lines.append("    classDef any stroke-dasharray: 3")
        lines.append(f"    class {','.join(ids[pill.name] for pill in pills)} any")
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """A label as Mermaid reads it: on one line, without the characters that mean something."""
    line = " ".join(text.split()) or " "
    return "".join(ESCAPES.get(sign, sign) for sign in line)


def _ids(names: Sequence[str]) -> dict[str, str]:
    """An id per box: its name where Mermaid takes that, else a number no other box has."""
    taken = {name for name in names if _is_plain(name)}
    ids: dict[str, str] = {}
    for number, name in enumerate(names, start=1):
        chosen = name
        if not _is_plain(name):
            chosen = f"state_{number}"
            while chosen in taken:
                chosen += "_"
            taken.add(chosen)
        ids[name] = chosen
    return ids


def _is_plain(name: str) -> bool:
    return bool(PLAIN_ID.match(name)) and name.lower() not in RESERVED
