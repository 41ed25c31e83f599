"""Settings of the sample project; only the type checker's Django plugin reads them."""

from __future__ import annotations

SECRET_KEY = "only-for-tests"
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "lifecycle", "ticketing"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
USE_TZ = True
