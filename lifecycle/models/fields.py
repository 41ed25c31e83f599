"""Fields: the state of a record, when it changed, and the version; plain Django columns in migrations."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, overload

from django.conf import settings
from django.core import checks
from django.db import models
from django.db.models.expressions import RawSQL
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from lifecycle import clock
from lifecycle.exceptions import StateWriteRefused
from lifecycle.models import creation, permits
from lifecycle.models.columns import columns_of
from lifecycle.models.layout import layout_of
from lifecycle.models.loaded import differs
from lifecycle.models.owned_column import OwnedColumn
from lifecycle.models.timestamps import FirstTimestamp
from lifecycle.suggest import did_you_mean

if TYPE_CHECKING:
    _CharField = models.CharField[Any, str]
    _DateTimeField = models.DateTimeField[Any, dt.datetime]
    _VersionField = models.PositiveBigIntegerField[Any, int]
else:
    _CharField, _DateTimeField, _VersionField = models.CharField, models.DateTimeField, models.PositiveBigIntegerField

# Fixed, not derived from the states: a longer name later would be an AlterField, which on SQLite rebuilds the table
# (and drops its triggers) and on PostgreSQL may be refused.
STATE_LENGTH = 63


class StateField(OwnedColumn, _CharField):
    """The state of a record: in migrations a plain CharField with choices.

    Args:
        states: a ``TextChoices`` class or a list of choices; its first member is the default.
        verbose_name: as of any field.

    ``initial_states`` is set when a lifecycle is registered for the model; until then a record begins in the default.
    """

    role = "state"
    stands_for = "django.db.models.CharField"
    initial_states: tuple[str, ...] | None = None

    if TYPE_CHECKING:
        # Said outright: without the plugin of django-stubs a checker would not know what a subclass of a field holds.
        @overload  # type: ignore[override]
        def __get__(self, instance: None, owner: Any) -> Self: ...
        @overload
        def __get__(self, instance: models.Model, owner: Any) -> str: ...
        def __get__(self, instance: Any, owner: Any) -> Any: ...

    def __init__(self, states: Any = None, verbose_name: Any = None, **kwargs: Any) -> None:
        if states is not None:
            kwargs["choices"] = states
        if kwargs.setdefault("max_length", STATE_LENGTH) != STATE_LENGTH:
            raise TypeError(f"StateField: max_length is always {STATE_LENGTH}; leave it out.")
        if kwargs.setdefault("editable", False):
            raise TypeError("StateField: it is never editable in forms; leave `editable` out.")
        if kwargs.get("null"):
            raise TypeError("StateField: a record is always in a state; leave `null` out.")
        super().__init__(verbose_name, **kwargs)
        if "default" not in kwargs and self.states:
            self.default = self.states[0]

    @cached_property
    def states(self) -> tuple[str, ...]:
        """Every state the column knows, in the order they were declared."""
        return tuple(str(value) for value, _label in self.flatchoices if value not in (None, ""))

    @property
    def beginnings(self) -> tuple[str, ...]:
        """The states in which a record may be created."""
        if self.initial_states is not None:
            return self.initial_states
        return (str(self.get_default()),)

    def first_value(self, present: Any, given: Mapping[str, Any], *, free: bool) -> Any:
        return given.get(self.attname, present)

    def _value_over_existing(self, instance: models.Model) -> Any:
        if not permits.is_bypassed():
            creation.check_start(self, instance, instance.__dict__.get(permits.STARTING, {}))
        return super()._value_over_existing(instance)

    def _checked(self, value: Any) -> Any:
        if isinstance(value, str) and value not in self.states:
            raise StateWriteRefused(
                f"{self.model.__name__}.{self.name} has no state {str(value)!r}. "
                f"{did_you_mean(str(value), self.states)}",
                model=self.model._meta.label,
                field=self.name,
                expected=self.states,
                got=value,
            )
        return value

    def check(self, **kwargs: Any) -> list[checks.CheckMessage]:
        return [*super().check(**kwargs), *self._check_states(), *self._check_pair()]

    def _check_states(self) -> list[checks.CheckMessage]:
        if not self.states:
            message, hint = "names no states.", "Give it a TextChoices class: StateField(Status)."
        elif str(self.get_default()) not in self.states:
            message = f"has the default {str(self.get_default())!r}, which is none of its states."
            hint = did_you_mean(str(self.get_default()), self.states)
        else:
            return []
        return [checks.Error(f"{self.model.__name__}.{self.name} {message}", hint=hint, obj=self, id="lifecycle.E102")]

    def _check_pair(self) -> list[checks.CheckMessage]:
        if not self.guarded:
            return []
        columns = columns_of(self.model, self.name)
        missing = [
            f"{kind.__name__}(for_state={self.name!r})"
            for kind, column in ((ChangedAtField, columns.changed_at), (VersionField, columns.version))
            if column is None
        ]
        if not missing:
            return []
        return [
            checks.Error(
                f"{self.model.__name__}.{self.name} has no {' and no '.join(missing)}: a lifecycle needs both columns.",
                hint=f"Each StateField has its own pair; declare {' and '.join(missing)} on {self.model.__name__}.",
                obj=self,
                id="lifecycle.E103",
            )
        ]


class _PairColumn(OwnedColumn):
    """One of the two columns that go with a state."""

    def __init__(self, verbose_name: Any = None, *, for_state: str | None = None, **kwargs: Any) -> None:
        self.for_state = for_state
        if kwargs.setdefault("editable", False):
            raise TypeError(f"{type(self).__name__}: it is never editable in forms; leave `editable` out.")
        super().__init__(verbose_name, **kwargs)

    def check(self, **kwargs: Any) -> list[checks.CheckMessage]:
        return [*super().check(**kwargs), *self._check_state()]

    def _check_state(self) -> list[checks.CheckMessage]:
        if not self.guarded or self.for_state is None:
            return []
        states = {state.name for state in layout_of(self.model).states}
        twins = [
            column.name
            for column in layout_of(self.model).owned
            if isinstance(column, type(self)) and column.for_state == self.for_state
        ]
        if self.for_state not in states:
            message = f"is for the state {self.for_state!r}, but {self.model.__name__} has no such StateField."
            hint = did_you_mean(self.for_state, sorted(states))
        elif len(twins) > 1 and twins[0] != self.name:
            message = f"is for the state {self.for_state!r}, which {self.model.__name__}.{twins[0]} already serves."
            hint = "Keep one of them."
        else:
            return []
        return [checks.Error(f"{self.model.__name__}.{self.name} {message}", hint=hint, obj=self, id="lifecycle.E104")]


class ChangedAtField(_PairColumn, _DateTimeField):  # type: ignore[misc] # DateField names an argument otherwise
    """When the record came into its state.

    NULL only in rows older than the column; ``lifecycle_adopt`` fills them. ``for_state`` names the StateField it
    belongs to; without it, the first one that has none of its own.
    """

    role = "changed_at"
    stands_for = "django.db.models.DateTimeField"

    if TYPE_CHECKING:

        @overload  # type: ignore[override]
        def __get__(self, instance: None, owner: Any) -> Self: ...
        @overload
        def __get__(self, instance: models.Model, owner: Any) -> dt.datetime | None: ...
        def __get__(self, instance: Any, owner: Any) -> Any: ...

    def __init__(self, verbose_name: Any = None, *, for_state: str | None = None, **kwargs: Any) -> None:
        # A table with rows can then get the column without a made-up time.
        kwargs.setdefault("null", True)
        super().__init__(
            verbose_name if verbose_name is not None else _("state changed at"), for_state=for_state, **kwargs
        )

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        value = super().pre_save(model_instance, add)
        # What stands in the instance is the process's own moment unless somebody gave it: then it is written as it is.
        is_given = self.attname in model_instance.__dict__.get(permits.STARTING, {}) or permits.creation_is_free()
        if not add or not self.guarded or is_given or clock.overridden() is not None or not settings.USE_TZ:
            return value
        return FirstTimestamp(value, self)

    def is_cut(self, current: Any, before: Any) -> bool:
        if not isinstance(current, dt.datetime) or not isinstance(before, dt.datetime):
            return False
        # To milliseconds, as JSON has it; to seconds, as spreadsheets and import formats have it.
        cut = (before.replace(microsecond=before.microsecond // 1000 * 1000), before.replace(microsecond=0))
        return any(not differs(current, one) for one in cut)

    def first_value(self, present: Any, given: Mapping[str, Any], *, free: bool) -> Any:
        if self.attname in given:
            return given[self.attname]
        return present if free and present is not None else _now()


class VersionField(_PairColumn, _VersionField):
    """How many transitions led here; 0 for a record no runtime created. Grows by one with every transition."""

    role = "version"
    stands_for = "django.db.models.PositiveBigIntegerField"

    if TYPE_CHECKING:

        @overload  # type: ignore[override]
        def __get__(self, instance: None, owner: Any) -> Self: ...
        @overload
        def __get__(self, instance: models.Model, owner: Any) -> int: ...
        def __get__(self, instance: Any, owner: Any) -> Any: ...

    def __init__(self, verbose_name: Any = None, *, for_state: str | None = None, **kwargs: Any) -> None:
        kwargs.setdefault("default", 0)
        # In the database too: servers with older code go on inserting while the migration that adds the column is out.
        # Not a plain 0: with a parameter in a default, Django's CREATE TABLE on MySQL fails at conditional constraints.
        kwargs.setdefault("db_default", RawSQL("0", []))
        super().__init__(verbose_name if verbose_name is not None else _("version"), for_state=for_state, **kwargs)

    def first_value(self, present: Any, given: Mapping[str, Any], *, free: bool) -> Any:
        if self.attname in given:
            return given[self.attname]
        return present if free and present is not None else 0


def _now() -> dt.datetime:
    now = clock.now()
    return now if settings.USE_TZ else timezone.make_naive(now)
