"""RecordLookup: the record, and the run of it, that a request's address names, if the caller may see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import models
from django.http import Http404

from lifecycle.exceptions import LifecycleError
from lifecycle.models import Run
from lifecycle.rest import fingerprints, requests
from lifecycle.rest.viewsets import addresses
from lifecycle.rest.viewsets.hooks import ViewSetHooks
from lifecycle.store import records

_EDITING = frozenset({"update", "partial_update"})


class RecordLookup(ViewSetHooks):
    """Rows of the viewset's own queryset, each with what tells whether its view has changed."""

    def get_object(self) -> Any:
        """The record; an address that no database can even look up is not found, a column of ours is not edited."""
        if any(isinstance(value, str) and "\x00" in value for value in self.kwargs.values()):
            raise Http404
        if not self._is_one_address():
            raise Http404
        record = super().get_object()
        if self.action in _EDITING:
            self._refuse_owned(record)
        return record

    def filter_queryset(self, queryset: Any) -> Any:
        """The viewset's rows; for a view, with what tells whether anything has changed."""
        queryset = super().filter_queryset(queryset)
        if self.action != "lifecycle_view":
            return queryset
        return fingerprints.watched(queryset, self.definition, self._addressed_id())

    def _is_one_address(self) -> bool:
        """Whether a numbered record is addressed by its number as it is written; Python reads ``1_0`` as ten, too."""
        name, meta = self.lookup_field, self.definition.model._meta
        column: Any = meta.pk if name == "pk" else next((one for one in meta.concrete_fields if one.name == name), None)
        while column is not None and column.remote_field is not None:
            column = column.target_field
        value = self.kwargs.get(self.lookup_url_kwarg or name)
        if not isinstance(column, models.IntegerField) or not isinstance(value, str):
            return True
        return addresses.NUMBER.fullmatch(value) is not None

    def _refuse_owned(self, record: Any) -> None:
        """As at creation: who sends a column that only transitions write hears so, unless it is what they read."""
        serializer = self.get_serializer(record)
        fields: Mapping[str, Any] = getattr(serializer, "fields", {})
        owned = [name for name in self.definition.owned_fields if name not in fields or fields[name].read_only]
        shown = serializer.data if any(name in fields for name in owned) else {}
        requests.refuse_owned(self.request, owned, shown)

    def _addressed_id(self) -> str | None:
        """The text id of the record the address names by its key, or None when it names it by something else."""
        pk = self.definition.model._meta.pk
        if self.lookup_field not in ("pk", pk.name):
            return None
        value = self.kwargs.get(self.lookup_url_kwarg or self.lookup_field)
        try:
            return records.text_id(records.parse_id(self.definition, value))
        except LifecycleError:
            return None

    def _in_scope(self, record: Any) -> Any:
        """The record as the viewset's queryset has it now, or None when it is not among its rows any more."""
        rows = self.get_queryset().filter(pk=record.pk)
        return fingerprints.watched(rows, self.definition, records.text_id(record)).first()

    def _in_scope_or_404(self, record: Any) -> None:
        found = self._in_scope(record)
        if found is None:
            raise Http404
        self.check_object_permissions(self.request, found)

    def _fresh(self, record: Any) -> Any:
        return records.read(self.definition, records.text_id(record), record._state.db)

    def _fingerprint(self, record: Any) -> str:
        reader = getattr(self.request.user, "pk", None)
        parts = self.get_fingerprint_parts(record)
        return fingerprints.fingerprint(record, self.definition, records.text_id(record), reader, parts)

    def _run_of(self, record: Any) -> Run:
        """The run in the address, if it is this record's."""
        text = str(self.kwargs["run"])
        if text.startswith("-") or len(text) > 18 or not addresses.NUMBER.fullmatch(text):
            raise Http404
        run: Run | None = self._runs_of(record).filter(pk=int(text)).first()
        if run is None:
            raise Http404
        return run

    def _runs_of(self, record: Any) -> Any:
        return Run.objects.using(record._state.db).of_life(self.definition.name, records.text_id(record))
