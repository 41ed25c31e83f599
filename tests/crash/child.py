"""A worker process that ends itself at a named point: python -m tests.crash.child DATABASE POINT TIMES LOG."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import django


def main(database: str, point: str, times: int, log: Path) -> None:
    django.setup()
    from django.db import connections

    connections["default"].settings_dict["NAME"] = database

    from lifecycle.execution import interference, points
    from lifecycle.execution.drain import drain
    from tests.crash.test_points import starts

    left = times

    def reach(name: str) -> None:
        nonlocal left
        if name != point:
            return
        left -= 1
        if left == 0:
            os._exit(77)

    points.hook = reach
    interference.before = starts(log)
    drain(seconds=30)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
