"""EndpointAccess: who may call which endpoint and fire which transition, and how a refusal is answered."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from lifecycle.exceptions import LifecycleError, PermissionRefused
from lifecycle.refusals import Refusal
from lifecycle.rest import bodies, errors
from lifecycle.rest.permissions import lets_everyone_in
from lifecycle.rest.viewsets.hooks import ViewSetHooks
from lifecycle.runtime.deciding import sentences

if TYPE_CHECKING:
    from lifecycle.runtime import Availability

OPERATING = frozenset({"retry_run", "continue_run", "cancel_run"})
WRITING = frozenset({"create", "fire", *OPERATING})
READING = frozenset(
    {"lifecycle_definition", "lifecycle_view", "lifecycle_history", "lifecycle_runs", "lifecycle_nowhere"}
)
ENDPOINTS = WRITING | READING


class EndpointAccess(ViewSetHooks):
    """The viewset's own permissions and throttles, and on the lifecycle's endpoints those of the lifecycle."""

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
            raise bodies.too_deep() from None

    def get_permissions(self) -> list[Any]:
        """The viewset's permissions, and on the lifecycle's endpoints those of the lifecycle."""
        permissions = list(super().get_permissions())
        if self.action not in ENDPOINTS:
            return permissions
        if self.lifecycle_permission_classes is not None:
            permissions += [cls() for cls in self.lifecycle_permission_classes]
        elif lets_everyone_in(permissions):
            permissions.append(IsAuthenticated())
        return permissions

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
        exc = bodies.in_our_words(exc)
        response = super().handle_exception(exc)
        response.data = errors.body_of_other(exc)
        return response

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
            label = self.definition.transitions[transition].label
            message = getattr(permission, "message", None) or sentences.may_not_fire(label)
            code = getattr(permission, "code", None) or PermissionRefused.code
            denied.append(
                Refusal(source="permission", kind="permission", code=code, message=message, name=cls.__name__)
            )
        return denied

    def _is_ours(self) -> bool:
        name = getattr(self, "action", None)
        if name is not None:
            return name in ENDPOINTS
        # No such method here: ours when the address is.
        return not ENDPOINTS.isdisjoint((getattr(self, "action_map", None) or {}).values())
