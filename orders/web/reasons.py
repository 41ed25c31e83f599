"""Reason: a refusal in the words of the shop's pages."""

from __future__ import annotations

from django.utils.translation import gettext as _

from lifecycle.refusals import Refusal
from orders.models import Order


def said(refusal: Refusal) -> str:
    """Why not; a missing permission by the name people know it under."""
    if refusal.source == "permission":
        known = {f"{Order._meta.app_label}.{codename}": name for codename, name in Order._meta.permissions}
        if refusal.name in known:
            return _("You need the permission “%(name)s”.") % {"name": known[refusal.name]}
    return str(refusal.message)
