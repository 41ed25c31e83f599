"""ExampleConfig: the site as an app, for its commands."""

from __future__ import annotations

from django.apps import AppConfig


class ExampleConfig(AppConfig):
    name = "example_project"
