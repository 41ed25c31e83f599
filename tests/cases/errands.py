"""Errands and folders: records whose effects do what a test says, sent and performed."""

from __future__ import annotations

from typing import Any

from lifecycle import SYSTEM
from lifecycle.execution.drain import drain
from lifecycle.models import Run
from lifecycle.runtime import create, fire
from tests.cases.misbehaving import behaving
from tests.cases.models.errands import Errand
from tests.cases.models.folders import Folder


def errand(*transitions: str) -> Run:
    record = create(Errand(), actor=SYSTEM)
    for name in ("go", *transitions):
        fire(record, name, actor=SYSTEM)
    found: Run = Run.objects.latest("id")
    Run.objects.exclude(pk=found.pk).delete()
    return found


def performed(run: Run, behave: Any, **options: Any) -> Run:
    with behaving("errand", behave):
        drain(**{"runs": 1, **options})
    run.refresh_from_db()
    return run


def folders(number: int) -> None:
    for index in range(number):
        fire(create(Folder(slug=f"f{index}"), actor=SYSTEM), "take", actor=SYSTEM)


def runs() -> list[Run]:
    return list(Run.objects.order_by("id"))
