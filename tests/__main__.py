"""The whole suite: once on SQLite, then on PostgreSQL. Arguments go to pytest."""

from __future__ import annotations

import os
import sys
import zlib

from tests import servers

NOTHING_COLLECTED = 5


def main(arguments: list[str]) -> int:
    with servers.found() as found:
        announce(found)
        if found.missing and servers.required():
            return 1
        passes = ["sqlite"] if "postgres" in found.missing else ["sqlite", "postgres"]
        codes = [one_pass(number, database, found, arguments) for number, database in enumerate(passes)]
    return verdict(codes)


def announce(found: servers.Servers) -> None:
    for line in found.lines:
        print(f"servers: {line}", flush=True)
    for name in found.missing:
        what = f"PostgreSQL: its pass is left out; {servers.POSTGRES_HINT}"
        if name == "redis":
            what = f"Redis: tests that need it are skipped; {servers.REDIS_HINT}"
        print(f"servers: no {what}", flush=True)


def one_pass(number: int, database: str, found: servers.Servers, arguments: list[str]) -> int:
    print(f"\n== the suite on {database} ==", flush=True)
    environment = found.environment | {
        "LIFECYCLE_TEST_DATABASE": database,
        "LIFECYCLE_TEST_PASS": "first" if number == 0 else "later",
        "LIFECYCLE_TEST_SUFFIX": os.environ.get("LIFECYCLE_TEST_SUFFIX") or checkout(),
    }
    return servers.call([sys.executable, "-m", "pytest", *arguments], environment)


def checkout() -> str:
    """A short name of this working copy: two of them test on one server without meeting."""
    return f"_{zlib.crc32(str(servers.ROOT).encode()):08x}"


def verdict(codes: list[int]) -> int:
    """The first failure. A pass that had nothing to run is fine as long as another one had."""
    ran = [code for code in codes if code != NOTHING_COLLECTED]
    return next((code for code in ran if code), 0 if ran else NOTHING_COLLECTED)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
