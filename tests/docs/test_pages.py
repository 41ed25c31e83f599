"""Every page of the documentation: its code compiles, its links lead somewhere, its tables are what the code says."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, blocks, pictures

names = [page.relative_to(ROOT).as_posix() for page in PAGES]


@pytest.mark.parametrize("name", names)
def test_every_code_block_is_code(name: str) -> None:
    for block in blocks(ROOT / name):
        where = f"{name}:{block.line}"
        try:
            if block.language == "python":
                ast.parse(block.text)
            elif block.language == "json":
                json.loads(block.text)
            elif block.language == "toml":
                tomllib.loads(block.text)
        except (SyntaxError, ValueError) as error:
            pytest.fail(f"{where}: {error}")
        assert block.language, f"{where}: a block without a language"


@pytest.mark.parametrize("name", names)
def test_every_import_of_the_library_on_a_page_works(name: str) -> None:
    for block in blocks(ROOT / name):
        if block.language != "python":
            continue
        for node in ast.walk(ast.parse(block.text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "lifecycle":
                line = ast.unparse(node)
                try:
                    exec(line, {})
                except ImportError as error:
                    pytest.fail(f"{name}:{block.line}: {line}: {error}")


@pytest.mark.parametrize("name", names)
def test_every_link_to_a_file_leads_to_one(name: str) -> None:
    page = ROOT / name
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    missing = [target for target in targets if "://" not in target and not (page.parent / target).resolve().exists()]
    assert missing == []


def test_every_picture_is_shown_by_a_page_and_small_enough_to_be_loaded_with_it() -> None:
    shown = {(page.parent / target).resolve() for page in PAGES for target in pictures(page.read_text())}
    there = set((ROOT / "docs" / "images").glob("*"))
    assert shown == there
    assert [path.name for path in there if path.stat().st_size > 150_000] == []


@pytest.mark.parametrize("name", names)
def test_every_picture_says_in_words_what_it_shows(name: str) -> None:
    text = (ROOT / name).read_text()
    assert re.findall(r"!\[\]", text) == []
    assert len(re.findall("<img ", text)) == len(re.findall(r'<img [^>]*alt="[^"]+"', text))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", names)
def test_every_link_to_a_heading_leads_to_one(name: str) -> None:
    page = ROOT / name
    targets = re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", page.read_text())
    missing = [
        f"{path}#{anchor}"
        for path, anchor in targets
        if "://" not in path and anchor not in anchors((page.parent / path).resolve() if path else page)
    ]
    assert missing == []


def test_every_page_is_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or not page.exists():
            continue
        reached.add(page)
        links = re.findall(r"\]\(([^)#\s]+\.md)", page.read_text())
        waiting.extend((page.parent / link).resolve() for link in links if "://" not in link)
    assert sorted(set(PAGES) - reached) == []


def test_every_file_that_the_table_of_changes_names_is_there() -> None:
    """In "Where do I change X?" a bare file name stands in the folder of the path before it."""
    rows = [line for line in (ROOT / "CONTRIBUTING.md").read_text().splitlines() if re.match(r"\| .*`\w+/", line)]
    assert len(rows) > 20
    missing = []
    for row in rows:
        folder = ROOT
        for name in re.findall(r"`([\w./-]+)`", row):
            path = ROOT / name if "/" in name else folder / name
            folder = path if name.endswith("/") else path.parent
            if not path.exists():
                missing.append(path.relative_to(ROOT).as_posix())
    assert missing == []


def test_the_generated_tables_are_what_the_code_says() -> None:
    ran = subprocess.run(
        [sys.executable, "docs/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
