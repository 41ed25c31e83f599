"""Owned column: what a record's state, the time it changed and its version share; only the runtime changes them.

Two hooks of a field see every write of the ORM: ``pre_save`` (save, create, bulk_create) and ``get_placeholder`` /
``get_placeholder_sql`` (every SET of every UPDATE, whichever manager, and ON CONFLICT DO UPDATE). So the guard lives
here, and no manager, queryset or signal is involved.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from django.core import checks
from django.db import models
from django.db.models.constants import OnConflict
from django.db.models.query_utils import DeferredAttribute

from lifecycle.exceptions import StateWriteRefused
from lifecycle.models import creation, permits, writes
from lifecycle.models.layout import MISSING, UNREAD, layout_of
from lifecycle.models.loaded import differs, known, note_loaded, read_row

if TYPE_CHECKING:
    _Field = models.Field[Any, Any]
else:
    # As a mixin it must not be a Field itself: Django's fields come after it in the order of their methods.
    _Field = object


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

    role: ClassVar[str]  # "state", "changed_at" or "version"
    stands_for: ClassVar[str]  # what migrations name instead
    descriptor_class = OwnedAttribute
    for_state: str | None = None  # of a state's two companions: which StateField is meant
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


def _shown(value: Any) -> str:
    """A column's value in a sentence: an enum member as the text it stands for, a time as ISO."""
    if isinstance(value, str):
        return repr(str(value))
    return value.isoformat() if isinstance(value, dt.datetime) else repr(value)


def _fact(value: Any) -> Any:
    return None if value is MISSING else value
