"""Addresses of a record's endpoints, as routers with regular expressions and with path converters read them."""

from __future__ import annotations

import re
from typing import Any

RUN = r"(?P<run>[^/.]+)"
# What DRF's own pattern of a key leaves out, and Django would answer in HTML.
DOTTED = (
    r"(?P<dotted>[^/]*\.[^/]*/(?:lifecycle|fire|history|runs)"
    r"|(?:[^/]*\.[^/]*/runs/[^/]+|[^/]+/runs/[^/]*\.[^/]*)/(?:retry|continue|cancel))"
)
ANY_BUT_DOTS = "[^/.]+"
NUMBER = re.compile(r"0|-?[1-9][0-9]*")


def with_converter(one: Any) -> Any:
    """An action whose address names its run as path converters do."""

    def route(*args: Any, **kwargs: Any) -> Any:  # a router reads names and attributes, and binds by name
        return one(*args, **kwargs)

    route.__dict__.update(one.__dict__)
    route.__name__, route.__doc__ = one.__name__, one.__doc__
    route.url_path = one.url_path.replace(RUN, "<str:run>")  # type: ignore[attr-defined]
    return route
