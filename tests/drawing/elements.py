"""Elements: what a test looks for in a picture's SVG."""

from __future__ import annotations

from xml.etree import ElementTree as ET

SVG = "{http://www.w3.org/2000/svg}"


def parsed(text: str) -> ET.Element:
    return ET.fromstring(text)


def classes(element: ET.Element) -> set[str]:
    return set(element.get("class", "").split())


def state(picture: ET.Element, name: str) -> ET.Element:
    return next(group for group in picture.iter(f"{SVG}g") if group.get("data-state") == name)


def line(picture: ET.Element, source: str, target: str) -> ET.Element:
    return next(
        group
        for group in picture.iter(f"{SVG}g")
        if "lc-edge" in classes(group) and (group.get("data-source"), group.get("data-target")) == (source, target)
    )


def label(picture: ET.Element, transition: str, source: str) -> ET.Element:
    return next(
        group
        for group in picture.iter(f"{SVG}g")
        if (group.get("data-transition"), group.get("data-source")) == (transition, source)
    )


def step_of(group: ET.Element) -> str | None:
    return next(("".join(one.find(f"{SVG}text").itertext()) for one in group if "lc-step" in classes(one)), None)  # type: ignore[union-attr]
