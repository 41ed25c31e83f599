"""Newcomer: somebody with an empty folder who types what a page shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Block

# Runs the doctests of a file in a configured project; what `manage.py shell` would do with the same lines.
SHELL = """
import doctest, sys
import django
django.setup()
from pathlib import Path
text = Path(sys.argv[1]).read_text()
test = doctest.DocTestParser().get_doctest(text, {}, "tutorial", sys.argv[1], 0)
runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
sys.exit(bool(runner.run(test).failed))
"""


# Python imports it by itself when it starts.
WITHOUT = "import sys; sys.modules.update(celery=None, redis=None, rest_framework=None)"


class Newcomer:
    """An empty folder and a shell in it."""

    def __init__(self, folder: Path, settings: str = "restaurant.settings") -> None:
        self.folder = folder
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith(("DJANGO_", "LIFECYCLE_"))
        }
        self.environment = inherited | {
            "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}",
            "DJANGO_SETTINGS_MODULE": settings,
        }

    def installs(self, command: str) -> None:
        """Optional packages are there once the page has said to install them, and not before."""
        blocker = "" if "celery" in command else WITHOUT
        (self.folder / "sitecustomize.py").write_text(blocker)

    def does(self, block: Block) -> None:
        where = f"{block.page}:{block.line}"
        if block.title:
            self.writes(block)
        elif block.language == "console":
            self.types(block.text, where)
        elif block.language == "pycon":
            script = self.folder / "session.txt"
            script.write_text(block.text)
            self.runs([sys.executable, "-c", SHELL, str(script)], where)
        else:
            pytest.fail(f"{where}: nobody knows what to do with a {block.language!r} block")

    def writes(self, block: Block) -> None:
        path = self.folder / block.title
        assert path.parent.is_dir(), f"{block.title}: its folder is not there yet"
        path.write_text(path.read_text() + block.text if block.appends else block.text)

    def types(self, text: str, where: str) -> None:
        commands: list[tuple[str, list[str]]] = []
        for line in text.splitlines():
            if line.startswith("$ "):
                commands.append((line[2:], []))
            elif line.strip():
                commands[-1][1].append(line.strip())
        for command, expected in commands:
            if command.startswith("python -m pip"):
                self.installs(command)
                continue  # the checkout is what would be installed
            # A worker goes on for ever: its report loads what it would, and says which broker it would ask.
            command = re.sub(r"^celery (.*) worker$", rf"{sys.executable} -m celery \1 report", command)
            command = re.sub(r"^python ", f"{sys.executable} ", command)
            command = re.sub(r"^django-admin ", f"{sys.executable} -m django ", command)
            output = self.runs(command.split(), where)
            for line in expected:
                assert line in output, f"{where}: `{command}` did not say {line!r} but:\n{output}"

    def runs(self, command: list[str], where: str) -> str:
        environment = self.environment
        if "startproject" in command:  # there are no settings yet
            environment = {name: value for name, value in environment.items() if name != "DJANGO_SETTINGS_MODULE"}
        ran = subprocess.run(
            command,
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=90,
            stdin=subprocess.DEVNULL,
        )
        said = ran.stdout + ran.stderr
        assert ran.returncode == 0, f"{where}: {' '.join(command)[:200]}\n{said}"
        return said


def in_one_shell(found: list[Block]) -> list[Block]:
    """Sessions that nothing interrupts are one: the shell is left only for the next command."""
    joined: list[Block] = []
    for block in found:
        if joined and block.language == joined[-1].language == "pycon":
            joined[-1] = replace(joined[-1], text=joined[-1].text + block.text)
        else:
            joined.append(block)
    return joined
