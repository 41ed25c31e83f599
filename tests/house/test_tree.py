"""What must hold for every file of the tree."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
# Written apart, or this file would be the first to be found.
HOSTS = [".".join(parts) for parts in (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("debian", "org"))]
MACHINE_PATHS = ["/".join(("", *parts, "")) for parts in (("root",), ("work", "main"), ("home", r"\w+"), ("opt",))]


def tracked() -> list[Path]:
    try:
        listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout: there is no list of tracked files")
    return [ROOT / name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()]


def texts() -> list[tuple[Path, str]]:
    found = []
    for path in tracked():
        try:
            found.append((path.relative_to(ROOT), path.read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            continue
    assert len(found) > 50
    return found


def test_no_file_names_the_host_of_a_package_registry() -> None:
    pattern = re.compile("|".join(re.escape(host) for host in HOSTS))
    assert [str(path) for path, text in texts() if pattern.search(text)] == []


def test_no_file_names_a_path_of_somebodys_machine() -> None:
    pattern = re.compile(r"(?<![\w.])(" + "|".join(MACHINE_PATHS) + ")")
    assert [(str(path), found[0]) for path, text in texts() if (found := pattern.search(text))] == []


def test_no_lock_file_with_addresses_is_tracked() -> None:
    assert [path for path in tracked() if path.name in {"uv.lock", "poetry.lock", "Pipfile.lock"}] == []


def test_no_work_is_left_for_later_in_a_comment() -> None:
    pattern = re.compile("|".join(rf"\b{word}\b" for word in ("TO" + "DO", "FIX" + "ME", "XX" + "X")))
    assert [str(path) for path, text in texts() if path.suffix == ".py" and pattern.search(text)] == []


def modules(*folders: str) -> list[Path]:
    return [
        path
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "migrations" not in path.parts and path.stat().st_size
    ]


def test_every_module_says_its_noun_in_the_first_line_of_its_docstring() -> None:
    silent = []
    for path in modules("lifecycle", "orders", "example_project", "benchmarks"):
        said = ast.get_docstring(ast.parse(path.read_text()))
        if not said or not said.splitlines()[0].strip():
            silent.append(str(path.relative_to(ROOT)))
    assert silent == []


def test_no_module_is_called_after_nothing() -> None:
    vague = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "managers"}
    assert [
        str(p.relative_to(ROOT)) for p in modules("lifecycle", "orders", "example_project") if p.stem in vague
    ] == []


WRITES = {"update", "create", "bulk_create", "bulk_update", "get_or_create", "update_or_create", "select_for_update"}


def test_the_floors_above_the_store_neither_lock_nor_write_our_tables() -> None:
    """`select_for_update`, `.objects.update(…)` and their like stand only in the store."""
    found = []
    for path in modules("lifecycle/runtime", "lifecycle/execution", "lifecycle/sweeps", "lifecycle/dispatch"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WRITES:
                target = ast.unparse(node.func.value)
                if ".objects" in target or "_manager" in target or ".using(" in target:
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno} {ast.unparse(node.func)}")
    assert found == []


def test_the_pins_hold_everything_that_development_needs_with_hashes_and_without_addresses() -> None:
    pins = (ROOT / "requirements" / "dev.txt").read_text()
    pinned = {name.lower().replace("_", "-") for name in re.findall(r"^([\w.-]+)==", pins, re.MULTILINE)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    names = {re.match(r"[\w.-]+", line)[0].lower() for line in needed}  # type: ignore[index]
    assert names - pinned == set()
    assert "://" not in pins
    assert pins.count("==") <= pins.count("--hash=sha256:")
