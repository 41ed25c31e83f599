"""Migrations of a database that holds rows."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from lifecycle import SYSTEM
from lifecycle.execution.drain import drain
from lifecycle.models import Run, RunAttempt
from lifecycle.runtime import create, fire
from tests.support.lifecycles import behaviours
from tests.support.models import Parcel


@pytest.fixture
def before_kinds(transactional_db: None) -> Any:
    """Goes back to the tables of effect runs, and to the present ones at the end, whatever happened between."""
    yield lambda: call_command("migrate", "lifecycle", "0006", verbosity=0)
    call_command("migrate", "lifecycle", verbosity=0)


def test_effect_runs_and_their_attempts_become_runs_with_all_they_hold(
    before_kinds: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(ctx: Any) -> None:
        raise ValueError("out of paper")

    monkeypatch.setitem(behaviours, "print_label", fails)
    fire(create(Parcel(), actor=SYSTEM), "send", actor=SYSTEM)
    drain()
    run, attempt = Run.objects.values().get(), RunAttempt.objects.values().get()

    before_kinds()
    with connection.cursor() as cursor:
        cursor.execute("SELECT id, effect, status FROM lifecycle_effectrun")
        assert list(cursor.fetchall()) == [(run["id"], "print_label", run["status"])]
    call_command("migrate", "lifecycle", verbosity=0)

    assert (Run.objects.values().get(), RunAttempt.objects.values().get()) == (run, attempt)
    assert run["kind"] == "effect"


def test_whoever_could_see_effect_runs_can_see_runs(before_kinds: Any) -> None:
    from django.contrib.auth.models import Permission, User

    user = User.objects.create_user("ann")
    before_kinds()
    user.user_permissions.add(Permission.objects.get(codename="view_effectrun"))

    call_command("migrate", "lifecycle", verbosity=0)

    assert User.objects.get(pk=user.pk).has_perm("lifecycle.view_run")
    assert not Permission.objects.filter(codename="view_effectrun").exists()
