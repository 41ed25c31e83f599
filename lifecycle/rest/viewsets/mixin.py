"""LifecycleViewSetMixin: a lifecycle's endpoints in front of any viewset the project has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from django.db import router
from django.http import Http404
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.exceptions import MethodNotAllowed
from rest_framework.request import Request
from rest_framework.response import Response

from lifecycle import conf, operations, runtime
from lifecycle.exceptions import InvalidInput, LifecycleError, PermissionRefused, UnknownTransition
from lifecycle.models import TransitionLog
from lifecycle.refusals import InputProblem
from lifecycle.rest import bodies, errors, fingerprints, representations, requests
from lifecycle.rest.descriptions import describe
from lifecycle.rest.documented import Documented
from lifecycle.rest.permissions import may_operate
from lifecycle.rest.viewsets import addresses
from lifecycle.rest.viewsets.access import EndpointAccess
from lifecycle.rest.viewsets.lookups import RecordLookup
from lifecycle.store import parameters, records
from lifecycle.suggest import did_you_mean

if TYPE_CHECKING:
    from lifecycle.runtime import Fired


class LifecycleViewSetMixin(EndpointAccess, RecordLookup):
    """Adds a lifecycle's endpoints to a viewset; put it before the viewset class.

    The viewset stays what it is: its permissions and throttles say who may call, its queryset which records exist for
    a caller (404 before anything is asked of the record), its serializer shows the record, its renderers render.
    What it may set and override stands in `ViewSetHooks`.
    """

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
        bodies.limit_size(request, _body_limit())
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
        bodies.limit_size(request)
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

    @action(detail=True, methods=["post"], url_path=rf"runs/{addresses.RUN}/retry", url_name="run-retry")
    def retry_run(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Enqueues a failed, dead or cancelled run again: ``{reason, force}``."""
        return self._operate(operations.retry_run, force=True)

    @action(detail=True, methods=["post"], url_path=rf"runs/{addresses.RUN}/continue", url_name="run-continue")
    def continue_run(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Tries a run's waiting or abandoned follow-up now: ``{reason}``."""
        # What refuses the follow-up is about the record as it is; nothing in this request is wrong, so: 409.
        return self._operate(operations.continue_run, force=False, refused=status.HTTP_409_CONFLICT)

    @action(detail=True, methods=["post"], url_path=rf"runs/{addresses.RUN}/cancel", url_name="run-cancel")
    def cancel_run(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Cancels a queued run, or by force a running one: ``{reason, force}``."""
        return self._operate(operations.cancel_run, force=True)

    @action(detail=False, methods=["get", "post"], url_path=addresses.DOTTED, url_name="lifecycle-nowhere", schema=None)
    def lifecycle_nowhere(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Addresses with a dot, where keys have none: not found, in the words of every other address."""
        raise Http404

    # Addresses --------------------------------------------------------------------------------------

    @classmethod
    def get_extra_actions(cls) -> list[Any]:
        """The viewset's actions; addresses in the form the project's router reads."""
        actions: list[Any] = super().get_extra_actions()
        keys = getattr(cls, "lookup_value_regex", addresses.ANY_BUT_DOTS)
        if cls.lifecycle_path_converters or keys != addresses.ANY_BUT_DOTS:
            actions = [one for one in actions if one.url_path != addresses.DOTTED]  # its keys may have dots
        if not cls.lifecycle_path_converters:
            return actions
        return [addresses.with_converter(one) if addresses.RUN in one.url_path else one for one in actions]

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
        bodies.limit_size(self.request, _body_limit())
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


def _body_limit() -> int:
    # JSON may write one byte of text as six (\u001f); what is measured afterwards is the text.
    return 6 * conf.options().payload_limit + 16 * 1024
