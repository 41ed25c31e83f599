"""The German catalogues: all that is said has its translation, with the same placeholders, compiled as it stands."""

from __future__ import annotations

import ast
import gettext
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parent.parent.parent
APPS = ["lifecycle", "orders"]
ALIASES = {"_", "gettext", "gettext_lazy", "ngettext", "ngettext_lazy", "pgettext", "pgettext_lazy"}
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%[sd]|\{\w*\}")


def said(app: str) -> set[tuple[str, str]]:
    """What the app's code and templates mark for translation, as (context, text)."""
    found = set()
    for path in (ROOT / app).rglob("*"):
        if path.suffix == ".py":
            found |= set(_marked(path.read_text()))
        elif path.suffix == ".html":
            found |= set(_in_template(path.read_text()))
    return found


def _marked(source: str) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name not in ALIASES or not all(isinstance(one, ast.Constant) for one in node.args[:1]) or not node.args:
            continue
        texts = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        if name.startswith("pgettext") and len(texts) == 2:
            yield texts[0], texts[1]
        elif texts:
            yield "", texts[0]


def _in_template(source: str) -> Iterator[tuple[str, str]]:
    # Django's own reading for xgettext: Python calls between crossed-out text.
    text = r"""u?('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
    calls = re.compile(rf"\b(gettext|ngettext|pgettext|npgettext|_)\(\s*{text}(?:\s*,\s*{text})?")
    for call, first, second in calls.findall(templatize(source)):
        if call in ("pgettext", "npgettext"):
            yield ast.literal_eval(first), ast.literal_eval(second)
        else:
            yield "", ast.literal_eval(first)


def catalogue(app: str) -> dict[str | tuple[str, int], str]:
    with (ROOT / app / "locale" / "de" / "LC_MESSAGES" / "django.mo").open("rb") as compiled:
        held: dict[str | tuple[str, int], str] = gettext.GNUTranslations(compiled)._catalog  # type: ignore[attr-defined]
        return held


@pytest.mark.parametrize("app", APPS)
def test_everything_that_is_said_is_said_in_german(app: str) -> None:
    held = catalogue(app)
    missing = []
    for context, text in sorted(said(app)):
        key = f"{context}\x04{text}" if context else text
        if text.strip() and not (held.get(key) or held.get((key, 0))):
            missing.append(text)
    assert missing == []


@pytest.mark.parametrize("app", APPS)
def test_a_translation_holds_what_the_text_holds(app: str) -> None:
    wrong = []
    for key, translation in catalogue(app).items():
        text = key[0] if isinstance(key, tuple) else key
        ours, theirs = set(PLACEHOLDER.findall(text)), set(PLACEHOLDER.findall(translation))
        # A singular may leave its number out ("one refund"); its plural has it.
        if (theirs - ours and not isinstance(key, tuple)) or ours - theirs:
            wrong.append((text, translation))
    assert wrong == []


@pytest.mark.parametrize("app", APPS)
def test_the_compiled_catalogue_is_the_one_that_is_read(app: str) -> None:
    source = (ROOT / app / "locale" / "de" / "LC_MESSAGES" / "django.po").read_text(encoding="utf-8")
    assert "fuzzy" not in source
    written = {
        "".join(ast.literal_eval(line) for line in block.splitlines())
        for block in re.findall(r'^msgstr(?:\[\d\])? ((?:".*"\n?)+)', source, re.MULTILINE)
    }
    assert {text for text in catalogue(app).values() if "Content-Type" not in text} == {
        text for text in written if text and "Content-Type" not in text
    }
