"""BodyTooLarge: the answer 413."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import APIException


class BodyTooLarge(APIException):
    """The body is larger than this endpoint reads."""

    status_code = 413
    default_code = "body_too_large"
    default_detail = _("The body is too large.")

    def __init__(self, limit: int) -> None:
        super().__init__(_("The body is larger than the %(limit)d bytes this address reads.") % {"limit": limit})
