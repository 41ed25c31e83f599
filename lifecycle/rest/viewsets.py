"""LifecycleViewSetMixin: a lifecycle's endpoints in front of any viewset the project has."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from django.db import models, router, transaction
from django.http import Http404
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.exceptions import MethodNotAllowed
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from lifecycle import conf, operations, registry, runtime
from lifecycle.definition.compiled import Definition
from lifecycle.exceptions import InvalidInput, LifecycleError, PermissionRefused, UnknownTransition
from lifecycle.models import EffectRun, TransitionLog
from lifecycle.refusals import InputProblem, Refusal
from lifecycle.rest import errors, fingerprints, representations, requests
from lifecycle.rest.descriptions import describe
from lifecycle.rest.documented import Documented
from lifecycle.rest.pages import NewestFirst
from lifecycle.rest.permissions import MayOperate, lets_everyone_in, may_operate
from lifecycle.runtime import acting, creation
from lifecycle.store import parameters, records
from lifecycle.suggest import did_you_mean

if TYPE_CHECKING:
    # Behind the mixin stands the viewset of the project; all the mixin asks of it is this.
    from rest_framework.viewsets import GenericViewSet

    _Base = GenericViewSet[Any]

    from lifecycle.runtime import Availability, Fired
else:
    _Base = object

_RUN = r"(?P<run>[^/.]+)"
# What DRF's own pattern of a key leaves out, and Django would answer in HTML.
_DOTTED = (
    r"(?P<dotted>[^/]*\.[^/]*/(?:lifecycle|fire|history|runs)"
    r"|(?:[^/]*\.[^/]*/runs/[^/]+|[^/]+/runs/[^/]*\.[^/]*)/(?:retry|continue|cancel))"
)
_ANY_BUT_DOTS = "[^/.]+"
_NUMBER = re.compile(r"0|-?[1-9][0-9]*")
_WRITING = frozenset({"create", "fire", "retry_run", "continue_run", "cancel_run"})
_EDITING = frozenset({"update", "partial_update"})
_READING = frozenset(
    {"lifecycle_definition", "lifecycle_view", "lifecycle_history", "lifecycle_runs", "lifecycle_nowhere"}
)
_OPERATING = frozenset({"retry_run", "continue_run", "cancel_run"})
_OURS = _WRITING | _READING


class LifecycleViewSetMixin(_Base):
    """Adds a lifecycle's endpoints to a viewset; put it before the viewset class.

    The viewset stays what it is: its permissions and throttles say who may call, its queryset which records exist for
    a caller (404 before anything is asked of the record), its serializer shows the record, its renderers render.
    """

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

    schema: Any = Documented("EndpointSchema")

    # Endpoints ---------------------------------------------------------------------------------------

    @action(detail=False, methods=["get"], url_path="lifecycle", url_name="lifecycle-definition")
    def lifecycle_definition(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The lifecycle: states, transitions with their inputs' schemas, effects, timeouts, parameters, diagram."""
        definition = self.definition
        using = router.db_for_read(definition.model)
        return Response(describe(definition, parameters.read(definition, using)))

    @action(detail=True, methods=["get"], url_path="lifecycle", url_name="lifecycle")
    def lifecycle_view(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The record, its state, what can be done and why not, what happened, what is pending."""
        record = self.get_object()
        print_ = self._fingerprint(record)
        good = fingerprints.still_good(request.headers.get("If-None-Match"), print_, self.lifecycle_etag_seconds)
        if good is not None:
            return Response(status=status.HTTP_304_NOT_MODIFIED, headers={"ETag": good})
        return self._view(record, print_)

    @action(detail=True, methods=["post"], url_path="fire", url_name="fire")
    def fire(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Fires ``{transition, input, request_id, expect_version}``; answers the view and ``replayed``."""
        requests.limit_size(request, _body_limit())
        record = self.get_object()
        wanted = requests.read_fire(request)
        self._known(wanted.transition)
        denied = self._transition_denied(wanted.transition, record)
        if denied:
            raise PermissionRefused(
                str(denied[0]), refusals=denied, lifecycle=self.definition.name, transition=wanted.transition
            )
        fired = runtime.fire(
            record,
            wanted.transition,
            actor=self.get_actor(),
            input=wanted.input,
            request_id=wanted.request_id,
            expect_version=wanted.expect_version,
            manual=True,
            lifecycle=self.lifecycle,
        )
        return self._after(fired, status.HTTP_200_OK)

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Creates a record through the runtime: the serializer's fields, and ``request_id``."""
        if not self.lifecycle_creation:
            raise MethodNotAllowed(request.method or "POST")
        requests.limit_size(request)
        fields: Mapping[str, Any] = getattr(self.get_serializer(), "fields", {})
        data, request_id = requests.read_creation(
            request,
            known=[name for name, field in fields.items() if not field.read_only],
            owned=self.definition.owned_fields,
            ignored=fields.keys() - set(self.definition.owned_fields),
        )
        serializer = self.get_serializer(data=data)
        requests.validate(serializer, data)
        fired = self.perform_creation(serializer, request_id)
        if fired.replayed:
            self._in_scope_or_404(fired.record)
            return self._after(fired, status.HTTP_200_OK)
        return self._after(fired, status.HTTP_201_CREATED)

    @action(detail=True, methods=["get"], url_path="history", url_name="history")
    def lifecycle_history(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The record's entries, newest first, by cursor."""
        record = self.get_object()
        entries = TransitionLog.objects.using(record._state.db).of_life(self.definition.name, records.text_id(record))
        return self._page(entries, representations.entry)

    @action(detail=True, methods=["get"], url_path="runs", url_name="runs")
    def lifecycle_runs(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The record's effect runs, newest first, by cursor."""
        return self._page(self._runs_of(self.get_object()), representations.run)

    @action(detail=True, methods=["post"], url_path=rf"runs/{_RUN}/retry", url_name="run-retry")
    def retry_run(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Enqueues a failed, dead or cancelled run again: ``{reason, force}``."""
        return self._operate(operations.retry_run, force=True)

    @action(detail=True, methods=["post"], url_path=rf"runs/{_RUN}/continue", url_name="run-continue")
    def continue_run(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Tries a run's waiting or abandoned follow-up now: ``{reason}``."""
        # What refuses the follow-up is about the record as it is; nothing in this request is wrong, so: 409.
        return self._operate(operations.continue_run, force=False, refused=status.HTTP_409_CONFLICT)

    @action(detail=True, methods=["post"], url_path=rf"runs/{_RUN}/cancel", url_name="run-cancel")
    def cancel_run(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Cancels a queued run, or by force a running one: ``{reason, force}``."""
        return self._operate(operations.cancel_run, force=True)

    @action(detail=False, methods=["get", "post"], url_path=_DOTTED, url_name="lifecycle-nowhere", schema=None)
    def lifecycle_nowhere(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Addresses with a dot, where keys have none: not found, in the words of every other address."""
        raise Http404

    # What a project may override --------------------------------------------------------------------

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

    # How DRF is asked -------------------------------------------------------------------------------

    @property
    def definition(self) -> Definition:
        """The compiled lifecycle."""
        return registry.of(self.lifecycle)

    @classmethod
    def get_extra_actions(cls) -> list[Any]:
        """The viewset's actions; addresses in the form the project's router reads."""
        actions: list[Any] = super().get_extra_actions()
        if cls.lifecycle_path_converters or getattr(cls, "lookup_value_regex", _ANY_BUT_DOTS) != _ANY_BUT_DOTS:
            actions = [one for one in actions if one.url_path != _DOTTED]  # its keys may have dots
        if not cls.lifecycle_path_converters:
            return actions
        return [_with_converter(one) if _RUN in one.url_path else one for one in actions]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Sets the action's throttle scope before throttles are asked."""
        scope = self.lifecycle_throttle_scopes.get(self.action or "")
        if scope is not None:
            self.throttle_scope = scope
        super().initial(request, *args, **kwargs)

    def perform_authentication(self, request: Request) -> None:
        """Who asks. The CSRF check of a session reads the body first: one that no parser can read is a bad request."""
        try:
            super().perform_authentication(request)
        except RecursionError:
            raise requests.too_deep() from None

    def get_permissions(self) -> list[Any]:
        """The viewset's permissions, and on the lifecycle's endpoints those of the lifecycle."""
        permissions = list(super().get_permissions())
        if self.action not in _OURS:
            return permissions
        if self.lifecycle_permission_classes is not None:
            permissions += [cls() for cls in self.lifecycle_permission_classes]
        elif lets_everyone_in(permissions):
            permissions.append(IsAuthenticated())
        return permissions

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

    def handle_exception(self, exc: Exception) -> Response:
        """Every error of the lifecycle's endpoints in the one error body; elsewhere only the library's own errors."""
        if isinstance(exc, LifecycleError):
            response = errors.response_to(exc)
            if response is None:
                raise exc
            response.exception = True
            return response
        if not self._is_ours():
            return super().handle_exception(exc)
        exc = requests.in_our_words(exc)
        response = super().handle_exception(exc)
        response.data = errors.body_of_other(exc)
        return response

    def _is_one_address(self) -> bool:
        """Whether a numbered record is addressed by its number as it is written; Python reads ``1_0`` as ten, too."""
        name, meta = self.lookup_field, self.definition.model._meta
        column: Any = meta.pk if name == "pk" else next((one for one in meta.concrete_fields if one.name == name), None)
        while column is not None and column.remote_field is not None:
            column = column.target_field
        value = self.kwargs.get(self.lookup_url_kwarg or name)
        if not isinstance(column, models.IntegerField) or not isinstance(value, str):
            return True
        return _NUMBER.fullmatch(value) is not None

    def _refuse_owned(self, record: Any) -> None:
        """As at creation: who sends a column that only transitions write hears so, unless it is what they read."""
        serializer = self.get_serializer(record)
        fields: Mapping[str, Any] = getattr(serializer, "fields", {})
        owned = [name for name in self.definition.owned_fields if name not in fields or fields[name].read_only]
        shown = serializer.data if any(name in fields for name in owned) else {}
        requests.refuse_owned(self.request, owned, shown)

    # Steps ------------------------------------------------------------------------------------------

    def _view(self, record: Any, print_: str | None = None, **more: Any) -> Response:
        """The view of a record that the caller may see."""
        operator = may_operate(self.request.user)
        shown = self.lifecycle_history_shown
        view = runtime.view(record, actor=self.get_actor(), lifecycle=self.lifecycle, history=shown, runs=shown)
        if records.version_of(self.definition, record) != view.version:  # it moved on since it was read
            record = self._in_scope(record) or view.record
        body = {
            "record": self.get_record_data(record),
            "state": view.state,
            "version": view.version,
            "available": [representations.open_transition(one) for one in self.explained(view.available, record)],
            "history": [representations.entry(row, operator=operator) for row in view.history],
            "runs": [representations.run(row, operator=operator) for row in view.runs],
            **more,
        }
        tag = fingerprints.tag(view.version, print_ if print_ is not None else self._fingerprint(record))
        return Response(body, headers={"ETag": tag, "Cache-Control": "private, no-cache"})

    def _after(self, fired: Fired, code: int) -> Response:
        """The view after an operator action, also of a record that left the caller's scope by it."""
        record = self._in_scope(fired.record) or fired.record
        response = self._view(record, replayed=fired.replayed)
        response.status_code = code
        return response

    def _operate(self, operation: Callable[..., Any], *, force: bool, refused: int | None = None) -> Response:
        """Does an operation on the run in the address; ``refused`` is the one status of its refusals, if any."""
        requests.limit_size(self.request, _body_limit())
        record = self.get_object()
        for cls in self.lifecycle_operate_permission_classes:
            permission = cls()
            if not permission.has_permission(self.request, self):
                self.permission_denied(self.request, message=getattr(permission, "message", None))
        run = self._run_of(record)
        wanted = requests.read_operator(self.request, force=force)
        options = {"force": wanted.force} if force else {}
        try:
            operation(run, actor=self.get_actor(), reason=wanted.reason, **options)
        except LifecycleError as error:
            if refused is None:
                raise
            return Response(errors.body_of(error), status=refused)  # the audited try stays, so no rollback
        return self._view(self._in_scope(record) or self._fresh(record))

    def _run_of(self, record: Any) -> EffectRun:
        """The run in the address, if it is this record's."""
        text = str(self.kwargs["run"])
        if text.startswith("-") or len(text) > 18 or not _NUMBER.fullmatch(text):
            raise Http404
        run: EffectRun | None = self._runs_of(record).filter(pk=int(text)).first()
        if run is None:
            raise Http404
        return run

    def _runs_of(self, record: Any) -> Any:
        return EffectRun.objects.using(record._state.db).of_life(self.definition.name, records.text_id(record))

    def _page(self, rows: Any, represent: Callable[..., dict[str, Any]]) -> Response:
        pages = self.lifecycle_pagination_class()
        operator = may_operate(self.request.user)
        page: list[Any] | None = pages.paginate_queryset(rows, self.request, view=self)
        return pages.get_paginated_response([represent(row, operator=operator) for row in page or ()])

    def _known(self, transition: str) -> None:
        known = self.definition.transitions
        if transition in known:
            return
        message = (
            f"There is no such transition. {did_you_mean(transition, [n for n, one in known.items() if one.manual])}"
        )
        problem = InputProblem(field="transition", code=UnknownTransition.code, message=message)
        raise InvalidInput(str(problem), code=UnknownTransition.code, problems=[problem])

    def explained(self, found: Iterable[Availability], record: Any) -> Iterator[Availability]:
        """Open transitions, those besides refused that the permission classes of one transition refuse."""
        for item in found:
            denied = self._transition_denied(item.name, record)
            yield dataclasses.replace(item, allowed=False, refusals=(*denied, *item.refusals)) if denied else item

    def _transition_denied(self, transition: str, record: Any) -> list[Refusal]:
        """What the permission classes of one transition say, in the words of a refusal."""
        denied = []
        for cls in self.lifecycle_transition_permission_classes.get(transition, ()):
            permission = cls()
            if permission.has_permission(self.request, self) and permission.has_object_permission(
                self.request, self, record
            ):
                continue
            message = getattr(permission, "message", None) or f"You may not fire '{transition}'."
            code = getattr(permission, "code", None) or PermissionRefused.code
            denied.append(
                Refusal(source="permission", kind="permission", code=code, message=message, name=cls.__name__)
            )
        return denied

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

    def _is_ours(self) -> bool:
        name = getattr(self, "action", None)
        if name is not None:
            return name in _OURS
        # No such method here: ours when the address is.
        return not _OURS.isdisjoint((getattr(self, "action_map", None) or {}).values())

    @contextmanager
    def _as_action(self, name: str) -> Iterator[None]:
        """While open, the viewset's own choices by ``self.action`` are those for another action."""
        before, self.action = self.action, name
        try:
            yield
        finally:
            self.action = before


def _body_limit() -> int:
    # JSON may write one byte of text as six (\u001f); what is measured afterwards is the text.
    return 6 * conf.options().payload_limit + 16 * 1024


def _with_converter(one: Any) -> Any:
    def route(*args: Any, **kwargs: Any) -> Any:  # a router reads names and attributes, and binds by name
        return one(*args, **kwargs)

    route.__dict__.update(one.__dict__)
    route.__name__, route.__doc__ = one.__name__, one.__doc__
    route.url_path = one.url_path.replace(_RUN, "<str:run>")  # type: ignore[attr-defined]
    return route
