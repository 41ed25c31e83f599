"""Measure: how wide a text will be in whatever sans serif a browser has, and where long names break."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

# Advance widths in steps of 0.05 em, taken from the widest common sans serif: most fonts are some 15 % narrower, so a
# text drawn from these figures fits its box everywhere.
STEPS = {
    6: "'il",
    7: "j",
    8: " ,.ft",
    9: "!Ir",
    10: '"()-/:;J[\\]|',
    11: "?csz",
    12: "FLkvxy",
    13: "$*0123456789EPTY_`abdeghnopqu{}",
    14: "ABCKRSVXZ",
    15: "NU",
    16: "&DGHOQ",
    17: "#+<=>^w~",
    18: "M",
    20: "@Wm",
    22: "%",
}
EM = {sign: steps / 20 for steps, signs in STEPS.items() for sign in signs} | {"·": 0.4, "…": 0.9, "–": 0.65, "—": 1.0}
WIDE = 1.0
UNKNOWN = 0.75
SEMIBOLD = 1.08
ELLIPSIS = "…"


def text_width(text: str, size: float, *, semibold: bool = False) -> float:
    """The room a text needs, in pixels, in a font of ``size`` pixels."""
    return _ems(text) * size * (SEMIBOLD if semibold else 1.0)


def lines(text: str, size: float, *, broken_from: float, at_most: int, semibold: bool = False) -> tuple[str, ...]:
    """A name on one or more lines: broken at spaces when it is wider than ``broken_from`` pixels.

    A word too long for a line of its own is cut where it must be; what ``at_most`` lines cannot hold ends in an
    ellipsis. White space is folded, signs without a shape are dropped.
    """
    words = clean(text).split() or ["?"]
    limit = broken_from / size / (SEMIBOLD if semibold else 1.0)
    if _ems(" ".join(words)) <= limit:
        return (" ".join(words),)
    balanced = _balanced(words, limit)
    if len(balanced) > at_most:
        balanced = [*balanced[: at_most - 1], _shortened(" ".join(balanced[at_most - 1 :]), limit)]
    return tuple(balanced)


def _balanced(words: list[str], limit: float) -> list[str]:
    """As few lines as fit, then as even as that number allows: "Refund needs / attention", never one orphan."""
    pieces = [piece for word in words for piece in _pieces(word, limit)]
    limit = max(limit, *map(_ems, pieces))  # a long word makes the box wide; the other lines may use it
    filled = _filled(pieces, limit)
    narrowest = limit
    while narrowest > 1:
        tried = _filled(pieces, narrowest - 0.5)
        if len(tried) > len(filled) or any(_ems(line) > narrowest - 0.5 for line in tried):
            break
        filled, narrowest = tried, narrowest - 0.5
    return filled


def _filled(pieces: list[str], limit: float) -> list[str]:
    found = [pieces[0]]
    for piece in pieces[1:]:
        longer = f"{found[-1]} {piece}"
        if _ems(longer) <= limit:
            found[-1] = longer
        else:
            found.append(piece)
    return found


def _pieces(word: str, limit: float) -> list[str]:
    """A word, cut only if no line could hold it."""
    limit *= 1.4  # a box may grow by this much before a word is cut inside
    pieces = []
    while _ems(word) > limit:
        cut = next(length for length in range(len(word), 0, -1) if length == 1 or _ems(word[:length]) <= limit)
        pieces.append(word[:cut])
        word = word[cut:]
    return [*pieces, word] if word else pieces


def _shortened(text: str, limit: float) -> str:
    while text and _ems(text) + EM[ELLIPSIS] > limit:
        text = text[:-1]
    return text.rstrip() + ELLIPSIS


def clean(text: str) -> str:
    """Without control signs and lone surrogates: they have no shape, and XML has no way to write most of them."""
    return "".join(" " if sign.isspace() else "" if _is_unwritable(sign) else sign for sign in text)


def _is_unwritable(sign: str) -> bool:
    return unicodedata.category(sign) in {"Cc", "Cs"} or sign in "\ufffe\uffff"


@lru_cache(maxsize=4096)
def _ems(text: str) -> float:
    return sum(EM.get(sign) or _unusual(sign) for sign in text)


@lru_cache(maxsize=4096)
def _unusual(sign: str) -> float:
    """Accented letters by their base letter, East Asian wide signs 1 em, combining ones nothing."""
    if unicodedata.combining(sign) or unicodedata.category(sign) in {"Mn", "Me", "Cf"}:
        return 0.0
    if unicodedata.east_asian_width(sign) in "WF":
        return WIDE
    base = unicodedata.normalize("NFD", sign)[0]
    return EM.get(base, WIDE if ord(sign) > 0x1F000 else UNKNOWN)
