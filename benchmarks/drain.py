"""How many empty effects a second does a Celery worker do, and does it grow? ``python benchmarks/drain.py [--runs N]``

A worker with two prefork children, a Redis of its own and PostgreSQL; the peer is one Celery task per run on the same
worker: claim by id, do nothing, finish. Rounds are interleaved, so both meet the same machine. Needs PostgreSQL
(PGHOST, PGPORT, PGUSER, PGPASSWORD; default: 127.0.0.1) and the dev extra.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
CHILDREN = 2
BAR = 8.0


def main() -> int:
    arguments = parse()
    prepare(arguments)
    from django.db import connection

    from tests.servers import OwnRedis

    with tempfile.TemporaryDirectory() as folder:
        redis = OwnRedis(Path(folder) / "redis")
        redis.start()
        name = connection.creation.create_test_db(verbosity=0, autoclobber=True)
        os.environ["LIFECYCLE_PROCESS_BROKER"] = redis.url
        os.environ["LIFECYCLE_PROCESS_DATABASE"] = name
        worker = start_worker(Path(folder))
        try:
            return measure(arguments, worker, redis.url)
        finally:
            os.killpg(worker.pid, signal.SIGTERM)
            worker.wait(30)
            redis.close()
            connection.creation.destroy_test_db(name, verbosity=0)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20_000, help="effects in all, for the memory (default: 20 000)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of both ways (default: 3)")
    parser.add_argument("--peer-runs", type=int, default=400, help="runs per round of the peer (default: 400)")
    parser.add_argument(
        "--reuse", action="store_true", help="let Celery keep database connections between tasks (CELERY_DB_REUSE_MAX)"
    )
    parser.add_argument(
        "--prepared",
        action="store_true",
        help="let the server plan each statement once (server_side_binding), for both",
    )
    return parser.parse_args()


def prepare(arguments: argparse.Namespace) -> None:
    os.environ["LIFECYCLE_TEST_DATABASE"] = "postgres"
    os.environ["LIFECYCLE_TEST_SUFFIX"] = f"_benchmark_{os.getpid()}"
    os.environ["LIFECYCLE_PROCESS_DATABASE"] = os.environ.get("PGDATABASE", "postgres")
    os.environ["LIFECYCLE_PROCESS_CELERY_DB_REUSE_MAX"] = "1000" if arguments.reuse else ""
    os.environ["LIFECYCLE_PROCESS_PREPARED"] = "1" if arguments.prepared else ""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.processes.settings"
    import django

    django.setup()


def start_worker(folder: Path) -> subprocess.Popen[bytes]:
    command = [
        *(sys.executable, "-W", "ignore", "-m", "celery", "-q", "-A", "benchmarks.drain_worker", "worker"),
        *("-c", str(CHILDREN), "--pool", "prefork", "--loglevel", "WARNING"),
        *("--without-gossip", "--without-mingle", "--without-heartbeat"),
    ]
    with (folder / "worker.log").open("wb") as log:
        return subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, process_group=0)


def measure(arguments: argparse.Namespace, worker: subprocess.Popen[bytes], broker: str) -> int:
    from tests.processes.app import app

    app.conf.broker_url = broker
    per_round = max(500, min(2000, arguments.runs // (arguments.rounds + 1)))
    drain_runs(100)  # imports, connections, the first plan
    plain_runs(app, 50)

    done = drain_some(1000 - 100, per_round)
    early = memory(worker)
    ours: list[float] = []
    peers: list[float] = []
    for number in range(arguments.rounds):
        ours.append(drain_runs(per_round))
        peers.append(plain_runs(app, arguments.peer_runs))
        done += per_round
        print(f"round {number + 1}: drain {ours[-1]:8.0f}/s    task per run {peers[-1]:8.0f}/s", flush=True)
    ratio = statistics.median(ours) / statistics.median(peers)
    print(f"empty effects, {CHILDREN} children: {statistics.median(ours):.0f}/s")
    print(f"one Celery task per run:  {statistics.median(peers):.0f}/s")
    print(f"ratio: {ratio:.1f} (bar: {BAR:g})", flush=True)

    drain_some(arguments.runs - 100 - done, per_round)
    late = memory(worker)
    print(f"memory of the children after  1 000 runs: {shown(early)}")
    print(f"memory of the children after {arguments.runs:>6,} runs: {shown(late)}".replace(",", " "))
    print(f"growth: {(sum(late) - sum(early)) / max(1, len(late)) / 1024:+.1f} MiB per child")
    return 0 if ratio >= BAR else 1


def drain_some(runs: int, per_round: int) -> int:
    done = 0
    while done < runs:
        step = min(per_round, runs - done)
        drain_runs(step)
        done += step
    return done


def drain_runs(count: int) -> float:
    """Runs per second from one wake-up to the last finish."""
    from lifecycle import dispatch

    ids = enqueue(count)
    started = database_time()
    dispatch.publish("default")
    return count / (finished(ids) - started)


def plain_runs(app: Any, count: int) -> float:
    """Runs per second from the first task sent to the last finish."""
    from lifecycle.models import Run

    ids = enqueue(count, queue="plain")
    started = database_time()
    for run_id in ids:
        app.send_task("benchmark.one_run", (run_id,), ignore_result=True)
    seconds = finished(ids) - started
    Run.objects.filter(pk__in=ids).delete()
    return count / seconds


def enqueue(count: int, queue: str = "default") -> list[int]:
    """Writes that many pending effects, without waking anybody."""
    from lifecycle import SYSTEM, dispatch
    from lifecycle.dispatch.none import NoDispatcher
    from lifecycle.models import Run
    from lifecycle.runtime import fire_many
    from tests.support.models import Parcel

    parcels = Parcel.objects.bulk_create([Parcel() for _ in range(count)])
    later = "waiting-room"  # so that a tick of the worker does not begin before the clock does
    ids: list[int] = []
    with dispatch.replaced(NoDispatcher()):
        from django.db import transaction

        with transaction.atomic():
            report = fire_many(parcels, "take_back", actor=SYSTEM)
            ids = [run.pk for fired in report.fired for run in fired.runs]
            Run.objects.filter(pk__in=ids).update(queue=later)
    Run.objects.filter(pk__in=ids).update(queue=queue)
    return ids


def finished(ids: list[int], seconds: float = 600.0) -> float:
    """When the last of them was finished, by the database's clock; waits for it."""
    from django.db.models import Count, Max, Q

    from lifecycle.models import Run

    until, pause = time.monotonic() + seconds, threading.Event()
    while time.monotonic() < until:
        found = Run.objects.filter(pk__gte=ids[0], pk__lte=ids[-1]).aggregate(
            done=Count("pk", filter=Q(status="succeeded")), last=Max("finished_at")
        )
        if found["done"] == len(ids):
            return float(found["last"].timestamp())
        pause.wait(0.1)
    raise SystemExit(f"{len(ids) - found['done']} of {len(ids)} runs were not finished within {seconds:g} s.")


def database_time() -> float:
    from lifecycle.store import timing

    return timing.now("default").timestamp()


def memory(worker: subprocess.Popen[bytes]) -> list[int]:
    """The resident memory of each pool process, in KiB."""
    listed = subprocess.run(
        ["ps", "--ppid", str(worker.pid), "-o", "rss="], capture_output=True, text=True, check=True
    )  # fmt: skip
    return sorted(int(line) for line in listed.stdout.split())


def shown(sizes: list[int]) -> str:
    return ", ".join(f"{size / 1024:.1f} MiB" for size in sizes)


if __name__ == "__main__":
    sys.exit(main())
