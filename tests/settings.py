"""Settings of the test suite: one database at a time, chosen by LIFECYCLE_TEST_DATABASE (sqlite, postgres, mysql)."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

SECRET_KEY = "only-for-tests"
DEBUG = False
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
ROOT_URLCONF = "tests.urls"
ALLOWED_HOSTS = ["*"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STATIC_URL = "static/"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_filters",
    "lifecycle",
    "tests.desk",
    "tests.columns",
    "tests.rollout",
    "orders",
    "orders.sandbox",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

# Tests look at what would have been published; those that want a broker name theirs.
LIFECYCLE = {"DISPATCHER": "lifecycle.dispatch.recording.RecordingDispatcher"}

# Several checkouts or people may test on one server at once: the suffix keeps their databases apart.
_SUFFIX = os.environ.get("LIFECYCLE_TEST_SUFFIX", "")
_WHICH = os.environ.get("LIFECYCLE_TEST_DATABASE", "sqlite")

if _WHICH == "sqlite":
    _FOLDER = Path(tempfile.gettempdir()) / f"lifecycle-tests-{os.getuid()}{_SUFFIX}"
    _FOLDER.mkdir(exist_ok=True)
    DATABASES = {
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": _FOLDER / "db.sqlite3",
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
            },
            "TEST": {"NAME": _FOLDER / "test.sqlite3"},
        }
    }
elif _WHICH == "postgres":
    DATABASES = {
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": os.environ.get("PGDATABASE", "postgres"),
            "USER": os.environ.get("PGUSER", "postgres"),
            "PASSWORD": os.environ.get("PGPASSWORD", ""),
            "HOST": os.environ.get("PGHOST", "127.0.0.1"),
            "PORT": os.environ.get("PGPORT", "5432"),
            "TEST": {"NAME": f"test_lifecycle{_SUFFIX}"},
        }
    }
else:
    raise ValueError(f"LIFECYCLE_TEST_DATABASE: expected sqlite or postgres, got {_WHICH!r}.")
