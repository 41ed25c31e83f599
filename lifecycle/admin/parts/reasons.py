"""Reasons why something was refused, as a list readable without hovering."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from lifecycle.admin.parts.icons import icon
from lifecycle.exceptions import LifecycleError
from lifecycle.refusals import Refusal


def of_refusals(refusals: Sequence[Refusal], ident: str = "") -> SafeString:
    """Every reason for a no, readable without hovering, with the name of who asks for it."""
    return listed([(str(refusal), asked_by(refusal)) for refusal in refusals], ident)


def of_error(error: Exception) -> Any:
    """Every reason an error gives, as HTML."""
    refusals = getattr(error, "refusals", ())
    if refusals:
        return of_refusals(refusals)
    problems = getattr(error, "problems", ())
    if problems:
        # The reason has a field of its own on every page that asks for it.
        return listed((str(one.message if one.field == "reason" else one), "") for one in problems)
    sentence = str(error) if isinstance(error, LifecycleError) else f"{type(error).__name__}: {error}"
    return listed([(sentence, "")])


def listed(said: Iterable[tuple[str, str]], ident: str = "") -> SafeString:
    """Reasons given as sentence and origin."""
    return format_html(
        '<ul class="lc-reasons"{}>{}</ul>',
        format_html(' id="{}"', ident) if ident else "",
        format_html_join(
            "",
            '<li>{}<span>{} <span class="lc-quiet">{}</span></span></li>',
            ((icon("stop"), sentence, origin) for sentence, origin in said),
        ),
    )


def asked_by(refusal: Refusal) -> str:
    """Where a refusal comes from, as the quiet half of its line."""
    if refusal.source == "guard":
        return _("Guard %(name)s") % {"name": refusal.name or refusal.code}
    if refusal.source == "permission":
        return _("Permission %(name)s") % {"name": refusal.name or refusal.code}
    return ""
