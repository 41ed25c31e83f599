"""How much dearer is `fire` than the same safe transition written by hand, and loading a record than plain Django?

    python benchmarks/fire.py [--rounds 15] [--calls 60] [--engine sqlite --engine postgres]

The peer does what a careful developer writes: open a transaction, lock the row, look at the state, UPDATE guarded by
state and version, INSERT a history row with the same columns and unique keys; with a request id and an effect also ask
whether the id was spent, and INSERT a run. Bars: fire ≤ 1.25 ×, loading ≤ +1 µs.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


def main() -> None:
    arguments = parse()
    if len(arguments.engine) > 1:  # Django is configured once per process
        for engine in arguments.engine:
            subprocess.run([sys.executable, *sys.argv, "--engine", engine], check=True)
        return
    from benchmarks import stage

    (engine,) = arguments.engine
    with stage.standing(engine):
        compare_firing(engine, arguments)
        compare_loading(engine, arguments)


def parse() -> Any:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--calls", type=int, default=60, help="fires per round")
    parser.add_argument("--engine", action="append", choices=["sqlite", "postgres"])
    arguments = parser.parse_args()
    arguments.engine = arguments.engine[-1:] if arguments.engine else ["sqlite", "postgres"]
    return arguments


def compare_firing(engine: str, arguments: Any) -> None:
    from benchmarks import stage
    from benchmarks.bench.models import Job, PlainJob
    from lifecycle import SYSTEM
    from lifecycle.runtime import create, fire

    job, plain = create(Job(), actor=SYSTEM), PlainJob.objects.create()
    other, plain_other = create(Job(), actor=SYSTEM), PlainJob.objects.create()
    ids = itertools.count()

    def ours() -> None:
        fire(job, "start" if job.status == "idle" else "stop", actor=SYSTEM)

    def by_hand() -> None:
        safe_transition(plain)

    def ours_with_more() -> None:
        fire(other, "again", actor=SYSTEM, request_id=f"request {next(ids)}")

    def by_hand_with_more() -> None:
        safe_transition(plain_other, request_id=f"request {next(ids)}", effect="nothing")

    pairs = {"fire": (ours, by_hand), "fire with a request id and an effect": (ours_with_more, by_hand_with_more)}
    for name, (one, peer) in pairs.items():
        taken = stage.interleaved({"ours": one, "by hand": peer}, rounds=arguments.rounds, calls=arguments.calls)
        print(
            f"{engine:9} {name} {taken['ours'] * 1e3:.3f} ms, by hand {taken['by hand'] * 1e3:.3f} ms: "
            f"ratio {taken['ours'] / taken['by hand']:.2f} (bar 1.25)"
        )


def safe_transition(job: Any, *, request_id: str | None = None, effect: str | None = None) -> None:
    """One transition of a plain model, as a careful developer writes it."""
    from django.db import transaction
    from django.utils import timezone

    from benchmarks.bench.models import PlainHistory, PlainJob, PlainRun

    with transaction.atomic():
        row = PlainJob.objects.select_for_update().get(pk=job.pk)
        if request_id is not None and PlainHistory.objects.filter(job_id=str(row.pk), request_id=request_id).first():
            return
        source, target = row.status, "busy" if row.status == "idle" else "idle"
        now = timezone.now()
        moved = PlainJob.objects.filter(pk=row.pk, status=source, version=row.version).update(
            status=target, status_changed_at=now, version=row.version + 1
        )
        if not moved:
            raise RuntimeError("somebody was faster")
        entry = PlainHistory.objects.create(
            job_id=str(row.pk),
            transition="start",
            source=source,
            target=target,
            version=row.version + 1,
            request_id=request_id,
            at=now,
        )
        if effect is not None:
            PlainRun.objects.create(entry=entry, job_id=str(row.pk), effect=effect, available_at=now, created_at=now)


def compare_loading(engine: str, arguments: Any) -> None:
    from benchmarks import stage
    from benchmarks.bench.models import Job, PlainJob

    rows = 2000
    Job.objects.bulk_create([Job() for _ in range(rows)])
    PlainJob.objects.bulk_create([PlainJob() for _ in range(rows)])
    taken = stage.interleaved(
        {"ours": lambda: list_all(Job), "plain": lambda: list_all(PlainJob)}, rounds=arguments.rounds * 2, calls=2
    )
    more = (taken["ours"] - taken["plain"]) / rows * 1e6
    print(
        f"{engine:9} loading a record {taken['ours'] / rows * 1e6:.2f} µs, plain {taken['plain'] / rows * 1e6:.2f} µs: "
        f"{more:+.2f} µs (bar +1)"
    )


def list_all(model: Any) -> None:
    """Loads every row as an instance."""
    list(model.objects.all())


if __name__ == "__main__":
    main()
