"""Axe: what axe-core finds wrong with a page for people who see little, hear it, or use only a keyboard."""

from __future__ import annotations

from functools import cache
from importlib import resources

import pytest
from playwright.sync_api import Page

RUN = """async (root) => {
  const found = await axe.run(root ? { include: [root] } : document);
  return found.violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 160)}`));
}"""


@cache
def _script() -> str:
    pytest.importorskip("axe_playwright_python", reason="`make setup` installs axe-core")
    return resources.files("axe_playwright_python").joinpath("axe.min.js").read_text()


def faults(page: Page, root: str = "") -> list[str]:
    """Every violation of axe's rules on the page as it stands, or in the part that a selector names."""
    page.evaluate(f"{_script()}; undefined")
    found: list[str] = page.evaluate(RUN, root)
    return found
