"""One table as three deployments see it: a state is renamed from "review" to "checking"."""

from __future__ import annotations

from django.db import models

from lifecycle.models import LifecycleModel, StateField


class Before(models.TextChoices):
    DRAFT = "draft", "Draft"
    REVIEW = "review", "In review"
    DONE = "done", "Done"


class Between(models.TextChoices):
    DRAFT = "draft", "Draft"
    REVIEW = "review", "In review"
    CHECKING = "checking", "Checking"
    DONE = "done", "Done"


class After(models.TextChoices):
    DRAFT = "draft", "Draft"
    CHECKING = "checking", "Checking"
    DONE = "done", "Done"


class FirstPaper(LifecycleModel):
    """The model before the change; its table is the real one."""

    title = models.CharField(max_length=50, default="Paper")
    locked = models.BooleanField(default=False)
    status = StateField(Before)

    class Meta:
        db_table = "rollout_paper"
        indexes = [models.Index(fields=["status", "status_changed_at"], name="rollout_paper_due")]


class SecondPaper(LifecycleModel):
    """The same table in the deployment that knows both names."""

    title = models.CharField(max_length=50, default="Paper")
    locked = models.BooleanField(default=False)
    status = StateField(Between)

    class Meta:
        managed = False
        db_table = "rollout_paper"


class ThirdPaper(LifecycleModel):
    """The same table in the deployment that has forgotten the old name."""

    title = models.CharField(max_length=50, default="Paper")
    locked = models.BooleanField(default=False)
    status = StateField(After)

    class Meta:
        managed = False
        db_table = "rollout_paper"
