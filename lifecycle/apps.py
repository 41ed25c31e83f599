"""The app: finds the lifecycles of the installed apps and wires the floors together."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db.models.signals import post_migrate, post_save
from django.utils.translation import gettext_lazy as _


class LifecycleConfig(AppConfig):
    name = "lifecycle"
    label = "lifecycle"
    verbose_name = _("Lifecycles")
    default_auto_field = "django.db.models.BigAutoField"

    def __init__(self, app_name: str, app_module: Any) -> None:
        super().__init__(app_name, app_module)
        self._refuse_a_namesake()

    def _refuse_a_namesake(self) -> None:
        # Django's own words for it ("labels aren't unique") do not say whose label may change.
        for entry in settings.INSTALLED_APPS:
            if entry.split(".")[0] == self.name or self.label not in entry.lower():
                continue
            other = AppConfig.create(entry)
            if other.label == self.label:
                raise ImproperlyConfigured(
                    f"The app '{other.name}' has the label '{self.label}', which belongs to this library: tables, "
                    f"permissions and addresses carry it. Give yours another in its AppConfig: label = "
                    f"'{other.name.replace('.', '_')}'. The page on fitting into a project says what follows."
                )

    def ready(self) -> None:
        """Hangs the accessor on every model as its lifecycle is found, logs, keeps the database guard in repair."""
        from lifecycle import accessor, checks, logs, registry  # noqa: F401 importing the checks registers them
        from lifecycle.database_guard import installation
        from lifecycle.execution import effects, kinds
        from lifecycle.flows import advancing, known, steps
        from lifecycle.runtime.verbs import saving

        if accessor.attach not in registry.listeners:
            registry.listeners.append(accessor.attach)
        kinds.register("effect", effects.EffectKind())
        kinds.register("step", steps.StepKind())
        kinds.register("advance", advancing.AdvanceKind())
        registry.autodiscover()
        known.autodiscover()
        logs.connect()
        # Of every class: the children of a record's model are records as well.
        post_save.connect(saving.note, dispatch_uid="lifecycle.saving")
        post_migrate.connect(installation.after_migrate, sender=self, dispatch_uid="lifecycle.database_guard")
