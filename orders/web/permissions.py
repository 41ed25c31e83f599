"""Permissions: what a person may do at the shop's pages; the same as in the admin."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_permission_codename
from django.utils.translation import gettext_lazy as _

from lifecycle.refusals import Refusal
from orders.models import Order

VIEW_ONLY = Refusal(
    source="permission",
    kind="permission",
    code="view_only",
    message=_("You may look at orders, but not change them."),
    name="orders.change_order",
)


def may_see(person: Any) -> bool:
    """Whether orders are shown to them."""
    return _has(person, "view") or _has(person, "change")


def may_create(person: Any) -> bool:
    """Whether they may begin an order."""
    return _has(person, "add")


def may_change(person: Any) -> bool:
    """Whether they may do with an order what asks for no permission of its own."""
    return _has(person, "change")


def may_try(person: Any, transition: Any) -> bool:
    """Whether they may try to fire a transition; a permission that it asks for itself is the runtime's to check."""
    return bool(transition.permissions) or may_change(person)


def _has(person: Any, action: str) -> bool:
    return bool(person.has_perm(f"orders.{get_permission_codename(action, Order._meta)}"))
