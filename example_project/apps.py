"""ExampleConfig: the site as an app, for its commands."""

from __future__ import annotations

from django.apps import AppConfig


class ExampleConfig(AppConfig):
    name = "example_project"

    def ready(self) -> None:
        from example_project import lines

        lines.print_in_a_worker()
