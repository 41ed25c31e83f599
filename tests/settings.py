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
    "tests.support",
    "tests.columns",
    "tests.cases",
    "tests.rollout",
    "orders",
    "orders.web",
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

# As in the example's own settings: a viewset that describes itself takes its inspector from here when it is imported,
# whichever test imports it first.
REST_FRAMEWORK = {"DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema"}

# Tests look at what would have been published; those that want a broker name theirs.
LIFECYCLE = {"DISPATCHER": "lifecycle.dispatch.recording.RecordingDispatcher"}

# Several checkouts or people may test on one server at once: the suffix keeps their databases apart.
_SUFFIX = os.environ.get("LIFECYCLE_TEST_SUFFIX", "")
_WHICH = os.environ.get("LIFECYCLE_TEST_DATABASE", "sqlite")
_COLLATION = os.environ.get("LIFECYCLE_TEST_COLLATION", "utf8mb4_bin")

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
            # What the suite writes need not outlive the server: a commit does not wait for the disk.
            "OPTIONS": {"options": "-c synchronous_commit=off"},
            "TEST": {"NAME": f"test_lifecycle{_SUFFIX}"},
        }
    }
elif _WHICH == "mysql":
    try:
        import MySQLdb  # noqa: F401 the driver Django asks for; building it needs MySQL's headers
    except ImportError:
        import pymysql

        # A pure Python stand-in that says it is as new as Django wants its driver to be.
        pymysql.version_info = (2, 2, 7, "final", 0)
        pymysql.install_as_MySQLdb()
    DATABASES = {
        "default": {
            "ENGINE": "django.db.backends.mysql",
            "NAME": os.environ.get("MYSQL_DATABASE", "mysql"),
            "USER": os.environ.get("MYSQL_USER", "root"),
            "PASSWORD": os.environ.get("MYSQL_PASSWORD", ""),
            "HOST": os.environ.get("MYSQL_HOST", "127.0.0.1"),
            "PORT": os.environ.get("MYSQL_PORT", "3306"),
            # LIFECYCLE_TEST_TIME_ZONE=-06:00 runs the suite as on a server that lives in another time zone.
            "OPTIONS": {
                "charset": "utf8mb4",
                "init_command": f"SET time_zone = '{os.environ.get('LIFECYCLE_TEST_TIME_ZONE', 'SYSTEM')}'",
            },
            "TEST": {"NAME": f"test_lifecycle{_SUFFIX}", "CHARSET": "utf8mb4"}
            # Most servers compare without case, accents and trailing spaces: LIFECYCLE_TEST_COLLATION=server.
            | ({} if _COLLATION == "server" else {"COLLATION": _COLLATION}),
        }
    }
    # Partial indexes do not exist there (the library's migrations have what stands in for them).
    SILENCED_SYSTEM_CHECKS = ["models.W036", "models.W037"]
else:
    raise ValueError(f"LIFECYCLE_TEST_DATABASE: expected sqlite, postgres or mysql, got {_WHICH!r}.")
