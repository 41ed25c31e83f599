"""The example's README: what it names is there, what it quotes is what stands there, and what it advises works."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.docs.pages import EXAMPLE, ROOT, Block, blocks

ORDERS = EXAMPLE.parent
QUOTED = [block for block in blocks(EXAMPLE) if block.title]
PROSE = re.sub(r"^```.*?^```$", "", EXAMPLE.read_text(), flags=re.MULTILINE | re.DOTALL)


def test_every_file_that_it_names_is_there() -> None:
    """A name in backticks stands in the example's folder; one that begins with `tests/`, in the repository."""
    named = re.findall(r"`([\w./-]+(?:\.py|/))`", PROSE)
    assert len(named) > 30
    assert [name for name in named if not ((ROOT if name.startswith("tests/") else ORDERS) / name).exists()] == []


def test_everything_on_top_of_the_folder_has_its_row() -> None:
    table = PROSE.split("## What is where")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("|")]
    named = {name.strip("/") for row in rows for name in re.findall(r"`([\w./]+)`", row)}
    there = {path.name for path in ORDERS.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert there - named == {"__init__.py"}


@pytest.mark.parametrize("block", QUOTED, ids=lambda block: f"line {block.line}")
def test_what_it_quotes_stands_in_the_file(block: Block) -> None:
    assert len(QUOTED) > 1
    source = (ROOT / block.title).read_text()
    assert any(textwrap.indent(block.text, " " * depth) in source for depth in (0, 4))


SETTINGS = """
import os
os.environ |= {"PAYMENTS_TOKEN": "token", "PAYMENTS_SECRETS": "whsec_b25seS1mb3ItdGVzdHM="}
%(readme)s
INSTALLED_APPS = [
    "django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.messages",
    "django.contrib.sessions", *INSTALLED_APPS[1:],
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware", "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [{
    "BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True,
    "OPTIONS": {"context_processors": [
        "django.template.context_processors.request", "django.contrib.auth.context_processors.auth",
        "django.contrib.messages.context_processors.messages",
    ]},
}]
DATABASES = {"default": {
    "ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite3",
    "OPTIONS": {"transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL"},
}}
SECRET_KEY, ROOT_URLCONF, USE_TZ, ALLOWED_HOSTS, STATIC_URL = "only-for-tests", "urls", True, ["testserver"], "static/"
"""

URLS = """
from django.contrib import admin
from django.urls import include, path

urlpatterns = [path("", include("orders.urls")), path("admin/", admin.site.urls)]
"""

PROGRAM = """
import json, os
os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
import django
django.setup()
import orders
from django.apps import apps
from django.core.management import call_command
call_command("makemigrations", "orders", verbosity=0)
call_command("migrate", verbosity=0)
call_command("check", fail_level="WARNING")
from django.contrib.auth.models import User
from django.test import Client
staff = Client()
staff.force_login(User.objects.create_superuser("ada"))
body = {"customer": "Ada", "title": "Cups", "amount_cents": 4800, "currency": "EUR"}
made = staff.post("/api/orders/", body, content_type="application/json")
order = made.json()["record"]["id"]
fired = staff.post(f"/api/orders/{order}/fire/", {"transition": "checkout"}, content_type="application/json")
print(json.dumps({
    "from": os.path.dirname(orders.__file__),
    "apps": [app.name for app in apps.get_app_configs() if "orders" in app.name],
    "made": made.status_code, "state": fired.json()["state"],
    "admin": staff.get(f"/admin/orders/order/{order}/change/").status_code,
    "webhook": Client().post("/webhooks/sandbox/", b"{}", content_type="application/json").status_code,
}))
"""


@pytest.mark.once
def test_copied_as_it_says_it_runs_without_the_pages_and_the_sandbox(tmp_path: Path) -> None:
    unneeded = shutil.ignore_patterns("web", "sandbox", "migrations", "__pycache__")
    shutil.copytree(ORDERS, tmp_path / "orders", ignore=unneeded)
    (tmp_path / "orders" / "migrations").mkdir()
    (tmp_path / "orders" / "migrations" / "__init__.py").touch()
    (readme,) = [block.text for block in blocks(EXAMPLE) if "INSTALLED_APPS" in block.text]
    (tmp_path / "settings.py").write_text(SETTINGS % {"readme": readme})
    (tmp_path / "urls.py").write_text(URLS)
    path = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]\n"
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", path + PROGRAM], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert json.loads(ran.stdout.splitlines()[-1]) == {
        "from": str(tmp_path / "orders"),
        "apps": ["orders"],
        "made": 201,
        "state": "creating_checkout",
        "admin": 200,
        "webhook": 401,
    }
