"""TransitionLog: the entries — one row per transition, append-only, never pruned."""

from __future__ import annotations

from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

CREATE = "$create"
# A record was changed in what people decide on, but not moved: its stay goes on.
TOUCH = "$touch"


class ActorKind(models.TextChoices):
    USER = "user", _("User")
    ANONYMOUS = "anonymous", _("Anonymous")
    SYSTEM = "system", _("System")
    MACHINE = "machine", _("Machine")


class TransitionLogQuerySet(models.QuerySet["TransitionLog"]):
    def of(self, lifecycle: str, record_id: str) -> TransitionLogQuerySet:
        """One record's entries in the order they happened."""
        return self.filter(lifecycle=lifecycle, record_id=record_id).order_by("version")

    def ending_a_stay(self, lifecycle: str, record_id: str, stay_version: int) -> TransitionLogQuerySet:
        """The entries that ended the stay which began with this version; none while it lasts."""
        return self.filter(lifecycle=lifecycle, record_id=record_id, version__gt=stay_version).exclude(transition=TOUCH)

    def of_life(self, lifecycle: str, record_id: str) -> TransitionLogQuerySet:
        """The same without what earlier records of the same key did, which were deleted."""
        return self.of(lifecycle, record_id).filter(version__gte=life_begins(lifecycle, record_id, self.db))


def life_begins(lifecycle: str, record_id: Any, using: str) -> Any:
    """The version with which the present life of a key began, inside SQL; 0 where no creation is recorded."""
    creations = TransitionLog.objects.using(using).filter(lifecycle=lifecycle, record_id=record_id, transition=CREATE)
    return Coalesce(models.Subquery(creations.order_by("-version").values("version")[:1]), 0)


class TransitionLog(models.Model):
    """One entry: a record went from ``source`` to ``target``; its number is the record's ``version``."""

    id = models.BigAutoField(primary_key=True)
    lifecycle = models.CharField(max_length=100)
    record_id = models.CharField(max_length=255)
    transition = models.CharField(max_length=100)
    source = models.CharField(max_length=63, null=True, blank=True)
    target = models.CharField(max_length=63)
    version = models.PositiveBigIntegerField()
    actor_kind = models.CharField(max_length=10, choices=ActorKind.choices)
    actor_id = models.CharField(max_length=255, blank=True, default="")
    actor_label = models.CharField(max_length=150, blank=True, default="")
    input = models.JSONField(default=dict, blank=True, encoder=DjangoJSONEncoder)
    reason = models.CharField(max_length=500, blank=True, default="")
    request_id = models.CharField(max_length=200, null=True, blank=True)
    request_hash = models.CharField(max_length=32, blank=True, default="")
    definition_hash = models.CharField(max_length=32, blank=True, default="")
    at = models.DateTimeField()

    objects: Any = TransitionLogQuerySet.as_manager()

    class Meta:
        verbose_name = _("history entry")
        verbose_name_plural = _("history entries")
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["lifecycle", "record_id", "version"], name="lifecycle_entry_version"),
            models.UniqueConstraint(fields=["lifecycle", "record_id", "request_id"], name="lifecycle_entry_request"),
            models.UniqueConstraint(
                fields=["lifecycle", "request_id"],
                condition=models.Q(transition=CREATE),
                name="lifecycle_entry_create_request",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.lifecycle}/{self.record_id}, version {self.version}: {self.transition}"
