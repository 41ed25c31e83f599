"""Neighbours: the packages beside which the library works, and their versions."""

from __future__ import annotations

import datetime as dt
import re
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db import connection
from packaging.requirements import Requirement
from packaging.version import Version

from lifecycle import SYSTEM, clock
from lifecycle.admin.records.mixin import LifecycleAdminMixin
from lifecycle.exceptions import InvalidInput, NestedTooDeep
from lifecycle.rest import LifecycleViewSetMixin
from lifecycle.runtime import create, fire
from lifecycle.runtime.writing import frames
from lifecycle.store import timing
from tests.cases.lifecycles.neighbours import renewing
from tests.cases.models.folders import Folder
from tests.cases.models.neighbours import Invoice
from tests.dispatch.test_celery import SeveralApps, app

ROOT = Path(__file__).resolve().parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
NEEDS = [
    (where, Requirement(line))
    for where, lines in {"": PROJECT["project"]["dependencies"], **EXTRAS}.items()
    for line in lines
]


def lowest(requirement: Requirement) -> Version:
    (bound,) = [one.version for one in requirement.specifier if one.operator == ">="]
    return Version(bound)


@pytest.mark.row("M1")
def test_every_package_has_one_lowest_version_wherever_it_is_named() -> None:
    found: dict[str, set[Version]] = {"hatchling": {lowest(Requirement(PROJECT["build-system"]["requires"][0]))}}
    for _, requirement in NEEDS:
        found.setdefault(requirement.name, set()).add(lowest(requirement))
    assert {name: bounds for name, bounds in found.items() if len(bounds) > 1} == {}


@pytest.mark.row("M1")
def test_the_pins_are_within_the_bounds() -> None:
    pins = re.findall(r"^([\w.-]+)==([^ ;\\]+)", (ROOT / "requirements" / "dev.txt").read_text(), re.MULTILINE)
    bounds = {requirement.name.lower(): lowest(requirement) for _, requirement in NEEDS}
    assert [f"{name} {version}" for name, version in pins if Version(version) < bounds.get(name, Version("0"))] == []


@pytest.mark.row("M1")
def test_the_lowest_versions_of_every_extra_that_needs_no_compiler_are_tried() -> None:
    told = re.search(r"^EXTRAS = \((.*?)\)", (ROOT / "noxfile.py").read_text(), re.MULTILINE | re.DOTALL)
    assert told is not None
    assert set(re.findall(r'"(\w+)"', told[1])) == set(EXTRAS) - {"mysql"}
    assert "nox -s lowest" in (ROOT / ".ci" / "run").read_text()


