"""Code blocks of the documentation's pages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "orders" / "README.md"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", EXAMPLE, *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(?P<language>\w*)(?P<words>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)

# As Markdown has them, and as pages have those for light and dark.
PICTURE = re.compile(r'<(?:img|source) [^>]*?(?:src|srcset)="([^"]+)"|!\[[^\]]*\]\(([^)]+)\)')


def pictures(text: str) -> list[str]:
    """The files of the pictures that a page shows."""
    return ["".join(target) for target in PICTURE.findall(text)]


@dataclass(frozen=True)
class Block:
    """One fenced block: ```` ```python title="shop/models.py" append ````."""

    page: str
    line: int
    language: str
    title: str
    appends: bool
    text: str


def blocks(page: Path) -> list[Block]:
    source = page.read_text()
    found = []
    for match in BLOCK.finditer(source):
        title = re.search(r'title="([^"]+)"', match["words"])
        found.append(
            Block(
                page=page.relative_to(ROOT).as_posix(),
                line=source[: match.start()].count("\n") + 1,
                language=match["language"],
                title=title[1] if title else "",
                appends="append" in match["words"].split(),
                text=match["text"],
            )
        )
    return found
