"""The support team's endpoints, in a project that describes them with drf-spectacular; also its command's settings."""

from __future__ import annotations

import os
from typing import Any

from django.test import override_settings

from tests.settings import *  # noqa: F403
from tests.settings import INSTALLED_APPS as _INSTALLED_APPS

INSTALLED_APPS = [*_INSTALLED_APPS, "drf_spectacular"]
ROOT_URLCONF = "tests.rest.urls"
REST_FRAMEWORK = {"DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema"}
SPECTACULAR_SETTINGS = {
    "TITLE": "Support",
    "VERSION": "1",
    "OAS_VERSION": os.environ.get("LIFECYCLE_OPENAPI", "3.0.3"),
    "ENUM_NAME_OVERRIDES": {
        "TicketStatus": "tests.support.models.Ticket.Status",
        "ParcelStatus": "tests.support.models.Parcel.Status",
    },
}


def described(urlconf: str = ROOT_URLCONF, **options: Any) -> dict[str, Any]:
    """The description of an urlconf (or of ``patterns``), in a project whose inspector is drf-spectacular's."""
    with override_settings(REST_FRAMEWORK=REST_FRAMEWORK):
        from drf_spectacular.generators import SchemaGenerator

        schema: dict[str, Any] = SchemaGenerator(urlconf=urlconf, **options).get_schema(public=True)
    return schema


def resolved(schema: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """What a reference refers to."""
    if "$ref" not in part:
        return part
    found: dict[str, Any] = schema["components"]["schemas"][part["$ref"].rsplit("/", 1)[-1]]
    return found
