"""The glossary, and the short one on pages of the admin: one sentence for one word."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "reference" / "glossary.md"
SHORT = ROOT / "lifecycle" / "templates" / "admin" / "lifecycle" / "glossary.html"


def words(text: str) -> str:
    return " ".join(text.replace("’", "'").split())


def defined() -> dict[str, str]:
    """Each word with its definition: a heading with what follows, or a row of a table."""
    text = PAGE.read_text()
    headings = re.findall(r"^### (.+?)\n(.+?)(?=^#)", text, re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\| (?!word |---)(.+?) \| (.+) \|$", text, re.MULTILINE)
    return {word.lower(): words(meaning) for word, meaning in [*headings, *rows]}


def test_the_admin_explains_a_word_in_the_sentence_of_the_glossary() -> None:
    said = re.findall(r"<dt>{% translate '(.+?)' %}</dt><dd>{% translate '(.+?)' %}</dd>", SHORT.read_text())
    assert len(said) > 5
    known = defined()
    assert [word for word, meaning in said if words(meaning) not in known.get(word.lower(), "")] == []


def test_no_word_is_defined_twice() -> None:
    text = PAGE.read_text()
    assert len(defined()) == len(re.findall(r"^### |^\| (?!word |---)", text, re.MULTILINE))
