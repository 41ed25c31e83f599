"""The process as each deployment declares it: the code blocks of the page on changing a process in production."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.rollout.models import AfterPaper, BeforePaper, BetweenPaper

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "how-to" / "change-a-process-in-production.md"
BLOCK = r'^```python title="papers/lifecycles.py" {name}\n(.*?)^```$'

# What the effects of the page have sent.
told: list[str] = []


@contextmanager
def _papers(model: type[Any]) -> Iterator[None]:
    """The app of the page, with one deployment's model."""
    made = {name: ModuleType(name) for name in ("papers", "papers.models", "papers.mail")}
    made["papers.models"].Paper = model  # type: ignore[attr-defined]
    made["papers.mail"].send_to_reviewer = lambda record: told.append(str(record.pk))  # type: ignore[attr-defined]
    sys.modules.update(made)
    try:
        yield
    finally:
        for name in made:
            del sys.modules[name]


def _declared(name: str, model: type[Any]) -> type[Any]:
    [text] = re.findall(BLOCK.format(name=name), PAGE.read_text(), re.MULTILINE | re.DOTALL)
    namespace: dict[str, Any] = {"__name__": f"papers.{name}"}
    with _papers(model):
        exec(compile(text, f"{PAGE.name}: {name}", "exec"), namespace)
    declared: type[Any] = namespace["PaperLifecycle"]
    return declared


Before = _declared("before", BeforePaper)
First = _declared("first", BetweenPaper)
Second = _declared("second", BetweenPaper)
Third = _declared("third", AfterPaper)
