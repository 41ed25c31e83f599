"""SVG: a layout as text to put into a page, with one record's path, or the number of records, drawn into it."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Mapping
from importlib.resources import files

from lifecycle.definition.compiled import Definition
from lifecycle.drawing import elements, words
from lifecycle.drawing import graph as graphs
from lifecycle.drawing.elements import escaped
from lifecycle.drawing.geometry.layouts import laid_out
from lifecycle.drawing.geometry.places import Layout
from lifecycle.drawing.geometry.sizes import Style
from lifecycle.drawing.graph import Step, graph_of
from lifecycle.drawing.highlights import Count, counts_of, highlights_of, style_of
from lifecycle.drawing.outline import description
from lifecycle.drawing.strokes import number


def svg(
    definition: Definition,
    *,
    current: str | None = None,
    path: Iterable[tuple[int, str, str, str]] = (),
    open_transitions: Container[str] = (),
    counts: Mapping[str, int | Count] | None = None,
    near: bool = False,
    around: Collection[str] = (),
    ident: str = "",
    standalone: bool = False,
) -> str:
    """The diagram as an ``<svg>`` element, every text escaped; its look comes from ``lifecycle/diagram.css``.

    The same definition, language and kind of picture give the same places. What a record does changes classes, the
    numbers of steps, and which lines are drawn last, over the others.

    Args:
        current: the state the record is in.
        path: its history as ``(version, transition, source, target)``, oldest first; ``$create`` begins it.
        open_transitions: what the viewer may fire now.
        counts: records per state, for pages without one record; a state not named has none.
        near: the picture for phones and of large lifecycles: the path, the current state and what it can reach.
        around: states; the near picture without a record, of what leads to them and out of them.
        ident: begins the ids in the element; needed when a page holds two pictures of one lifecycle.
        standalone: for a file of its own: with the stylesheet inside.
    """
    steps = [Step(*entry) for entry in path]
    whole = graph_of(definition)
    near = near or bool(around)
    graph = graphs.around(whole, around) if around else graphs.near(whole, current, steps) if near else whole
    counted = counts_of(counts)
    shown = highlights_of(graph, current, steps, open_transitions, counted)
    layout = laid_out(graphs.without_tones(graph), style_of(graph, near=near, counts=counted))
    ident = re.sub(r"[^A-Za-z0-9_-]", "-", ident or f"lifecycle-{definition.name}")
    about = description(definition, whole, current=current, path=steps, counts=counted)
    size = f'viewBox="0 0 {number(layout.width)} {number(layout.height)}"'
    size += f' width="{number(layout.width)}" height="{number(layout.height)}"'
    kind = "lc-diagram is-near" if near else "lc-diagram"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{kind}" role="img" {size} focusable="false"',
        f' aria-labelledby="{ident}-title {ident}-desc">',
        f'<title id="{ident}-title">{escaped(words.title(_name(definition)))}</title>',
        f'<desc id="{ident}-desc">{escaped(about)}</desc>',
        *([f"<style>{stylesheet()}</style>"] if standalone else []),
        *elements.edges(graph, layout, shown),
        *(elements.start_of(start, shown) for start in layout.starts),
        *elements.labels(graph, layout, shown),
        *elements.references(layout),
        *elements.nodes(graph, layout, shown),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def layout(definition: Definition, *, near_to: str | None = None) -> Layout:
    """Where everything stands, in the active language: the whole lifecycle, or what is near one state."""
    graph = graph_of(definition)
    if near_to is None:
        return laid_out(graphs.without_tones(graph))
    return laid_out(graphs.without_tones(graphs.near(graph, near_to, ())), Style(near=True))


def is_large(definition: Definition) -> bool:
    """Whether one picture of it is too much to read: pages show what is near first, the whole on demand."""
    return graph_of(definition).is_large()


def stylesheet() -> str:
    """The look of the diagram, for files that stand alone."""
    return (files("lifecycle") / "static" / "lifecycle" / "diagram.css").read_text(encoding="utf-8")


def _name(definition: Definition) -> str:
    meta = getattr(definition.model, "_meta", None)
    return str(meta.verbose_name) if meta else definition.name.replace("_", " ")
