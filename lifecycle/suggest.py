"""Suggestion: the nearest right name for a wrong one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(wrong: object, known: Iterable[str]) -> str | None:
    """The known name most like the wrong one, or None when nothing is near."""
    if not isinstance(wrong, str):
        return None
    names = {name.casefold(): name for name in known}
    found = difflib.get_close_matches(wrong.casefold(), names, n=1, cutoff=0.6)
    return names[found[0]] if found else None


def did_you_mean(wrong: object, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: the nearest right one, then the list."""
    known = [str(name) for name in known]
    guess = nearest(wrong, known)
    start = f"Did you mean '{guess}'? " if guess else ""
    if not known:
        return f"{start}There are none."
    return f"{start}Known: {', '.join(known)}."
