"""Write: a value that may be put into an owned column, because it says itself that it may."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db.models import ExpressionWrapper

from lifecycle.models.loaded import differs, loaded, note_loaded, unsaved_edits
from lifecycle.models.permits import bypass, creation_in_any_state, starting_with

if TYPE_CHECKING:
    from lifecycle.models.owned_column import OwnedColumn

    _ExpressionWrapper = ExpressionWrapper[Any]
else:
    _ExpressionWrapper = ExpressionWrapper

__all__ = [
    "Untouched",
    "Write",
    "WriteExpression",
    "bypass",
    "creation_in_any_state",
    "differs",
    "loaded",
    "note_loaded",
    "starting_with",
    "unsaved_edits",
]


class Untouched:
    """In an UPDATE: the column as it is.

    It has no ``resolve_expression``, unlike ``F(column)``: Django 6 reads columns set to an expression back, after
    which the instance would hold a state nobody on this side assigned.
    """

    __slots__ = ("field",)

    def __init__(self, field: OwnedColumn) -> None:
        self.field = field

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        return connection.ops.quote_name(self.field.column), ()


class Write:
    """A plain value the runtime puts into an owned column: ``update(status=Write("paid", field))``."""

    __slots__ = ("field", "value")

    def __init__(self, value: Any, field: OwnedColumn) -> None:
        self.value = value
        self.field = field

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        return "%s", [self.field.get_db_prep_value(self.value, connection)]


class WriteExpression(_ExpressionWrapper):
    """The same for an expression: ``update(lifecycle_version=WriteExpression(F("lifecycle_version") + 1, field))``."""

    def __init__(self, expression: Any, field: OwnedColumn) -> None:
        # As every expression it then answers ``field`` with its output field.
        super().__init__(expression, output_field=field)


_PERMITTED = (Write, Untouched, WriteExpression)


def permits(value: Any, field: OwnedColumn) -> bool:
    """Whether a value of a SET says itself that it may be put into this column."""
    return isinstance(value, _PERMITTED) and value.field is field
