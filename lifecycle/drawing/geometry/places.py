"""Place: where each box, label and line of a picture stands, in pixels."""

from __future__ import annotations

from dataclasses import dataclass

Point = tuple[float, float]


@dataclass(frozen=True)
class Rect:
    """A rectangle by its upper left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> Point:
        return self.x + self.width / 2, self.y + self.height / 2


@dataclass(frozen=True)
class PlacedNode:
    """A box and its lines of text."""

    name: str
    box: Rect
    lines: tuple[str, ...]


@dataclass(frozen=True)
class PlacedLabel:
    """A label's pill and its lines of text."""

    transition: str
    box: Rect
    lines: tuple[str, ...]


@dataclass(frozen=True)
class PlacedEdge:
    """A line by its corners, from its source's border to its target's; ``back`` lies opaque behind its labels.

    Where the target stands in another part of the picture, the line ends on a ``reference`` to it.
    """

    source: str
    target: str
    corners: tuple[Point, ...]
    back: Rect
    labels: tuple[PlacedLabel, ...]
    reference: PlacedNode | None = None


@dataclass(frozen=True)
class PlacedStart:
    """The dot of an initial state and the corners of its arrow; ``step`` is the room for its number."""

    target: str
    corners: tuple[Point, ...]
    step: Rect


@dataclass(frozen=True)
class Layout:
    """A whole picture. ``to_the_right`` if it runs that way instead of down."""

    width: float
    height: float
    to_the_right: bool
    nodes: tuple[PlacedNode, ...]
    edges: tuple[PlacedEdge, ...]
    starts: tuple[PlacedStart, ...]
