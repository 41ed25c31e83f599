"""Records: rows changed behind the library's back, and rows in states that are over or never were."""

from __future__ import annotations

from collections.abc import Iterator

from lifecycle.definition.compiled import Definition
from lifecycle.doctor.examined import Examined
from lifecycle.doctor.finding import ERROR, WARNING, Finding, several
from lifecycle.models import drift, stuck
from lifecycle.store import adoption, records


def drifted(examined: Examined) -> Iterator[Finding]:
    """Rows whose state is not the one of their last entry: something other than the lifecycle changed them."""
    for definition in examined.definitions:
        examined.say(f"{examined.using}: comparing {definition.name} with their history")
        count, examples, reasons = 0, list[str](), dict[str, int]()
        if len(definition.model._meta.pk_fields) > 1:
            continue  # one key of several columns: lifecycle.E108 says that it has no history
        for row in drift.drifted(definition, examined.using):
            count += 1
            reasons[row.reason] = reasons.get(row.reason, 0) + 1
            if len(examples) < examined.limits.examples:
                examples.append(f"{row.record_id} (in '{row.state}', version {row.version}: {row.reason})")
        if count:
            why = "; ".join(f"{number} times: {reason}" for reason, number in sorted(reasons.items()))
            yield examined.found(
                "drift",
                ERROR,
                f"{_named(definition, count, 'was', 'were')} changed past the lifecycle ({why}).",
                "Find the writer (SQL by hand, a fixture, a restored backup, bypass()). Rows that were imported or "
                f"there before: manage.py lifecycle_adopt {definition.name}. Others: manage.py lifecycle_repair "
                f"{definition.name} puts them back as the history says, or accepts them with a reason. DATABASE_GUARD "
                "refuses such writes from now on.",
                lifecycle=definition.name,
                count=count,
                examples=tuple(examples),
            )


def unbegun(examined: Examined) -> Iterator[Finding]:
    """Records saved without create(): they have no history, and their first state enqueued no effects."""
    for definition in examined.definitions:
        if len(definition.model._meta.pk_fields) > 1:
            continue
        count, examples = adoption.unbegun(definition, examined.using, examined.limits.examples)
        if count:
            yield examined.found(
                "unbegun",
                WARNING,
                f"{_named(definition, count, 'was', 'were')} saved without create(): their history has no beginning, "
                "and no effect or reminder of their first state was enqueued.",
                f"Call lifecycle.runtime.create(record, actor=…) where they are made; manage.py lifecycle_adopt "
                f"{definition.name} gives those that are there an entry, BEGIN_SAVED those to come.",
                lifecycle=definition.name,
                count=count,
                examples=tuple(examples),
            )


def strange_states(examined: Examined) -> Iterator[Finding]:
    """Records in states that the lifecycle does not know. No transition starts there, so nothing moves them."""
    for definition, strange in examined.strange_states:
        if strange.deprecated:
            continue
        yield examined.found(
            "unknown_states",
            ERROR,
            f"{_named(definition, strange.count)} in the state '{strange.state}', which '{definition.name}' does not "
            "know.",
            "Deploy the code that declares the state again, as State(deprecated=True) with a transition out of it, "
            "then manage.py lifecycle_migrate_state. See the page on changing a process in production.",
            lifecycle=definition.name,
            count=strange.count,
            examples=_in_state(examined, definition, strange.state),
        )


def deprecated_states(examined: Examined) -> Iterator[Finding]:
    """Records in deprecated states. The state must not be removed yet."""
    for definition, strange in examined.strange_states:
        if not strange.deprecated:
            continue
        ways = [edge.name for edge in definition.leaving(strange.state) if not edge.manual]
        yield examined.found(
            "deprecated_states",
            WARNING,
            f"{_named(definition, strange.count)} in the deprecated state '{strange.state}'.",
            f"manage.py lifecycle_migrate_state --lifecycle {definition.name} --from {strange.state} "
            f"--transition {ways[0] if ways else '…'}; only then remove the state from the code.",
            lifecycle=definition.name,
            count=strange.count,
            examples=_in_state(examined, definition, strange.state),
        )


def _in_state(examined: Examined, definition: Definition, state: str) -> tuple[str, ...]:
    rows = stuck.in_state(definition, state, examined.using)
    return tuple(records.text_id(pk) for pk in rows.values_list("pk", flat=True)[: examined.limits.examples])


def _named(definition: Definition, count: int, one: str = "is", many: str = "are") -> str:
    meta = definition.model._meta
    return f"{several(count, f'{meta.verbose_name} {one}', f'{meta.verbose_name_plural} {many}')}"
