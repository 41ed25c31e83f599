"""The accessor: ``order.lifecycle``, the verbs on the record itself; hung on a model with its lifecycle."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from django.core.exceptions import FieldDoesNotExist
from django.db.models import QuerySet

from lifecycle import runtime
from lifecycle.definition.compiled import Definition
from lifecycle.definition.transitions import Transition
from lifecycle.exceptions import InvalidDefinition
from lifecycle.models import LifecycleAccessor, Run, TransitionLog
from lifecycle.refusals import Verdict
from lifecycle.store import records

Record = TypeVar("Record")
Names = TypeVar("Names", bound=str)


class RecordLifecycle(Generic[Record, Names]):
    """One record's lifecycle. Made afresh at each access; keeps nothing but the record.

    Generic over the record's model and the names that may be fired (see `lifecycle.models.LifecycleAccessor`).
    """

    __slots__ = ("definition", "record")

    def __init__(self, record: Record, definition: Definition) -> None:
        self.record = record
        self.definition = definition

    def __repr__(self) -> str:
        return f"<lifecycle '{self.definition.name}' of {self.record!r}>"

    @property
    def state(self) -> str:
        """The state the instance is in."""
        return records.state_of(self.definition, self.record)

    @property
    def version(self) -> int:
        """The version the instance is at: what a decision made on it is made on."""
        return records.version_of(self.definition, self.record)

    def fire(
        self,
        transition: Transition | Names,
        *,
        actor: Any,
        input: Mapping[str, Any] | None = None,
        request_id: str | None = None,
        expect_version: int | None = None,
        expect_changed_before: dt.datetime | None = None,
        manual: bool = False,
        reason: str = "",
    ) -> runtime.Fired[Record]:
        """`lifecycle.runtime.fire` for this record."""
        return runtime.fire(
            self.record,
            transition,
            actor=actor,
            input=input,
            request_id=request_id,
            expect_version=expect_version,
            expect_changed_before=expect_changed_before,
            manual=manual,
            reason=reason,
            lifecycle=self.definition,
        )

    def touch(self, *, actor: Any, reason: str = "") -> runtime.Fired[Record]:
        """`lifecycle.runtime.touch` for this record."""
        return runtime.touch(self.record, actor=actor, reason=reason, lifecycle=self.definition)

    def can(
        self,
        transition: Transition | Names,
        *,
        actor: Any,
        input: Mapping[str, Any] | None = None,
        manual: bool = False,
    ) -> Verdict:
        """`lifecycle.runtime.can` for this record."""
        return runtime.can(self.record, transition, actor=actor, input=input, manual=manual, lifecycle=self.definition)

    def available(self, *, actor: Any) -> list[runtime.Availability]:
        """`lifecycle.runtime.available` for this record."""
        return runtime.available(self.record, actor=actor, lifecycle=self.definition)

    def view(self, *, actor: Any, history: int = 50, runs: int = 50) -> runtime.RecordView[Record]:
        """`lifecycle.runtime.view` for this record."""
        return runtime.view(self.record, actor=actor, lifecycle=self.definition, history=history, runs=runs)

    async def afire(
        self,
        transition: Transition | Names,
        *,
        actor: Any,
        input: Mapping[str, Any] | None = None,
        request_id: str | None = None,
        expect_version: int | None = None,
        expect_changed_before: dt.datetime | None = None,
        manual: bool = False,
        reason: str = "",
    ) -> runtime.Fired[Record]:
        """`fire`, awaited."""
        return await runtime.afire(
            self.record,
            transition,
            actor=actor,
            input=input,
            request_id=request_id,
            expect_version=expect_version,
            expect_changed_before=expect_changed_before,
            manual=manual,
            reason=reason,
            lifecycle=self.definition,
        )

    async def acan(
        self,
        transition: Transition | Names,
        *,
        actor: Any,
        input: Mapping[str, Any] | None = None,
        manual: bool = False,
    ) -> Verdict:
        """`can`, awaited."""
        return await runtime.acan(
            self.record, transition, actor=actor, input=input, manual=manual, lifecycle=self.definition
        )

    async def aavailable(self, *, actor: Any) -> list[runtime.Availability]:
        """`available`, awaited."""
        return await runtime.aavailable(self.record, actor=actor, lifecycle=self.definition)

    async def aview(self, *, actor: Any, history: int = 50, runs: int = 50) -> runtime.RecordView[Record]:
        """`view`, awaited."""
        return await runtime.aview(self.record, actor=actor, lifecycle=self.definition, history=history, runs=runs)

    @property
    def history(self) -> QuerySet[TransitionLog]:
        """The record's entries, in the order they happened.

        Without those of an earlier record of the same key that was deleted: they are in ``whole_history``.
        """
        subject: Any = self.record
        entries = TransitionLog.objects.using(subject._state.db)
        found: QuerySet[TransitionLog] = entries.of_life(self.definition.name, records.text_id(subject))
        if records.version_of(self.definition, subject) == 0:  # perhaps saved directly: its life has no entry yet
            found = found.filter(version__lte=records.version_in_row(self.definition, subject))
        return found

    @property
    def whole_history(self) -> QuerySet[TransitionLog]:
        """The entries of every record that has had this key, in the order they happened."""
        subject: Any = self.record
        entries = TransitionLog.objects.using(subject._state.db)
        found: QuerySet[TransitionLog] = entries.of(self.definition.name, records.text_id(subject))
        return found

    @property
    def runs(self) -> QuerySet[Run]:
        """The record's effect runs, oldest first."""
        subject: Any = self.record
        runs = Run.objects.using(subject._state.db)
        found: QuerySet[Run] = runs.of_life(self.definition.name, records.text_id(subject))
        return found


def attach(definition: Definition) -> None:
    """Hangs a lifecycle on its model, and tells the state column where records may begin.

    Raises:
        InvalidDefinition: the model already has something else under the accessor's name.
    """
    there = definition.model.__dict__.get(definition.accessor)
    if isinstance(there, LifecycleAccessor):
        if there.definition.name != definition.name:
            raise InvalidDefinition(
                f"Two lifecycles of {definition.model.__name__} want the name '{definition.accessor}': "
                f"'{there.definition.name}' and '{definition.name}'. Give one another Meta.accessor.",
                lifecycle=definition.name,
            )
    elif hasattr(definition.model, definition.accessor):
        raise InvalidDefinition(
            f"{definition.model.__name__}.{definition.accessor} exists already; "
            f"choose another Meta.accessor for '{definition.name}'.",
            lifecycle=definition.name,
        )
    setattr(definition.model, definition.accessor, LifecycleAccessor(definition, RecordLifecycle))
    for name in definition.owned_fields:
        try:
            field: Any = definition.model._meta.get_field(name)
        except FieldDoesNotExist:
            continue  # said with what to do by `manage.py check` (lifecycle.E105); it cannot run if this raises
        # What a refused write recommends: record.<accessor>.fire(…).
        field.accessor = definition.accessor
        if name == definition.state_field:
            field.initial_states = definition.initial
