"""The reference tables: written from the code, so that a page cannot say something else.

`python docs/generate.py` rewrites what stands between `<!-- generated: name -->` and `<!-- end -->` in the pages of
`docs/reference/`; with `--check` it only says which page is stale, and fails.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime as dt
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference"
PART = re.compile(r"(?P<open><!-- generated: (?P<name>[\w-]+) -->\n).*?(?P<close><!-- end -->)", re.DOTALL)


def main(arguments: list[str]) -> int:
    prepare()
    stale = []
    for page in sorted(REFERENCE.glob("*.md")):
        written = page.read_text()
        fresh = PART.sub(lambda part: part["open"] + TABLES[part["name"]]() + part["close"], written)
        if fresh != written:
            stale.append(page.relative_to(ROOT).as_posix())
            if "--check" not in arguments:
                page.write_text(fresh)
    if not stale:
        return 0
    if "--check" in arguments:
        print(f"stale: {', '.join(stale)}. Run: python docs/generate.py")
        return 1
    print(f"written: {', '.join(stale)}")
    return 0


def prepare() -> None:
    sys.path.insert(0, str(ROOT))
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    import django

    django.setup()


# ------------------------------------------------------------------------------------------------------------- tables


def settings() -> str:
    from lifecycle.conf import Options

    return table(
        ("key", "default", "meaning"),
        [
            (f"`{field.name.upper()}`", f"`{default_of(field)}`", field.metadata.get("help", ""))
            for field in dataclasses.fields(Options)
        ],
    )


def errors() -> str:
    from lifecycle import exceptions
    from lifecycle.rest.errors import status_of

    rows = []
    for cls in vars(exceptions).values():
        if inspect.isclass(cls) and issubclass(cls, exceptions.LifecycleError) and cls is not exceptions.LifecycleError:
            base = "" if cls.__base__ is exceptions.LifecycleError else f"`{cls.__base__.__name__}`"
            rows.append((f"`{cls.__name__}`", f"`{cls.code}`", str(status_of(cls("")) or "–"), base, first_line(cls)))
    return table(("class", "code", "HTTP", "is also", "meaning"), rows)


def checks() -> str:
    from lifecycle.checks.ids import MEANINGS

    return table(
        ("id", "kind", "meaning"),
        [(f"`{name}`", "warning" if name.startswith("lifecycle.W") else "error", MEANINGS[name]) for name in MEANINGS],
    )


def commands() -> str:
    from django.core.management import get_commands, load_command_class

    parts = []
    for name in sorted(name for name, app in get_commands().items() if app == "lifecycle"):
        command = load_command_class("lifecycle", name)
        parser = command.create_parser("manage.py", name)
        rows = [
            (spelled(action), capitalised((action.help or "") % {"default": action.default}))
            for action in parser._actions
            if not DJANGOS.intersection(action.option_strings)
        ]
        parts.append(f"\n## {name}\n\n{sentence(command.help)}\n\n{table(('option', 'meaning'), rows)}")
    return "".join(parts) + "\n"


# Options that every command of Django has.
DJANGOS = {
    "--help", "--version", "--verbosity", "--settings", "--pythonpath", "--traceback", "--no-color", "--force-color",
    "--skip-checks",
}  # fmt: skip


def spelled(action: argparse.Action) -> str:
    """An option as it is typed: ``--limit N``, ``--format text|json``."""
    value = "" if action.nargs == 0 else action.metavar or "|".join(map(str, action.choices or ()))
    if not action.option_strings:
        return f"`{action.metavar or action.dest}`"
    return ", ".join(f"`{f'{option} {value}'.strip()}`" for option in action.option_strings)


def faults() -> str:
    from lifecycle.doctor import known_faults

    return table(("fault", "meaning"), [(f"`{name}`", sentence(text)) for name, text in known_faults().items()])


def meta() -> str:
    from lifecycle.definition.reading import Meta

    rows = []
    for field in dataclasses.fields(Meta):
        default = "" if field.default is None else f"`{field.default!r}`"
        rows.append((f"`{field.name}`", default, META[field.name]))
    return table(("option", "default", "meaning"), rows)


META = {
    "model": "The model that has this lifecycle.",
    "name": "The name that is stored in rows. It must never change.",
    "initial": "The state in which records begin, or a list of states of which the first is the default.",
    "final": "States in which the process has ended. `ANY` does not include them.",
    "states": "Labels and `meta` of states, if the field's choices are not enough.",
    "state_field": "The column that holds the state.",
    "changed_at_field": "The column that holds when the state last changed.",
    "version_field": "The column with the version, which grows by one with each transition.",
    "accessor": "The attribute on records: `order.lifecycle`.",
    "services": "A callable or its dotted path. What it returns is `self.services`, and can be replaced in tests.",
    "queue": "The queue of its effects, unless an effect names another.",
}


def arguments_of(cls: Callable[..., Any]) -> Callable[[], str]:
    def made() -> str:
        return table(("argument", "meaning"), [(f"`{name}`", capitalised(text)) for name, text in documented(cls)])

    return made


def documented(subject: Any) -> Iterator[tuple[str, str]]:
    """The `Args:` of a docstring."""
    lines = inspect.getdoc(subject).split("\n")  # type: ignore[union-attr]
    inside, name, text = False, "", ""
    for line in lines:
        if line.strip() == "Args:":
            inside = True
        elif inside and (match := re.match(r"^    (\*{0,2}\w+): (.*)$", line)):
            if name:
                yield name, text
            name, text = match[1], match[2]
        elif inside and line.startswith("      "):
            text += " " + line.strip()
        elif inside and line.strip() and not line.startswith(" "):
            break
    if name:
        yield name, text


# -------------------------------------------------------------------------------------------------------------- words


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def default_of(field: dataclasses.Field[Any]) -> str:
    value = field.default
    if value is dataclasses.MISSING:
        assert field.default_factory is not dataclasses.MISSING
        value = field.default_factory()
    return duration(value) if isinstance(value, dt.timedelta) else repr(value)


def duration(value: dt.timedelta) -> str:
    for name in ("days", "hours", "minutes"):
        unit = dt.timedelta(**{name: 1})
        if value >= unit and value % unit == dt.timedelta():
            return f"timedelta({name}={value // unit})"
    return f"timedelta(seconds={value.total_seconds():g})"


def capitalised(text: str) -> str:
    text = sentence(text)
    return text[:1].upper() + text[1:]


def first_line(subject: Any) -> str:
    return sentence(inspect.getdoc(subject) or "")


def sentence(text: str) -> str:
    return " ".join(text.partition("\n\n")[0].split()).replace("``", "`")


def tables() -> dict[str, Callable[[], str]]:
    def of(path: str) -> Callable[[], str]:
        def made() -> str:
            from django.utils.module_loading import import_string

            return arguments_of(import_string(path))()

        return made

    return {
        "settings": settings,
        "errors": errors,
        "checks": checks,
        "commands": commands,
        "faults": faults,
        "meta": meta,
        "transition": of("lifecycle.definition.transitions.Transition"),
        "guard": of("lifecycle.definition.wirings.guard"),
        "effect": of("lifecycle.definition.effects.effect"),
        "retry": of("lifecycle.definition.retries.Retry"),
        "timeout": of("lifecycle.definition.triggers.Timeout"),
        "deadline": of("lifecycle.definition.triggers.Deadline"),
        "reminder": of("lifecycle.definition.triggers.Reminder"),
        "fire": of("lifecycle.runtime.fire"),
        "create": of("lifecycle.runtime.create"),
    }


TABLES = tables()

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
