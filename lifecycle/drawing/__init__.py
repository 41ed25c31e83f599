"""Drawing: how a lifecycle looks — as SVG for pages, as lists for screen readers, as text for other tools."""

from __future__ import annotations

from lifecycle.drawing.dot import dot
from lifecycle.drawing.highlights import Count
from lifecycle.drawing.legend import legend
from lifecycle.drawing.mermaid import mermaid
from lifecycle.drawing.outline import outline
from lifecycle.drawing.svg import is_large, layout, svg

__all__ = ["Count", "dot", "is_large", "layout", "legend", "mermaid", "outline", "svg"]
