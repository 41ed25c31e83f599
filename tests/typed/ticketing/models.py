"""Records of a project of one's own, with and without names for the checker."""

from __future__ import annotations

from typing import Literal

from django.db import models

from lifecycle.models import ChangedAtField, LifecycleAccessor, LifecycleModel, StateField, VersionField


class Ticket(LifecycleModel):
    class Status(models.TextChoices):
        NEW = "new", "New"
        OPEN = "open", "Open"
        CLOSED = "closed", "Closed"

    lifecycle: LifecycleAccessor[Literal["assign", "close"]]

    status = StateField(Status)
    # Fields of Django's own are generic: without django-stubs' plugin they need their types, whoever's model it is.
    title: models.CharField[str, str] = models.CharField(max_length=100)


class Contract(LifecycleModel):
    class State(models.TextChoices):
        DRAFT = "draft", "Draft"
        SIGNED = "signed", "Signed"

    process: LifecycleAccessor

    state = StateField(State)
    state_since = ChangedAtField(for_state="state")
    revision = VersionField(for_state="state")
