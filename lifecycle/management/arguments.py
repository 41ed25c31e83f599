"""Arguments: what several commands take, read in one way and refused in one way (exit code 2)."""

from __future__ import annotations

import datetime as dt
import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterable
from typing import Final

from django.core.management.base import CommandError
from django.db import connections

from lifecycle import registry
from lifecycle.definition.compiled import Definition
from lifecycle.definition.durations import LONGEST
from lifecycle.exceptions import UnknownLifecycle
from lifecycle.suggest import did_you_mean

FOUND: Final = 1
WRONG_USAGE: Final = 2


def add_database(parser: ArgumentParser, default: str = "all that hold our tables") -> None:
    """``--database``; ``--using`` is the same."""
    parser.add_argument(
        "--database", "--using", dest="using", metavar="ALIAS", help=f"Only this database. Default: {default}."
    )


def add_format(parser: ArgumentParser) -> None:
    """``--format text|json``; JSON goes to stdout alone, everything else to stderr."""
    parser.add_argument("--format", choices=["text", "json"], default="text", help="How to print the outcome (text).")


_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DURATION = re.compile(r"(?P<number>\d{1,9}(?:\.\d{1,6})?)(?P<unit>[smhdw]?)")


def duration(text: str) -> dt.timedelta:
    """A type for argparse: ``90s``, ``15m``, ``2h``, ``30d``; a bare number is seconds."""
    match = _DURATION.fullmatch(text.strip().lower())
    try:
        if match is None:
            raise OverflowError
        found = dt.timedelta(**{_UNITS[match["unit"] or "s"]: float(match["number"])})
        if found > LONGEST:
            raise OverflowError
        return found
    except OverflowError:
        raise ArgumentTypeError(f"expected a duration such as 90s, 15m, 2h or 30d, got {text!r}") from None


def number(least: int, most: int) -> type[int]:
    """A type for argparse: a whole number in a range."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            raise ArgumentTypeError(f"expected a number from {least} to {most}, got {text!r}")
        return value

    return read  # type: ignore[return-value]  # argparse takes any callable; its stubs want one type


def database(alias: str | None) -> str | None:
    """The alias as given, or None.

    Raises:
        CommandError: DATABASES has no such alias.
    """
    if alias is not None and alias not in connections:
        raise wrong(f"DATABASES has no alias '{alias}'. {did_you_mean(alias, connections)}")
    return alias


def definition(name: str) -> Definition:
    """The lifecycle of this name.

    Raises:
        CommandError: there is none.
    """
    try:
        return registry.get(name)
    except UnknownLifecycle as error:
        raise wrong(str(error)) from None


def one_of(what: str, name: str, known: Iterable[str], *, of: str = "") -> str:
    """The name as given, if it is one of these.

    Raises:
        CommandError: it is not; with the nearest right one.
    """
    names = list(known)
    if name not in names:
        start = f"'{of}' has" if of else "There is"
        raise wrong(f"{start} no {what} '{name}'. {did_you_mean(name, names)}")
    return name


def wrong(sentence: str) -> CommandError:
    """The error that the command was called wrongly."""
    return CommandError(sentence, returncode=WRONG_USAGE)


def found(sentence: str) -> CommandError:
    """The error that the command did what it should and has bad news."""
    return CommandError(sentence, returncode=FOUND)
