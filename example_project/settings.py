"""Settings of the example site.

On its own everything runs on SQLite with a file broker. Environment variables change that:

======================  ===========================================================================================
LIFECYCLE_STACK         ``postgres``: PostgreSQL (PGHOST, PGPORT, PGUSER, PGPASSWORD, EXAMPLE_DATABASE) and
                        Redis (REDIS_URL)
EXAMPLE_DATA_DIR        folder of the SQLite file and the file broker (``var/demo``)
EXAMPLE_URL             address the site is reached at by itself (``http://127.0.0.1:8000``)
EXAMPLE_LEASE           lease of effect runs in seconds (60)
EXAMPLE_TICK_EVERY      seconds between two ticks (1)
DJANGO_DEBUG            ``0`` for a deployment; then the four below are required
DJANGO_SECRET_KEY       Django's secret key, 50 characters or more
DJANGO_ALLOWED_HOSTS    host names, separated by commas
PAYMENTS_TOKEN          what the shop and the payment provider know each other by
PAYMENTS_SECRETS        webhook secrets (``whsec_…``), separated by commas: the current one, and the next while rotating
======================  ===========================================================================================
"""

from __future__ import annotations

import os
from datetime import timedelta
from logging import LogRecord
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = Path(os.environ.get("EXAMPLE_DATA_DIR") or BASE_DIR / "var" / "demo")
SITE_URL = os.environ.get("EXAMPLE_URL", "http://127.0.0.1:8000").rstrip("/")
STACK = os.environ.get("LIFECYCLE_STACK", "sqlite")
if STACK not in ("sqlite", "postgres"):
    raise ImproperlyConfigured(f"LIFECYCLE_STACK: expected sqlite or postgres, got {STACK!r}.")

DEBUG = os.environ.get("DJANGO_DEBUG", "1") != "0"


def required(name: str, in_development: str) -> str:
    """An environment variable that only development may leave out."""
    value = os.environ.get(name, "")
    if value or DEBUG:
        return value or in_development
    raise ImproperlyConfigured(f"{name} is required when DJANGO_DEBUG=0.")


SECRET_KEY = required("DJANGO_SECRET_KEY", "only-for-development")
ALLOWED_HOSTS = required("DJANGO_ALLOWED_HOSTS", "127.0.0.1,localhost,testserver").split(",")
PAYMENTS_TOKEN = required("PAYMENTS_TOKEN", "only-for-development")
PAYMENTS_SECRETS = required("PAYMENTS_SECRETS", "whsec_b25seS1mb3ItZGV2ZWxvcG1lbnQ=").split(",")

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "lifecycle",
    "example_project",
    "orders",
    "orders.web",
    "orders.sandbox",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "example_project.headers.ContentSecurityPolicy",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "example_project.urls"
WSGI_APPLICATION = "example_project.wsgi.application"

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

if STACK == "postgres":
    DATABASES: dict[str, dict[str, Any]] = {
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": os.environ.get("EXAMPLE_DATABASE", "lifecycle_demo"),
            "USER": os.environ.get("PGUSER", "postgres"),
            "PASSWORD": os.environ.get("PGPASSWORD", ""),
            "HOST": os.environ.get("PGHOST", "127.0.0.1"),
            "PORT": os.environ.get("PGPORT", "5432"),
        }
    }
else:
    DATABASES = {
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": DATA_DIR / "db.sqlite3",
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",  # a lock that cannot be had later is waited for at the start
                "timeout": 20,
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
            },
        }
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "var" / "static"

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "orders:list"
LOGOUT_REDIRECT_URL = "login"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.SessionAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAdminUser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.PageNumberPagination",
    "PAGE_SIZE": 50,
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "lifecycle.rest.exception_handler",
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Orders",
    "DESCRIPTION": "Orders that are paid, shipped, cancelled and refunded.",
    "VERSION": "1",
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAdminUser"],
    "ENUM_NAME_OVERRIDES": {
        "OrderStatus": "orders.models.Order.Status",
        "StrayPaymentStatus": "orders.models.StrayPayment.Status",
    },
}

LIFECYCLE = {
    "LEASE": timedelta(seconds=float(os.environ.get("EXAMPLE_LEASE", "60"))),
    "TICK_EVERY": timedelta(seconds=float(os.environ.get("EXAMPLE_TICK_EVERY", "1"))),
    "CRASH_BACKOFF": timedelta(seconds=float(os.environ.get("EXAMPLE_CRASH_BACKOFF", "5"))),
}

# The shop's side of the provider, and the provider's side of the shop: they share nothing but these words.
PAYMENTS: dict[str, Any] = {
    "URL": f"{SITE_URL}/sandbox/",
    "TOKEN": PAYMENTS_TOKEN,
    "TIMEOUT": 8.0,
    "WEBHOOK_SECRETS": PAYMENTS_SECRETS,
}
SANDBOX: dict[str, Any] = {
    "TOKEN": PAYMENTS_TOKEN,
    "WEBHOOK_URL": f"{SITE_URL}/webhooks/sandbox/",
    "MERCHANT_URL": f"{SITE_URL}/",
    "WEBHOOK_SECRETS": PAYMENTS_SECRETS,
}

if STACK == "postgres":
    CELERY_BROKER_URL = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")
    # Several demos may share one server: each database has its queue.
    CELERY_TASK_DEFAULT_QUEUE = DATABASES["default"]["NAME"]
else:
    CELERY_BROKER_URL = "filesystem://localhost//"
    CELERY_BROKER_TRANSPORT = "example_project.localbroker:Transport"
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": DATA_DIR / "broker",
        "data_folder_out": DATA_DIR / "broker",
        "control_folder": DATA_DIR / "control",
        "polling_interval": 0.1,
    }
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_DB_REUSE_MAX = 1000
CELERY_WORKER_LOG_FORMAT = "%(message)s"
CELERY_WORKER_TASK_LOG_FORMAT = "%(message)s"
CELERY_WORKER_TIMER_PRECISION = 0.2  # a worker that is told to stop looks up this often
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_REDIRECT_STDOUTS = False
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False


def no_503(record: LogRecord) -> bool:
    return getattr(record, "status_code", 0) != 503


LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(message)s"}},
    # The provider's simulated outages and a webhook's "deliver it again" are answers, not accidents.
    "filters": {"no_503": {"()": "django.utils.log.CallbackFilter", "callback": no_503}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        "lifecycle": {"level": "INFO"},
        "orders": {"level": "INFO"},
        "example_project": {"level": "INFO"},
        "sandbox": {"level": "INFO"},
        "celery": {"level": "INFO"},
        # One line per message and per lost connection says nothing here.
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.app.trace": {"level": "WARNING"},
        "celery.worker.request": {"level": "WARNING"},
        "celery.worker.consumer.connection": {"level": "WARNING"},
        "httpx": {"level": "WARNING"},
        # Nor do refused transitions: the page has told who asked.
        "lifecycle.transitions": {"level": "WARNING"},
        # A refused webhook or a stale page is an answer, not an event for the console.
        "django.request": {"level": "ERROR", "filters": ["no_503"]},
    },
}

if not DEBUG:
    SECURE_SSL_REDIRECT = True
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 365 * 24 * 3600
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SECURE_HSTS_PRELOAD = True
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
SESSION_COOKIE_NAME = "example_session"
