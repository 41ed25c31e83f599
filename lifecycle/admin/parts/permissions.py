"""Permissions: who may see the library's own pages, and who may operate there."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_permission_codename

OPERATE = "lifecycle.operate"


def may_operate(user: Any) -> bool:
    """Whether this user acts on runs, held triggers and parameters."""
    return bool(user.is_active and user.is_staff and user.has_perm(OPERATE))


def may_see(user: Any, model: Any) -> bool:
    """Whether this user sees the rows of one of the library's models: an operator sees all of them."""
    if not (user.is_active and user.is_staff):
        return False
    codename = f"{model._meta.app_label}.{get_permission_codename('view', model._meta)}"
    return bool(user.has_perm(codename) or user.has_perm(OPERATE))
