"""Stages for real processes, and this process as the one that publishes to their broker."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from celery.contrib.testing.app import setup_default_app

from tests.processes.children import Stage, stage
from tests.servers import OwnRedis


@pytest.fixture
def offline(tmp_path: Path, transactional_db: None, settings: Any) -> Iterator[Stage]:
    """Children without any broker."""
    settings.LIFECYCLE = {
        "DISPATCHER": "lifecycle.dispatch.none.NoDispatcher",
        "LEASE": dt.timedelta(seconds=2),
        "CRASH_BACKOFF": dt.timedelta(milliseconds=100),
    }
    with stage(tmp_path) as made:
        yield made


@pytest.fixture
def online(tmp_path: Path, transactional_db: None, settings: Any, own_redis: OwnRedis) -> Iterator[Stage]:
    """Children on a Redis of the test's own, to which this process publishes too."""
    settings.LIFECYCLE = {
        "DISPATCHER": "lifecycle.dispatch.celery.CeleryDispatcher",
        "LEASE": dt.timedelta(seconds=2),
        "CRASH_BACKOFF": dt.timedelta(milliseconds=100),
        "BREAKER_MAXIMUM": 2.0,
    }
    # The app that was current before is put back; so this one must not be current yet when that is noted.
    app = Celery("asking", broker=own_redis.url, set_as_current=False, fixups=[])
    with setup_default_app(app), stage(tmp_path, own_redis.url) as made:
        app.set_default()
        app.set_current()
        yield made
