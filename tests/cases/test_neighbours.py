"""Neighbours: the packages beside which the library works, and their versions."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

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
