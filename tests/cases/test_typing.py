"""What type checkers know of a project of one's own, and what checks say of its declarations."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import pytest
from django.core.checks import run_checks

from lifecycle import Lifecycle, Transition, registry
from lifecycle.checks.ids import TAG
from lifecycle.models import LifecycleAccessor, LifecycleModel
from tests import servers
from tests.cases.lifecycles.own_projects import CrateLifecycle
from tests.cases.models.own_projects import Crate

ROOT = Path(__file__).resolve().parent.parent.parent
SAMPLE = ROOT / "tests" / "typed"


CHECKERS = {
    "mypy": ["mypy", "--config-file", SAMPLE / "mypy.ini", "-p", "ticketing"],
    "mypy with the plugin of django-stubs": ["mypy", "--config-file", SAMPLE / "mypy_plugin.ini", "-p", "ticketing"],
    "pyright": ["pyright", "--project", SAMPLE, "--pythonpath", sys.executable],
}


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What `check` says of these lifecycles alone: ids, sentences and hints."""

    def told(*lifecycles: type[Lifecycle[Any]]) -> list[tuple[str, str, str]]:
        definitions = {lifecycle.definition.name: lifecycle.definition for lifecycle in lifecycles}
        monkeypatch.setattr(registry, "_definitions", definitions)
        return [(str(one.id), str(one.msg), str(one.hint)) for one in run_checks(tags=[TAG])]

    return told


@pytest.mark.once
@pytest.mark.row("L7", "K9")
@pytest.mark.parametrize("checker", CHECKERS)
def test_a_strict_type_checker_knows_records_answers_columns_and_what_may_be_fired(
    checker: str, tmp_path: Path
) -> None:
    """The sample says in its own lines what must be an error: an ignore that hides none is one itself."""
    command = [str(part) for part in CHECKERS[checker]]
    if importlib.util.find_spec(command[0]) is None:
        (pytest.fail if servers.required() else pytest.skip)(f"{command[0]} is not installed: make setup")
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(SAMPLE), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "MYPY_CACHE_DIR": str(tmp_path),
        "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1",  # or it asks a registry whether it is the newest
    }
    ran = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=90
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.row("L7")
def test_names_that_a_model_tells_type_checkers_are_held_to_the_transitions(
    only: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = 'lifecycle: LifecycleAccessor[Literal["send", "lose"]]'
    assert only(CrateLifecycle) == []
    for said, sentence in (
        (Literal["send"], "leaves out lose"),
        (Literal["send", "lose", "post"], "names post, which are no transitions"),
    ):
        monkeypatch.setitem(Crate.__annotations__, "lifecycle", LifecycleAccessor[said])  # type: ignore[valid-type]
        told = ("lifecycle.W104", f"The annotation of cases.Crate.lifecycle {sentence}.", right)
        assert only(CrateLifecycle) == [told]


@pytest.mark.row("L7")
def test_a_model_may_name_its_accessor_without_having_it(only: Any) -> None:
    assert not hasattr(LifecycleModel, "lifecycle")
    assert LifecycleAccessor[Literal["send"]]  # can stand in a model's body where annotations are evaluated


@pytest.mark.row("K8")
def test_a_state_whose_default_is_no_beginning_is_named_by_a_check(only: Any) -> None:
    class Returns(Lifecycle[Crate]):
        class Meta:
            model = Crate
            name = "returns"
            initial = ["sent"]
            final = ["lost"]

        pack = Transition("sent", "packed")
        lose = Transition("packed", "lost")

    said = [one for one in only(Returns) if one[0] == "lifecycle.W103"]
    begins = "cases.Crate.status has the default 'packed', in which no record of 'returns' begins"
    hint = "Give the field default='sent', or add 'packed' to Meta.initial."
    assert said == [("lifecycle.W103", f"{begins}: one that names no state is refused.", hint)]
