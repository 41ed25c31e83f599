"""Timeouts: records that have stayed in a state for as long as their lifecycle lets them."""

from __future__ import annotations

import datetime as dt
from typing import Any

from lifecycle import registry
from lifecycle.definition.compiled import CompiledTimeout, Definition
from lifecycle.models import due
from lifecycle.store import aliases, parameters, timing
from lifecycle.sweeps import triggers
from lifecycle.sweeps.passes import Pass
from lifecycle.sweeps.triggers import Due


def run_once(sweep: Pass) -> None:
    """Fires what is due of every timeout of every lifecycle on this database, in batches while time remains."""
    for definition in registry.all():
        if definition.timeouts and aliases.may_store(definition.model, sweep.using):
            with sweep.contained(f"Reading the parameters of {definition.name}"):
                current = parameters.read(definition, sweep.using)
                for timeout in definition.timeouts.values():
                    with sweep.contained(f"Timeout {definition.name}.{timeout.name}"):
                        _sweep(definition, timeout, current, sweep)


def _sweep(definition: Definition, timeout: CompiledTimeout, current: Any, sweep: Pass) -> None:
    now = timing.now(sweep.using)
    changed_before = now - _patience(timeout, current)
    for state in timeout.when:
        after = None
        while sweep.has_time():
            rows = due.timeouts(
                definition, timeout, state, changed_before=changed_before, now=now, using=sweep.using, after=after
            )
            found = [Due(pk=pk, version=version, position=at) for pk, version, at in rows[: timeout.batch_size]]
            if not found:
                break
            with sweep.contained(f"A batch of timeout {definition.name}.{timeout.name}"):
                triggers.fire(
                    definition,
                    timeout,
                    found,
                    sweep,
                    reason=f"timeout {timeout.name}",
                    expect_changed_before=changed_before,
                )
            if len(found) < timeout.batch_size:
                break
            after = (found[-1].position, found[-1].pk)


def _patience(timeout: CompiledTimeout, current: Any) -> dt.timedelta:
    answer: Any = timeout.after(current)
    if not isinstance(answer, dt.timedelta):
        raise TypeError(f"after: expected a timedelta, got {answer!r}.")
    return answer
