"""The servers that the suite finds or starts for itself."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import redis

from tests import __main__ as suite
from tests import conftest, servers


def test_a_named_server_that_does_not_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIFECYCLE_TEST_SERVERS", "none")
    monkeypatch.setenv("REDIS_URL", f"redis://127.0.0.1:{servers.free_port()}/0")
    with pytest.raises(SystemExit, match="REDIS_URL names"), servers.found():
        pass


def test_a_server_that_is_nowhere_is_missing_and_not_started_when_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIFECYCLE_TEST_SERVERS", "none")
    monkeypatch.setattr(servers, "postgres_version", lambda *_: "")
    monkeypatch.delenv("PGHOST", raising=False)
    with servers.found() as found:
        assert "postgres" in found.missing


def test_an_unknown_choice_is_refused_with_the_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIFECYCLE_TEST_SERVERS", "wheel")
    with pytest.raises(SystemExit, match="'wheels', 'none'"), servers.found():
        pass


def test_a_test_without_its_server_fails_on_ci_and_is_skipped_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="No Redis answers: start Redis"):
        conftest.needed("Redis", "", servers.REDIS_HINT)
    monkeypatch.setenv("CI", "")
    with pytest.raises(pytest.skip.Exception, match="make test"):
        conftest.needed("Redis", "", servers.REDIS_HINT)
    conftest.needed("Redis", "7.2", servers.REDIS_HINT)


@pytest.mark.parametrize(
    ("codes", "verdict"), [([0, 0], 0), ([1, 0], 1), ([0, 2], 2), ([0, 5], 0), ([5, 5], 5), ([5, 1], 1)]
)
def test_the_suite_fails_with_its_first_failed_pass_and_when_nothing_ran(codes: list[int], verdict: int) -> None:
    assert suite.verdict(codes) == verdict


@pytest.mark.parametrize("way", [suite.side_by_side, suite.one_by_one])
def test_what_a_pass_says_stands_whole_under_its_database(way: Any, capfd: pytest.CaptureFixture[str]) -> None:
    assert way(suite.PARTS, servers.Servers(), ["--version"]) == [0, 0, 0]
    version = f"pytest {pytest.__version__}"
    said = [line for line in capfd.readouterr().out.splitlines() if line]
    titles = ["== the suite on SQLite ==", "== the suite on PostgreSQL ==", "== the running example =="]
    assert said == [line for title in titles for line in (title, version)]


@pytest.mark.parametrize(
    ("place", "once", "passes"),
    [
        ("runtime/test_firing.py", False, ["first", "later"]),
        ("drawing/test_svg.py", True, ["first"]),
        ("admin/test_runs.py", False, ["first", "later"]),
        ("browser/shop/test_table.py", True, ["example"]),
        ("acceptance/test_demo.py", True, ["example"]),
    ],
)
def test_everything_is_run_by_some_pass(
    place: str, once: bool, passes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for part in suite.PARTS:
        monkeypatch.setattr(conftest, "PASS", part.name)
        if conftest.belongs(Path(place), once=once):
            found.append(part.name)
    assert found == passes


def test_a_pass_that_nobody_waits_for_any_more_is_ended() -> None:
    with suite.Pass(suite.PARTS[0], servers.Servers(), ["--fixtures"], None) as one:
        pass
    assert one._child.returncode is not None


def test_a_redis_of_its_own_is_killed_frozen_and_started_again_at_one_address(own_redis: servers.OwnRedis) -> None:
    client = redis.Redis.from_url(own_redis.url, socket_timeout=0.3, socket_connect_timeout=0.3)
    client.set("key", "value")

    own_redis.freeze()
    with pytest.raises(redis.TimeoutError):
        client.get("key")
    own_redis.thaw()
    assert client.get("key") == b"value"

    own_redis.kill()
    with pytest.raises(redis.ConnectionError):
        client.get("key")
    own_redis.start()
    assert client.get("key") is None
    client.close()


@pytest.mark.processes
def test_servers_from_wheels_answer_and_end_with_the_one_who_asked_for_them() -> None:
    keeper = subprocess.Popen(
        [sys.executable, "-m", "tests.servers", "keep", "postgres", "redis"],
        cwd=servers.ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert keeper.stdin is not None
    assert keeper.stdout is not None
    try:
        assert select.select([keeper.stdout], [], [], 60)[0], "the servers did not start in a minute"
        told = json.loads(keeper.stdout.readline())
        assert told["missing"] == []
        assert servers.postgres_version(told["environment"])
        assert servers.redis_version(told["environment"]["REDIS_URL"])

        keeper.stdin.close()
        assert keeper.wait(30) == 0
    finally:
        if keeper.poll() is None:
            os.killpg(keeper.pid, signal.SIGKILL)
            keeper.wait()
        keeper.stdout.close()
    assert not Path(told["environment"]["PGHOST"]).exists()
    assert not servers.postgres_version(told["environment"])
    assert not servers.redis_version(told["environment"]["REDIS_URL"])