@pytest.mark.row("M1")
@pytest.mark.parametrize(("version", "is_3_0"), [("3.0.3", True), ("3.1.1", False)])
def test_a_description_needs_nothing_that_came_after_the_lowest_drf_spectacular(
    version: str, is_3_0: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from drf_spectacular import plumbing
    from drf_spectacular.settings import spectacular_settings

    from lifecycle.rest.openapi.dialect import nullable

    monkeypatch.delattr(plumbing, "is_jsonschema_compliant", raising=False)  # came with 0.30
    monkeypatch.setattr(spectacular_settings, "OAS_VERSION", version)
    schema: dict[str, Any] = nullable({"type": "string"})
    assert schema == ({"type": "string", "nullable": True} if is_3_0 else {"type": ["string", "null"]})


@pytest.mark.row("M2")
@pytest.mark.django_db
@pytest.mark.parametrize("hours", [-25, 25])
@pytest.mark.parametrize("way", ["save", "bulk_create", "create"])
def test_a_plain_save_counts_the_stay_by_the_databases_clock(
    hours: int, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite runs in the process: there is one clock")
    with monkeypatch.context() as wrong:
        wrong.setattr(clock, "now", lambda: dt.datetime.now(dt.UTC) + dt.timedelta(hours=hours))
        if way == "save":
            Folder(slug="a").save()
        elif way == "bulk_create":
            Folder.objects.bulk_create([Folder(slug="a"), Folder(slug="b")])
        else:
            create(Folder(slug="a"), actor=SYSTEM)

    for folder in Folder.objects.all():
        assert folder.status_changed_at is not None
        assert abs(folder.status_changed_at - timing.now("default")) < dt.timedelta(minutes=1)


@pytest.mark.row("M2")
@pytest.mark.django_db
def test_where_the_clocks_agree_the_row_holds_the_moment_that_the_instance_shows() -> None:
    folders = [Folder(slug="a"), *Folder.objects.bulk_create([Folder(slug="b"), Folder(slug="c")])]
    folders[0].save()

    for folder in folders:
        assert Folder.objects.get(pk=folder.pk).status_changed_at == folder.status_changed_at
        folder.title = "changed"
        folder.save()


@pytest.mark.row("M2")
@pytest.mark.django_db
def test_an_instance_of_a_process_whose_clock_is_wrong_can_be_saved_and_fired(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Folder(slug="a")
    with monkeypatch.context() as wrong:
        wrong.setattr(clock, "now", lambda: dt.datetime.now(dt.UTC) - dt.timedelta(hours=25))
        folder.save()
        folder.title = "changed"
        folder.save()

    fire(folder, "take", actor=SYSTEM)

    assert Folder.objects.get().status == "table"


@pytest.mark.row("M16")
@pytest.mark.django_db
def test_columns_that_save_fills_can_be_left_out_of_the_validation() -> None:
    with pytest.raises(InvalidInput, match="number|blank") as caught:
        create(Invoice(customer="Ada"), actor=SYSTEM)
    assert caught.value.__notes__ == ["If Invoice.save() fills them itself: create(…, exclude=['number'])."]

    made = create(Invoice(customer="Ada"), actor=SYSTEM, exclude=["number"], request_id="k")
    again = create(Invoice(customer="Ada"), actor=SYSTEM, exclude=["number"], request_id="k")

    assert (made.number, again.pk) == ("INV-Ada", made.pk)
    with pytest.raises(InvalidInput) as caught:
        create(Invoice(), actor=SYSTEM, exclude=["number"])
    assert [problem.field for problem in caught.value.problems] == ["customer"]


@pytest.mark.row("M16")
@pytest.mark.django_db
@pytest.mark.parametrize(("exclude", "said"), [(["numbr"], "number"), ("number", "in a list")])
def test_a_field_left_out_of_the_validation_must_exist(exclude: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        create(Invoice(customer="Ada"), actor=SYSTEM, exclude=exclude)


@pytest.mark.row("M16")
@pytest.mark.django_db
@pytest.mark.parametrize("way", ["rest", "admin"])
def test_rest_and_the_admin_leave_out_what_they_are_told(way: str, rf: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "rest":

        class Invoices(LifecycleViewSetMixin):
            lifecycle = "invoices"
            lifecycle_exclude = ["number"]

        monkeypatch.setattr(Invoices, "get_actor", lambda self: SYSTEM)
        Invoices().perform_creation(SimpleNamespace(validated_data={"customer": "Ada"}), None)
    else:

        class InvoiceAdmin(LifecycleAdminMixin, admin.ModelAdmin):
            lifecycle_exclude = ["number"]

        request = rf.post("/")
        request.user = get_user_model().objects.create(username="ada")
        InvoiceAdmin(Invoice, admin.AdminSite()).save_model(request, Invoice(customer="Ada"), None, False)

    assert Invoice.objects.get().number == "INV-Ada"


@pytest.mark.row("M11")
@pytest.mark.django_db
def test_hooks_that_fire_deeper_than_any_process_should_are_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    invoice = create(Invoice(customer="Ada", number="1"), actor=SYSTEM)
    left = [120]

    def fires_again(ctx: Any) -> None:
        left[0] -= 1
        if left[0]:
            fire(ctx.record, "renew", actor=SYSTEM)

    monkeypatch.setitem(renewing, "hook", fires_again)

    with pytest.raises(NestedTooDeep, match=r"50 deep; the last is of 'invoices'.*on_success"):
        fire(invoice, "renew", actor=SYSTEM)
    assert (invoice.lifecycle.version, Invoice.objects.get().lifecycle.version) == (1, 1)

    left[0] = frames.LIMIT
    fire(invoice, "renew", actor=SYSTEM)
    assert invoice.lifecycle.version == 1 + frames.LIMIT


__all__ = ["app"]  # a fixture


@pytest.mark.row("M12")
class TestSeveralCeleryApps(SeveralApps):
    """What a worker sends goes through its own app."""
