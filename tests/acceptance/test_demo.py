"""The demo starts on any port, stops cleanly, and never outlives its terminal."""

from __future__ import annotations

import os
import re
import signal
import socket
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.stack import Demo, until

pytestmark = [pytest.mark.processes, pytest.mark.once]

Start = Callable[..., Demo]


@pytest.fixture
def start(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Start]:
    """Starts demos; whatever is left of them afterwards is ended."""
    demos: list[Demo] = []

    def start_one(*arguments: str, **environment: str) -> Demo:
        # Temporary folders of the demo lie in the test's own, so that what is left there can be seen.
        # Its data too: a developer's own demo is not the tests' to begin anew.
        environment = {"TMPDIR": str(tmp_path), "EXAMPLE_DATA_DIR": str(tmp_path / "data"), **environment}
        demos.append(Demo(*arguments, mark=f"{request.node.name}-{len(demos)}", **environment))
        return demos[-1]

    yield start_one
    for demo in demos:
        demo.close()


def ready(demo: Demo) -> str:
    """The demo's address, once its page answers and its worker is there."""
    address = demo.said(r"ready: (http://\S+)")
    with urllib.request.urlopen(address, timeout=10) as page:
        assert page.status == 200
    demo.said(r"worker \| .*ready|worker \| .*[Ww]orking|worker \| .*lifecycle_worker")
    return address


def chips(address: str) -> dict[str, int]:
    """How many orders the shop has in each state."""
    with httpx.Client(base_url=address, trust_env=False, follow_redirects=True) as browser:
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', browser.get("/accounts/login/").text)
        assert token is not None
        log_in = {"username": "clerk", "password": "admin", "csrfmiddlewaretoken": token[1]}
        page = browser.post("/accounts/login/", data=log_in).text
    return {state: int(count) for state, count in re.findall(r'id="chip-(\w+)".*?<b>(\d+)</b>', page)}


def test_the_greeting_fits_a_narrow_window_and_then_the_worker_says_what_it_does(start: Start) -> None:
    demo = start("--port", "0")
    demo.said(r"worker \| order 4: create_checkout failed \(503\), again in 2 s")
    assert demo.lines[:3] == [
        f"demo   | ready: {demo.said(r'ready: (http://.*)')}",
        "demo   | log in as admin / admin, or as clerk / admin",
        "demo   | Ctrl-C stops; make demo ARGS=--fresh begins anew",
    ]
    demo.said(r"worker \| order 4: create_checkout failed \(503\), not again")
    demo.said(r"worker \| order 4: Checkout failed, now Payment failed")
    demo.said(r"web    \| order 8: Payment succeeded, now Paid")
    assert [line for line in demo.lines if len(line) > 60] == [], str(demo)


def test_the_sample_orders_are_in_every_state_that_lasts_and_stay_until_one_begins_anew(start: Start) -> None:
    wanted = {
        "all": 14,
        "open": 10,
        "draft": 1,
        "creating_checkout": 0,
        "awaiting_payment": 3,
        "payment_failed": 3,
        "paid": 2,
        "refunding": 0,
        "refund_needs_attention": 1,
        "cancelled": 2,
        "fulfilled": 1,
        "refunded": 1,
    }
    demo = start("--port", "0")
    address = ready(demo)
    until("the sample orders", lambda: chips(address) == wanted, 120, demo)
    demo.signal()
    assert demo.ends() == 0, str(demo)

    again = start("--port", "0")
    assert chips(ready(again)) == wanted
    assert not any(": Created by" in line for line in again.lines), str(again)
    again.signal()
    assert again.ends() == 0, str(again)

    anew = start("--port", "0", "--fresh")
    anew.said("web    | order 1: Created by clerk, now Draft".replace("|", r"\|"))
    anew.said(r"order 5: Expire, now Cancelled")
    anew.signal()
    assert anew.ends() == 0, str(anew)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_one_signal_stops_everything(start: Start, number: int) -> None:
    demo = start("--port", "0")
    ready(demo)
    demo.signal(number)
    assert demo.ends() == 0, str(demo)
    demo.leaves_nothing()
    assert demo.lines[-1].startswith("demo   | stopped in"), str(demo)


def test_a_killed_demo_leaves_no_orphan(start: Start) -> None:
    demo = start("--port", "0")
    ready(demo)
    demo.signal(signal.SIGKILL)
    demo.process.wait(10)
    demo.leaves_nothing()


def test_the_death_of_the_worker_ends_the_demo_and_says_so(start: Start) -> None:
    demo = start("--port", "0")
    ready(demo)
    os.kill(demo.worker(), signal.SIGKILL)
    assert demo.ends() == 1, str(demo)
    assert any("worker ended with -9; stopping the rest" in line for line in demo.lines), str(demo)
    demo.leaves_nothing()


def test_a_busy_port_is_passed_by_and_a_second_demo_has_its_own_folder(start: Start, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        first = start("--port", str(port))
        address = ready(first)
        assert address != f"http://127.0.0.1:{port}/"
        assert any(f"port {port} is in use; using" in line for line in first.lines), str(first)
        second = start("--port", str(port))
        assert ready(second) != address
        assert any("another demo is running" in line for line in second.lines), str(second)
        for demo in (second, first):
            demo.signal()
            assert demo.ends() == 0, str(demo)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("lifecycle-demo-")] == []


def test_without_celery_the_librarys_own_worker_does_the_work(start: Start) -> None:
    demo = start("--port", "0", "--no-celery", EXAMPLE_TICK_EVERY="0.5")
    demo.said(r"ready: (http://\S+)")
    demo.signal()
    assert demo.ends() == 0, str(demo)
    demo.leaves_nothing()


def test_a_stop_in_the_middle_of_the_start_leaves_nothing(start: Start, tmp_path: Path) -> None:
    demo = start("--check", "--port", "0")
    demo.said("ready:")
    demo.signal()
    assert demo.ends() in (0, 130), str(demo)
    demo.leaves_nothing()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("lifecycle-demo-")] == []


def test_a_message_of_the_file_broker_is_never_seen_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kombu import Connection

    from example_project.localbroker import Transport

    options: dict[str, Any] = {"data_folder_in": tmp_path, "data_folder_out": tmp_path, "control_folder": tmp_path}
    seen: list[set[str]] = []
    original = Path.write_bytes

    def watched(path: Path, data: bytes) -> int:
        written = original(path, data)
        seen.append({other.name for other in tmp_path.iterdir() if other.name.endswith(".queue.msg")})
        return written

    monkeypatch.setattr(Path, "write_bytes", watched)
    with Connection(transport=Transport, transport_options=options) as connection:
        connection.default_channel._put("queue", {"body": "x"})
    (names,) = seen
    assert all(name.startswith(".") for name in names)
    assert len([path for path in tmp_path.iterdir() if path.name.endswith(".queue.msg")]) == 1
