"""The example's site: settings, addresses, Celery app, and the demo that runs them all."""

from example_project.celery import app as celery_app

__all__ = ["celery_app"]
