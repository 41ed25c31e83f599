"""ViewSetHooks: what a project sets and overrides on a viewset with a lifecycle."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from django.db import router, transaction

from lifecycle import registry
from lifecycle.definition.compiled import Definition
from lifecycle.rest.pages import NewestFirst
from lifecycle.rest.permissions import MayOperate
from lifecycle.runtime import acting
from lifecycle.runtime.verbs import creation

if TYPE_CHECKING:
    # Behind the mixin stands the viewset of the project; all the mixin asks of it is this.
    from rest_framework.viewsets import GenericViewSet

    _Base = GenericViewSet[Any]

    from lifecycle.runtime import Fired
else:
    _Base = object


class ViewSetHooks(_Base):
    """The attributes and methods that a project's viewset may define for itself; each with its default."""

    lifecycle: ClassVar[Any]
    """The `Lifecycle` class."""

    lifecycle_permission_classes: ClassVar[Sequence[type[Any]] | None] = None
    """Asked on the lifecycle's endpoints besides the viewset's own. None: ``IsAuthenticated`` where the viewset lets
    everyone in, else nothing more. An empty list opens the endpoints as wide as the viewset."""

    lifecycle_operate_permission_classes: ClassVar[Sequence[type[Any]]] = (MayOperate,)
    """Asked, besides, of those who retry, continue or cancel a run."""

    lifecycle_transition_permission_classes: ClassVar[Mapping[str, Sequence[type[Any]]]] = {}
    """Asked, besides, of those who fire the transition of this name; `available` shows what they answer."""

    lifecycle_throttle_scopes: ClassVar[Mapping[str, str]] = {}
    """``throttle_scope`` per action (``{"fire": "orders-fire"}``), for DRF's ``ScopedRateThrottle``."""

    lifecycle_creation: ClassVar[bool] = True
    """Whether POST on the list creates a record."""

    lifecycle_exclude: ClassVar[Collection[str]] = ()
    """Fields that are not validated when a record is created, because the model's own ``save()`` fills them."""

    lifecycle_pagination_class: ClassVar[type[NewestFirst]] = NewestFirst

    lifecycle_history_shown: ClassVar[int] = 20
    """So many of the latest entries and runs a view holds; the pages have all."""

    lifecycle_etag_seconds: ClassVar[float] = 30
    """So long an ``ETag`` is trusted. Guards may look at other rows and at the clock, which no ETag can see."""

    lifecycle_path_converters: ClassVar[bool] = False
    """True for a router made with ``use_regex_path=False``."""

    @property
    def definition(self) -> Definition:
        """The compiled lifecycle."""
        return registry.of(self.lifecycle)

    def get_actor(self) -> Any:
        """Who acts: the user of the request, or what ``LIFECYCLE["REQUEST_ACTOR"]`` makes of it."""
        return acting.actor_of(self.request)

    def get_record_data(self, record: Any) -> Any:
        """The record as the viewset's serializer shows it on its detail page."""
        with self._as_action("retrieve"):
            return self.get_serializer(record).data

    def get_fingerprint_parts(self, record: Any) -> Sequence[Any]:
        """What a view shows besides the record's own row and runs (related rows), for the ``ETag`` to change with."""
        return ()

    def get_creation_values(self, serializer: Any) -> Mapping[str, Any]:
        """What a new record gets besides the serializer's data: ``{"customer": self.request.user}``."""
        return {}

    def build_record(self, serializer: Any) -> tuple[Any, Mapping[str, Any]]:
        """The record to create, unsaved, and its many-to-many values, which are set in the same transaction."""
        model = self.definition.model
        values = {**serializer.validated_data, **self.get_creation_values(serializer)}
        many = {field.name for field in model._meta.many_to_many} & values.keys()
        later = {name: values.pop(name) for name in many}
        return model(**values), later

    def perform_creation(self, serializer: Any, request_id: str | None) -> Fired:
        """Creates the record and what hangs on it in one transaction."""
        record, many = self.build_record(serializer)
        options = {
            "actor": self.get_actor(),
            "request_id": request_id,
            "lifecycle": self.lifecycle,
            "exclude": self.lifecycle_exclude,
        }
        if not many:
            return creation.begin(record, **options)
        with transaction.atomic(using=router.db_for_write(type(record))):
            fired = creation.begin(record, **options)
            if not fired.replayed:
                for name, values in many.items():
                    getattr(fired.record, name).set(values)
        return fired

    def _shows_its_serializer(self) -> bool:
        """Whether a record is shown as the serializer shows it: the project has no `get_record_data` of its own."""
        return type(self).get_record_data is ViewSetHooks.get_record_data

    @contextmanager
    def _as_action(self, name: str) -> Iterator[None]:
        """While open, the viewset's own choices by ``self.action`` are those for another action."""
        before, self.action = self.action, name
        try:
            yield
        finally:
            self.action = before
