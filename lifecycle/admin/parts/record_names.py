"""Record names: the records that our rows point to, looked up together, only those this user may see."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib.admin.utils import quote
from django.db import router
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from lifecycle import registry
from lifecycle.admin.parts import addresses, labels
from lifecycle.definition.compiled import Definition
from lifecycle.exceptions import RecordNotFound
from lifecycle.models import Run, TransitionLog
from lifecycle.store import records


@dataclass(frozen=True, kw_only=True)
class NamedRecord:
    """A record as a row of ours names it: with its own name, link and state only for who may see it."""

    label: str
    url: str = ""
    definition: Definition | None = None
    state: str = ""
    version: int | None = None

    @property
    def link(self) -> SafeString:
        """The name, linked where there is a page."""
        return format_html('<a href="{}">{}</a>', self.url, self.label) if self.url else format_html("{}", self.label)

    @property
    def state_label(self) -> str:
        """The state it is in now; empty when not known."""
        return labels.state_label(self.definition, self.state) if self.state else ""

    def is_in_stay(self, run: Run) -> bool:
        """Whether the stay that a run belongs to lasts: no entry has ended it, whatever number the version has now."""
        if run.stay_version is None or self.version == run.stay_version:
            return True
        entries = TransitionLog.objects.using(run._state.db)
        return not entries.ending_a_stay(run.lifecycle, run.record_id, run.stay_version).exists()


Key = tuple[str, str]


def named(rows: Iterable[Any], request: HttpRequest, site: Any) -> dict[Key, NamedRecord]:
    """The records of these rows by lifecycle and record id; one query per lifecycle."""
    wanted: dict[str, set[str]] = {}
    for row in rows:
        if row.record_id:
            wanted.setdefault(row.lifecycle, set()).add(row.record_id)
    found: dict[Key, NamedRecord] = {}
    for lifecycle, ids in wanted.items():
        definition = registry.find(lifecycle)
        for record_id in ids:
            found[lifecycle, record_id] = NamedRecord(label=_bare(definition, lifecycle, record_id))
        if definition is not None:
            found |= _looked_up(definition, ids, request, site)
    return found


def named_one(row: Any, request: HttpRequest, site: Any) -> NamedRecord:
    """One row's record."""
    return named([row], request, site).get((row.lifecycle, row.record_id)) or NamedRecord(label=row.lifecycle)


def _looked_up(definition: Definition, ids: set[str], request: HttpRequest, site: Any) -> dict[Key, NamedRecord]:
    model = definition.model
    if not site.is_registered(model):
        return {}
    page = site.get_model_admin(model)
    if not page.has_view_permission(request):
        return {}
    keys = []
    for record_id in ids:
        try:
            keys.append(records.parse_id(definition, record_id))
        except RecordNotFound:
            continue
    using = router.db_for_read(model)
    try:
        rows = list(page.get_queryset(request).using(using).filter(pk__in=keys))
    except OverflowError:  # a number larger than the column: then the names of this page stay bare
        return {}
    return {
        (definition.name, records.text_id(record)): NamedRecord(
            label=str(record),
            url=addresses.of(site, f"{model._meta.app_label}_{model._meta.model_name}_change", quote(record.pk)),
            definition=definition,
            state=records.state_of(definition, record),
            version=records.version_of(definition, record),
        )
        for record in rows
    }


def _bare(definition: Definition | None, lifecycle: str, record_id: str) -> str:
    if definition is None:
        return f"{lifecycle} {record_id}"
    return f"{definition.model._meta.verbose_name} {record_id}"
