"""Element: the SVG of single lines, labels and boxes, with their classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from lifecycle.drawing import words
from lifecycle.drawing.geometry.measure import clean, text_width
from lifecycle.drawing.geometry.places import Layout, PlacedLabel, PlacedNode, PlacedStart, Rect
from lifecycle.drawing.geometry.sizes import CLOCK, LABEL_LINE, NAME_LINE
from lifecycle.drawing.graph import Edge, Graph, Label, Node
from lifecycle.drawing.highlights import TRIANGLE as LATE_SIGN
from lifecycle.drawing.highlights import Count, Highlights
from lifecycle.drawing.strokes import CLOCK as CLOCK_SIGN
from lifecycle.drawing.strokes import DOT, TRIANGLE, head, line, number

STEP_HEIGHT, STEP_WIDTH, STEP_OVERLAP = 15.0, 15.0, 4.0
STEP_OVERLAP_WIDE, STEP_OVERLAP_SMALL = 6.0, 8.0
STEP_FONT, STEP_FONT_SMALL = 10.0, 8.0
STEP_WIDEST, STEP_WIDEST_SMALL = 24.0, 26.0
INSET, HALO = 3.5, 5.0


# Lines ------------------------------------------------------------------------------------------------


def edges(graph: Graph, layout: Layout, shown: Highlights) -> list[str]:
    """Every line. Those out of the current state are drawn over the others, and the path over both."""
    drawn: list[tuple[int, str]] = []
    for edge, placed in zip(graph.edges, layout.edges, strict=True):
        is_path = any((edge.source, edge.target, label.transition) in shown.steps for label in edge.labels)
        is_next = edge.source in shown.here
        look = _classes("lc-edge", ("is-next", is_next), ("is-path", is_path), ("is-timer", edge.timed))
        stroke = line(placed.corners)
        text = (
            f'<g class="{look}" data-source="{escaped(edge.source)}" data-target="{escaped(edge.target)}">'
            f'<path class="lc-casing" d="{stroke}"/><path class="lc-line" d="{stroke}"/>'
            f'<path class="lc-head" d="{head(placed.corners)}"/></g>'
        )
        drawn.append((2 if is_path else 1 if is_next else 0, text))
    return [text for _, text in sorted(drawn, key=lambda item: item[0])]


def start_of(start: PlacedStart, shown: Highlights) -> str:
    versions = shown.created.get(start.target, ())
    x, y = start.corners[0]
    look = _classes("lc-edge is-start", ("is-path", bool(versions)))
    return (
        f'<g class="{look}" data-target="{escaped(start.target)}"><path class="lc-line" d="{line(start.corners)}"/>'
        f'<circle class="lc-dot" cx="{number(x)}" cy="{number(y)}" r="{number(DOT)}"/>'
        f'<path class="lc-head" d="{head(start.corners)}"/>{_step(versions, start.step, to_the_left=False)}</g>'
    )


def _step(versions: Sequence[int], at: Rect, *, to_the_left: bool) -> str:
    """The number of the step: "2", "3·6"; of more than two the first and the last; of long ones the last alone."""
    if not versions:
        return ""
    text, small = _step_text(versions)
    width = max(STEP_WIDTH, round(_step_width(text, small=small)))
    x = at.x
    if to_the_left:
        # The longer the number, the further over the label: its left distance stays enough.
        x += (
            at.width
            - width
            + ((STEP_OVERLAP_SMALL if small else STEP_OVERLAP_WIDE) - STEP_OVERLAP) * (width > STEP_WIDTH)
        )
    look = "lc-step is-small" if small else "lc-step"
    return (
        f'<g class="{look}"><title>{", ".join(map(str, versions))}</title>'
        f'<rect x="{number(x)}" y="{number(at.y)}" width="{number(width)}" height="15" rx="7.5"/>'
        f'<text x="{number(x + width / 2)}" y="{number(at.y + (10.5 if small else 11.2))}">{text}</text></g>'
    )


def _step_text(versions: Sequence[int]) -> tuple[str, bool]:
    """The text and whether it is set small: a label's left distance has room for so much and no more."""
    last = str(versions[-1])
    several = f"{versions[0]}{'·' if len(versions) == 2 else '…'}{last}"
    for text in [several, last] if len(versions) > 1 else [last]:
        for small in (False, True):
            if _step_width(text, small=small) <= (STEP_WIDEST_SMALL if small else STEP_WIDEST):
                return text, small
    return f"…{last[-2:]}", True


def _step_width(text: str, *, small: bool) -> float:
    size, around = (STEP_FONT_SMALL, 3.0) if small else (STEP_FONT, 5.5)
    return text_width(text, size, semibold=True) + around


# Labels -----------------------------------------------------------------------------------------------


def labels(graph: Graph, layout: Layout, shown: Highlights) -> Iterable[str]:
    for edge, placed in zip(graph.edges, layout.edges, strict=True):
        if len(placed.labels) > 1:
            yield f'<rect class="lc-label-back" {_rect(placed.back)}/>'
        for label, at in zip(edge.labels, placed.labels, strict=True):
            yield _label(edge, label, at, shown)


