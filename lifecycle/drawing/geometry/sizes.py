"""Size: how much room a box and the labels of a line take, and on which lines their texts break."""

from __future__ import annotations

from dataclasses import dataclass

from lifecycle.drawing.geometry.measure import lines, text_width
from lifecycle.drawing.graph import Edge, Node

NAME, NAME_LINE, SMALL = 13.5, 20.0, 12.0
LABEL_LINE, LABEL_HEIGHT, LABEL_PITCH, NEAR_LINE = 14.0, 21.0, 24.0, 14.0
NARROWEST, PADDING, LABEL_PADDING, CLOCK = 76.0, 32.0, 16.0, 15.0
PILL_HEIGHT, BOX_HEIGHT, COUNT_HEIGHT = 26.0, 36.0, 52.0
BREAK, BREAK_NEAR, BREAK_LABEL, BREAK_LABEL_NEAR = 150.0, 104.0, 200.0, 80.0
AT_MOST_LINES = 4
BETWEEN_COUNT = 20.0
COUNT_PADDING = 28.0


@dataclass(frozen=True)
class Style:
    """What else decides sizes: the near diagram breaks texts earlier; counts need room beside and below a name."""

    near: bool = False
    count_width: float = 0.0
    second_width: float = 0.0

    @property
    def has_counts(self) -> bool:
        return self.count_width > 0


PLAIN = Style()


@dataclass(frozen=True)
class LabelBlock:
    """The labels of one line under each other."""

    width: float
    height: float
    parts: tuple[tuple[str, tuple[str, ...], float, float], ...]  # transition, lines, width, height


def even(size: float) -> float:
    """Sizes are even numbers, so that middles are whole ones and lines stay sharp."""
    return float(-(-size // 2) * 2)


def name_lines(node: Node, style: Style) -> tuple[str, ...]:
    if not node.is_state:
        return lines(node.text, SMALL, broken_from=2 * BREAK, at_most=1)
    if style.has_counts:
        return lines(node.text, NAME, broken_from=2 * BREAK, at_most=1, semibold=True)
    broken_from = BREAK_NEAR if style.near else BREAK
    return lines(node.text, NAME, broken_from=broken_from, at_most=AT_MOST_LINES, semibold=True)


def box_size(node: Node, names: tuple[str, ...], style: Style) -> tuple[float, float]:
    if not node.is_state:
        return even(text_width(names[0], SMALL) + 20), PILL_HEIGHT
    width = max(text_width(line, NAME, semibold=True) for line in names)
    if style.has_counts:
        wide = max(width + BETWEEN_COUNT + style.count_width, style.second_width)
        return even(max(NARROWEST, wide + COUNT_PADDING)), COUNT_HEIGHT
    return even(max(NARROWEST, width + PADDING)), BOX_HEIGHT + NAME_LINE * (len(names) - 1)


def block_of(edge: Edge, style: Style) -> LabelBlock:
    parts = []
    for label in edge.labels:
        broken_from = BREAK_LABEL_NEAR if style.near else BREAK_LABEL
        text = lines(label.text, SMALL, broken_from=broken_from, at_most=3)
        width = max(text_width(line, SMALL) for line in text) + LABEL_PADDING + (CLOCK if label.timed else 0)
        parts.append((label.transition, text, even(width), LABEL_HEIGHT + LABEL_LINE * (len(text) - 1)))
    height = sum(height for *_, height in parts) + (LABEL_PITCH - LABEL_HEIGHT) * (len(parts) - 1)
    return LabelBlock(max(width for _, _, width, _ in parts), height, tuple(parts))
