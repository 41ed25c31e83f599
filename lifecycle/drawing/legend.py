"""Legend: the key to the diagram's signs, as an HTML list."""

from __future__ import annotations

from html import escape

from lifecycle.drawing import words
from lifecycle.drawing.strokes import CLOCK

ARROW = '<path class="lc-line" d="M1 8H22"/><path class="lc-head" d="M29 8 21 3.8 23 8 21 12.2Z"/>'
BOX = (
    '<rect class="lc-halo" x="3" y="1" width="24" height="14" rx="5"/>'
    '<rect class="lc-box" x="5.5" y="3.5" width="19" height="9" rx="3"/>'
    '<circle class="lc-here" cx="10.5" cy="8" r="2"/>'
)
NOW = f'<g class="lc-node is-current">{BOX}</g>'
PATH = f'<g class="lc-edge is-path">{ARROW}</g>'
NEXT = f'<g class="lc-edge is-next">{ARROW}</g>'
PEOPLE = '<g class="lc-label is-manual"><rect class="lc-label-box" x="1" y="1.5" width="28" height="13" rx="6.5"/></g>'
TIME = f'<path class="lc-clock" transform="translate(15 8)" d="{CLOCK}"/>'
FINAL = (
    '<g class="lc-node is-final"><rect class="lc-box" x="2" y="1" width="26" height="14" rx="4"/>'
    '<rect class="lc-inner" x="4.5" y="3.5" width="21" height="9" rx="2"/></g>'
)
ELSEWHERE = '<g class="lc-node is-elsewhere"><rect class="lc-box" x="2" y="2.5" width="26" height="11" rx="5.5"/></g>'
LATE = '<g class="lc-node is-late"><rect class="lc-box" x="2" y="2" width="26" height="12" rx="4"/></g>'


def legend(*, record: bool = True, counts: bool = False, parts: bool = False) -> str:
    """The key: of a record's picture, of one with the number of records, or of the lifecycle alone.

    ``parts`` where the picture is drawn in several.
    """
    signs = [
        (NOW, words.current(), record),
        (PATH, words.path_taken(), record),
        (NEXT, words.possible_from_here(), record),
        (PEOPLE, words.people_may(), True),
        ("", words.no_outline(), True),
        (TIME, words.by_time(), True),
        (FINAL, words.final(), True),
        (LATE, words.something_late(), counts),
        (ELSEWHERE, words.elsewhere(), parts),
    ]
    return f'<ul class="lc-legend">{"".join(_entry(sign, text) for sign, text, shown in signs if shown)}</ul>'


def _entry(sign: str, text: str) -> str:
    key = f'<svg viewBox="0 0 30 16" aria-hidden="true" focusable="false">{sign}</svg>' if sign else ""
    return f"<li>{key}{escape(text)}</li>"
