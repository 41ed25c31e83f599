"""The Celery app of the workers that tests start: ``celery -A tests.processes.app worker``."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.processes.settings")

app = Celery("processes")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
