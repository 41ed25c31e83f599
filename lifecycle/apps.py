"""The app: finds the lifecycles of the installed apps and wires the floors together."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class LifecycleConfig(AppConfig):
    name = "lifecycle"
    label = "lifecycle"
    verbose_name = _("Lifecycles")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Hangs the accessor on every model as its lifecycle is found, logs, keeps the database guard in repair."""
        from lifecycle import accessor, checks, logs, registry  # noqa: F401 importing the checks registers them
        from lifecycle.database_guard import installation

        if accessor.attach not in registry.listeners:
            registry.listeners.append(accessor.attach)
        registry.autodiscover()
        logs.connect()
        post_migrate.connect(installation.after_migrate, sender=self, dispatch_uid="lifecycle.database_guard")
