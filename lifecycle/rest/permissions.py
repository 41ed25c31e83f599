"""Permissions of the endpoints: deny first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rest_framework.permissions import AllowAny, BasePermission
from rest_framework.request import Request

OPERATE = "lifecycle.operate"


class MayOperate(BasePermission):
    """Retry, continue and cancel are for those with the permission ``lifecycle.operate``."""

    def has_permission(self, request: Request, view: Any) -> bool:
        return may_operate(request.user)


def may_operate(user: Any) -> bool:
    """Whether this user acts on runs, and so sees what is inside them."""
    return bool(user is not None and user.is_authenticated and user.has_perm(OPERATE))


def lets_everyone_in(permissions: Iterable[Any]) -> bool:
    """Whether nobody was ever named: no permission class, or none but ``AllowAny``."""
    return all(type(permission) is AllowAny for permission in permissions)