def _label(edge: Edge, label: Label, at: PlacedLabel, shown: Highlights) -> str:
    versions = shown.steps.get((edge.source, edge.target, label.transition), ())
    is_next = edge.source in shown.here
    look = _classes(
        "lc-label is-manual" if label.manual else "lc-label is-system",
        ("is-next", is_next),
        ("is-open", is_next and label.manual and label.transition in shown.open),
        ("is-path", bool(versions)),
        ("is-timer", label.timed),
    )
    middle = at.box.middle
    x = middle[0] + (CLOCK / 2 if label.timed else 0)
    clock = (
        f'<path class="lc-clock" transform="translate({number(at.box.x + 13)} {number(middle[1])})" d="{CLOCK_SIGN}"/>'
    )
    shoulder = Rect(at.box.x - STEP_WIDTH + STEP_OVERLAP, middle[1] - STEP_HEIGHT / 2, STEP_WIDTH, STEP_HEIGHT)
    return (
        f'<g class="{look}" data-transition="{escaped(label.transition)}" data-source="{escaped(edge.source)}"'
        f' data-target="{escaped(edge.target)}">'
        f'<rect class="lc-label-box" {_rect(at.box)} rx="10.5"/>{clock if label.timed else ""}'
        f"{_lines(at.lines, x, middle[1] + 4, LABEL_LINE)}{_step(versions, shoulder, to_the_left=True)}</g>"
    )


def _lines(texts: Sequence[str], x: float, y: float, pitch: float, look: str = "") -> str:
    top = y - pitch * (len(texts) - 1) / 2
    look = f' class="{look}"' if look else ""
    return "".join(
        f'<text{look} x="{number(x)}" y="{number(top + pitch * at)}">{escaped(text)}</text>'
        for at, text in enumerate(texts)
    )


# Boxes ------------------------------------------------------------------------------------------------


def nodes(graph: Graph, layout: Layout, shown: Highlights) -> Iterable[str]:
    for node, placed in zip(graph.nodes, layout.nodes, strict=True):
        if node.is_pill:
            x, y = placed.box.middle
            yield (
                f'<g class="lc-node is-any"><title>{escaped(node.title)}</title>'
                f'<rect class="lc-box" {_rect(placed.box)} rx="13"/>'
                f"{_lines(placed.lines, x, y + 4.2, NAME_LINE)}</g>"
            )
        else:
            yield _state(node, placed, shown)


def references(layout: Layout) -> Iterable[str]:
    """Where a line leads to a state that stands in another part of the picture."""
    for edge in layout.edges:
        if edge.reference:
            x, y = edge.reference.box.middle
            yield (
                f'<g class="lc-node is-elsewhere" data-elsewhere="{escaped(edge.target)}">'
                f"<title>{escaped(words.drawn_elsewhere(' '.join(edge.reference.lines)))}</title>"
                f'<rect class="lc-box" {_rect(edge.reference.box)} rx="13"/>'
                f"{_lines(edge.reference.lines, x, y + 4.2, NAME_LINE)}</g>"
            )


def _state(node: Node, placed: PlacedNode, shown: Highlights) -> str:
    box = placed.box
    counted = shown.counts is not None
    count = (shown.counts or {}).get(node.name, Count(0))
    look = _classes(
        f"lc-node tone-{node.tone}",
        ("is-final", node.final),
        ("is-deprecated", node.deprecated),
        ("is-visited", node.name in shown.visited and node.name != shown.current),
        ("is-current", node.name == shown.current),
        ("is-empty", counted and not count.number),
        ("is-late", counted and count.late),
    )
    x, y = box.middle
    parts = [
        f'<rect class="lc-halo" {_rect(_grown(box, HALO))} rx="14"/><rect class="lc-box" {_rect(box)} rx="10"/>',
        f'<rect class="lc-inner" {_rect(_grown(box, -INSET))} rx="7"/>' if node.final else "",
        _counted(placed, count) if counted else _lines(placed.lines, x, y + 4.6, NAME_LINE, "lc-name"),
        f'<circle class="lc-here" cx="{number(box.x + 9.5)}" cy="{number(y)}" r="3.4"/>',
    ]
    return f'<g class="{look}" data-state="{escaped(node.name)}">{"".join(parts)}</g>'


def _counted(placed: PlacedNode, count: Count) -> str:
    """The name to the left, the number to the right, below them how long the oldest has been there."""
    box = placed.box
    left, right = number(box.x + 14), number(box.x + box.width - 14)
    middle = box.y + box.height / 2
    y = number(middle - 4.5 if count.oldest else middle + 4.8)
    text = f'<text class="lc-name at-start" x="{left}" y="{y}">{escaped(placed.lines[0])}</text>'
    text += f'<text class="lc-count" x="{right}" y="{y}">{count.number}</text>'
    if not count.oldest:
        return text
    second = box.x + 14
    if count.late:
        text += f'<path class="lc-late" transform="translate({left} {number(middle + 2.5)})" d="{TRIANGLE}"/>'
        second += LATE_SIGN
    oldest = escaped(words.oldest(count.oldest))
    return f'{text}<text class="lc-sub" x="{number(second)}" y="{number(middle + 12.5)}">{oldest}</text>'


# Attributes ------------------------------------------------------------------------------------------------


def _classes(first: str, *others: tuple[str, bool]) -> str:
    return " ".join([first, *(name for name, holds in others if holds)])


def _rect(rect: Rect) -> str:
    return f'x="{number(rect.x)}" y="{number(rect.y)}" width="{number(rect.width)}" height="{number(rect.height)}"'


def _grown(rect: Rect, by: float) -> Rect:
    return Rect(rect.x - by, rect.y - by, rect.width + 2 * by, rect.height + 2 * by)


def escaped(text: str) -> str:
    """A text as it may stand in an element or an attribute."""
    return escape(clean(text), quote=True)
