"""Corners: how often the lines of a picture bend, read from the paths of its SVG as a browser draws them."""

from __future__ import annotations

from xml.etree import ElementTree as ET

PATH = "{http://www.w3.org/2000/svg}path"


def lines(text: str) -> list[str]:
    """The path data of every line, arrows of initial states included."""
    return [path.get("d", "") for path in ET.fromstring(text).iter(PATH) if path.get("class") == "lc-line"]


def corners(text: str) -> int:
    """Every bend of every line: each is drawn as one curve."""
    return sum(line.count("Q") for line in lines(text))


def straight(text: str) -> int:
    """How many lines do not bend at all."""
    return sum("Q" not in line for line in lines(text))
