"""Settings of a worker started by a test: the suite's, on the test's own database, broker and times."""

from __future__ import annotations

import os
from datetime import timedelta

from tests.settings import *  # noqa: F403
from tests.settings import DATABASES, INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.processes"]
DATABASES["default"]["NAME"] = os.environ["LIFECYCLE_PROCESS_DATABASE"]
if os.environ.get("LIFECYCLE_PROCESS_PREPARED"):
    DATABASES["default"]["OPTIONS"] |= {"server_side_binding": True, "prepare_threshold": 2}
if os.environ.get("LIFECYCLE_PROCESS_DATABASE_PORT"):
    DATABASES["default"] |= {"HOST": "127.0.0.1", "PORT": os.environ["LIFECYCLE_PROCESS_DATABASE_PORT"]}

CELERY_BROKER_URL = os.environ.get("LIFECYCLE_PROCESS_BROKER", "memory://")
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
if os.environ.get("LIFECYCLE_PROCESS_CELERY_DB_REUSE_MAX"):
    CELERY_DB_REUSE_MAX = int(os.environ["LIFECYCLE_PROCESS_CELERY_DB_REUSE_MAX"])

LIFECYCLE = {
    "TICK_EVERY": timedelta(seconds=float(os.environ.get("LIFECYCLE_PROCESS_TICK", "5"))),
    "CRASH_BACKOFF": timedelta(milliseconds=100),
    "CELERY_TICK": os.environ.get("LIFECYCLE_PROCESS_CELERY_TICK", "1") == "1",
}
