"""SandboxConfig: the provider as a Django app of its own."""

from __future__ import annotations

from django.apps import AppConfig


class SandboxConfig(AppConfig):
    name = "orders.sandbox"
    label = "sandbox"
    verbose_name = "Sandbox payment provider"
    default_auto_field = "django.db.models.BigAutoField"
