"""Owned columns: a record's state, the time it changed and its version; only the runtime changes them.

Two hooks of a field see every write of the ORM: ``pre_save`` (save, create, bulk_create) and ``get_placeholder`` /
``get_placeholder_sql`` (every SET of every UPDATE, whichever manager, and ON CONFLICT DO UPDATE). So the guard lives
here, and no manager, queryset or signal is involved.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

from django.conf import settings
from django.core import checks
from django.db import models
from django.db.models.constants import OnConflict
from django.db.models.expressions import RawSQL
from django.db.models.query_utils import DeferredAttribute
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from lifecycle import clock
from lifecycle.exceptions import StateWriteRefused
from lifecycle.models import creation, permits, writes
from lifecycle.models.loaded import MISSING, UNREAD, differs, known, layout_of, note_loaded, read_row
from lifecycle.models.timestamps import FirstTimestamp
from lifecycle.suggest import did_you_mean

if TYPE_CHECKING:
    _Field = models.Field[Any, Any]
    _CharField = models.CharField[Any, str]
    _DateTimeField = models.DateTimeField[Any, dt.datetime]
    _VersionField = models.PositiveBigIntegerField[Any, int]
else:
    # As a mixin it must not be a Field itself: Django's fields come after it in the order of their methods.
    _Field = object
    _CharField, _DateTimeField, _VersionField = models.CharField, models.DateTimeField, models.PositiveBigIntegerField

# Fixed, not derived from the states: a longer name later would be an AlterField, which on SQLite rebuilds the table
# (and drops its triggers) and on PostgreSQL may be refused.
STATE_LENGTH = 63


class OwnedAttribute(DeferredAttribute):
    """Notes what Django fetches for a whole crowd of deferred instances, past `refresh_from_db` (Django ≥ 6.1)."""

    def fetch_many(self, instances: Iterable[models.Model]) -> None:
        attname, instances = self.field.attname, list(instances)
        without = [instance for instance in instances if attname not in instance.__dict__]
        super().fetch_many(instances)
        for instance in without:
            if attname in instance.__dict__:
                note_loaded(instance, {attname: instance.__dict__[attname]})


class OwnedColumn(_Field):
    """What the three columns share. Guarded on a `LifecycleModel`; copied elsewhere, an ordinary column."""

    stands_for: ClassVar[str]
    descriptor_class = OwnedAttribute
    guarded: bool = False
    copied: bool = False
    # The name under which records offer their lifecycle, for the sentences; set when a lifecycle is registered.
    accessor: str = "lifecycle"

    def deconstruct(self) -> Any:
        # Nothing of ours in users' migrations: the class named is Django's own.
        name, _path, args, kwargs = super().deconstruct()
        return name, self.stands_for, args, kwargs

    def contribute_to_class(self, cls: Any, name: str, private_only: bool = False) -> None:
        before = self.__dict__.get("model")
        self.copied = before is not None and not before._meta.abstract
        super().contribute_to_class(cls, name, private_only=private_only)
        self.guarded = bool(getattr(cls, "_lifecycle_guards_columns", False))
        self.untouched = writes.Untouched(self)

    # Writing -------------------------------------------------------------------------------------

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        if not self.guarded:
            return super().pre_save(model_instance, add)
        if add:
            return creation.begin(self, model_instance)
        if model_instance._state.adding:
            return self._value_over_existing(model_instance)
        # Never getattr: a deferred column must not be fetched to find that nobody touched it.
        current = model_instance.__dict__.get(self.attname, MISSING)
        if current is MISSING:
            return self.untouched
        before = known(model_instance, self.attname)
        if before is UNREAD:
            before = self._ask_the_row(model_instance, current)
        if not differs(current, before):
            return self.untouched
        if self.is_cut(current, before):
            model_instance.__dict__[self.attname] = before
            return self.untouched
        if permits.is_bypassed():
            return self._checked(current)
        raise StateWriteRefused(
            self._save_sentence(model_instance, before, current),
            model=model_instance._meta.label,
            field=self.name,
            expected=before,
            got=current,
        )

    def is_cut(self, current: Any, before: Any) -> bool:
        """Whether a value is what the row holds, less what a format on the way (CSV, JSON) had no room for."""
        return False

    def _value_over_existing(self, instance: models.Model) -> Any:
        """A new instance with a key of its own: Django tries UPDATE first, and may meet a row."""
        if permits.is_bypassed():
            return self._checked(instance.__dict__.get(self.attname, self.untouched))
        if isinstance(self, StateField):
            creation.check_start(self, instance, instance.__dict__.get(permits.STARTING, {}))
        return self.untouched

    def _ask_the_row(self, instance: models.Model, otherwise: Any) -> Any:
        """One SELECT for an instance that brought no record (an old pickle, a fixture, a deferred assignment)."""
        row = read_row(instance, [column.attname for column in layout_of(type(instance)).owned])
        if row is None:
            return otherwise
        note_loaded(instance, row)
        return row[self.attname]

    def get_placeholder(self, value: Any, compiler: Any, connection: Any) -> str:  # Django < 6.1
        self.check_statement(compiler)
        return "%s"

    def get_placeholder_sql(self, value: Any, compiler: Any, connection: Any) -> tuple[str, Any]:  # Django ≥ 6.1
        self.check_statement(compiler)
        if hasattr(value, "as_sql"):
            return compiler.compile(value)  # type: ignore[no-any-return]
        return "%s", [value]

    def check_statement(self, compiler: Any) -> None:
        """Raises unless the statement leaves this column alone or its value is permitted.

        Only the target of a SET counts. The same field also renders values in SELECT, WHERE and CASE: those pass.
        """
        if not self.guarded:
            return
        query: Any = compiler.query
        kind = type(query)
        if issubclass(kind, models.sql.UpdateQuery):
            for field, _model, value in query.values:
                # ``is``: Field.__eq__ would be most of the cost of a save().
                if field is self and not writes.permits(value, self):
                    self._check_update(value)
        elif (
            issubclass(kind, models.sql.InsertQuery)
            and query.on_conflict is OnConflict.UPDATE
            and any(field is self for field in query.update_fields)
        ):
            self._check_update(MISSING)

    def _check_update(self, value: Any) -> None:
        if permits.is_raw():
            return
        if permits.is_bypassed():
            self._checked(value)
            return
        raise StateWriteRefused(
            self._update_sentence(value), model=self.model._meta.label, field=self.name, expected=None, got=_fact(value)
        )

    def _checked(self, value: Any) -> Any:
        """A value on its way past the lifecycle; `StateField` refuses states it does not know."""
        return value

    def first_value(self, present: Any, given: Mapping[str, Any], *, free: bool) -> Any:
        """What a new row begins with, given what the instance holds and what was permitted."""
        raise NotImplementedError

    # Sentences -----------------------------------------------------------------------------------

    def _save_sentence(self, instance: models.Model, before: Any, current: Any) -> str:
        return (
            f"{type(instance).__name__}.{self.name} is {_shown(before)} and only a transition changes it "
            f"(tried: {_shown(current)}). Fire one: {instance._meta.model_name}.{self.accessor}.fire('…', actor=…)."
        )

    def _update_sentence(self, value: Any) -> str:
        tried = "" if value is MISSING else f" (tried: {_shown(value)})"
        return (
            f"{self.model.__name__}.{self.name} is changed by transitions only, not by update(), bulk_update() or "
            f"bulk_create(){tried}. Fire one for the records: lifecycle.runtime.fire_many(queryset, '…', actor=…)."
        )

    # Checks --------------------------------------------------------------------------------------

    def check(self, **kwargs: Any) -> list[checks.CheckMessage]:
        return [*super().check(**kwargs), *self._check_home()]

    def _check_home(self) -> list[checks.CheckMessage]:
        if self.guarded or self.copied:
            return []
        return [
            checks.Error(
                f"{self.model.__name__}.{self.name} is a {type(self).__name__}, but {self.model.__name__} is not a "
                f"LifecycleModel: nothing guards the column.",
                hint=f"Let {self.model.__name__} inherit from lifecycle.models.LifecycleModel.",
                obj=self,
                id="lifecycle.E101",
            )
        ]


class StateField(OwnedColumn, _CharField):
    """The state of a record: in migrations a plain CharField with choices.

    Args:
        states: a ``TextChoices`` class or a list of choices; its first member is the default.
        verbose_name: as of any field.

    ``initial_states`` is set when a lifecycle is registered for the model; until then a record begins in the default.
    """

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
        from lifecycle.models.columns import columns_of

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


def _shown(value: Any) -> str:
    """A column's value in a sentence: an enum member as the text it stands for, a time as ISO."""
    if isinstance(value, str):
        return repr(str(value))
    return value.isoformat() if isinstance(value, dt.datetime) else repr(value)


def _fact(value: Any) -> Any:
    return None if value is MISSING else value
