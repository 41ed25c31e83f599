"""One table as the deployments see it while its state "review" becomes "checking"."""

from __future__ import annotations

from django.db import models

from lifecycle.models import LifecycleModel, StateField


class BeforePaper(LifecycleModel):
    """The model before the change; its table is the real one."""

    class Status(models.TextChoices):
        DRAFT = "draft", "Draft"
        REVIEW = "review", "In review"
        DONE = "done", "Done"

    title = models.CharField(max_length=50, default="Paper")
    status = StateField(Status)

    class Meta:
        db_table = "rollout_paper"
        indexes = [models.Index(fields=["status", "status_changed_at"], name="rollout_paper_due")]


class BetweenPaper(LifecycleModel):
    """The same table in the two deployments that know both names."""

    class Status(models.TextChoices):
        DRAFT = "draft", "Draft"
        REVIEW = "review", "In review"
        CHECKING = "checking", "Checking"
        DONE = "done", "Done"

    title = models.CharField(max_length=50, default="Paper")
    status = StateField(Status)

    class Meta:
        managed = False
        db_table = "rollout_paper"


class AfterPaper(LifecycleModel):
    """The same table in the deployment that has forgotten the old name."""

    class Status(models.TextChoices):
        DRAFT = "draft", "Draft"
        CHECKING = "checking", "Checking"
        DONE = "done", "Done"

    title = models.CharField(max_length=50, default="Paper")
    status = StateField(Status)

    class Meta:
        managed = False
        db_table = "rollout_paper"
