"""What is inside the wheel, and that it works where only its dependencies are."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from hatch_build import LINK, described, urls
from tests.docs.pages import pictures

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", folder],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def sdist(built: Path) -> dict[str, str]:
    """The pages, modules and (without their bytes) pictures of the source distribution."""
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        return {
            member.name.partition("/")[2]: (
                "" if member.name.endswith(".png") else opened.extractfile(member).read().decode()  # type: ignore[union-attr]
            )
            for member in opened.getmembers()
            if member.name.endswith((".md", "LICENSE", "PKG-INFO", ".py", ".png"))
        }


def test_the_wheel_holds_every_file_of_the_library_and_nothing_else(wheel: Path) -> None:
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if not name.split("/")[0].endswith(".dist-info")}
    there = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "lifecycle").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    }
    assert inside == there
    assert "lifecycle/py.typed" in inside
    assert any(name.startswith("lifecycle/migrations/0001") for name in inside)


def test_the_wheel_says_its_name_licence_and_dependencies(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = archive.read(name).decode()
        assert any("licenses/LICENSE" in name for name in archive.namelist())
    assert wheel.name.startswith("django_record_lifecycle-")
    assert "License-Expression: BSD-3-Clause" in metadata
    needed = [line for line in metadata.splitlines() if line.startswith("Requires-Dist") and "extra ==" not in line]
    assert sorted(line.split()[1].split(">")[0].lower() for line in needed) == ["cattrs", "django"]


def test_an_index_and_the_readme_say_in_the_same_sentence_what_it_is(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        summary = Parser().parsestr(archive.read(name).decode())["Summary"]
    paragraphs = (ROOT / "README.md").read_text().split("\n\n")
    assert summary == " ".join(paragraphs[1].split())


@pytest.mark.row("L15")
def test_no_link_of_the_description_is_dead_on_an_index(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(name).decode())
    assert metadata["Description-Content-Type"] == "text/markdown"
    shown = metadata.get_payload()
    assert LINK.findall(shown) == []
    assert "<picture>" not in shown
    assert "(Picture: `docs/images/order.png`)" in shown
    assert "Tutorial (`docs/tutorial.md`)" in shown
    assert "part of the source distribution" in shown


@pytest.mark.row("L15")
def test_every_page_that_the_readme_leads_to_is_in_the_source_distribution(sdist: dict[str, str]) -> None:
    waiting, seen = ["README.md"], set()
    while waiting:
        page = waiting.pop()
        assert page in sdist, page
        seen.add(page)
        for _, target in LINK.findall(sdist[page]) if page.endswith(".md") else ():
            path = (ROOT / page).parent / target.partition("#")[0]
            there = path.resolve().relative_to(ROOT).as_posix()
            if there.endswith((".md", "LICENSE")) and there not in seen:
                waiting.append(there)
        for target in pictures(sdist[page]):
            assert ((ROOT / page).parent / target).resolve().relative_to(ROOT).as_posix() in sdist
    assert len(seen) > 15
    roots = {name.partition("/")[0] for name in sdist}
    assert {"PKG-INFO", "LICENSE", "hatch_build.py", "lifecycle", "docs", "orders"} < roots
    assert not {"tests", "example_project", "benchmarks"} & roots


@pytest.mark.row("L15")
def test_with_a_published_home_links_and_addresses_lead_there() -> None:
    home = "https://example.org/lifecycle/blob/main"
    shown = described((ROOT / "README.md").read_text(), home)
    assert f"[Tutorial]({home}/docs/tutorial.md)" in shown
    assert LINK.findall(shown) == []
    assert '<img src="https://example.org/lifecycle/raw/main/docs/images/order.png" alt="' in shown
    assert "<picture>" not in shown
    assert urls(home)["Changelog"] == f"{home}/CHANGELOG.md"
    assert urls("") == {}


def test_the_unpacked_wheel_migrates_a_database_where_the_project_is_not(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    program = (
        "import sys; sys.path.insert(0, 'site')\n"
        "import lifecycle, django\n"
        "from django.conf import settings\n"
        "options = {'transaction_mode': 'IMMEDIATE', 'timeout': 20}\n"
        "database = {'ENGINE': 'django.db.backends.sqlite3', 'NAME': 'db', 'OPTIONS': options}\n"
        "settings.configure(INSTALLED_APPS=['django.contrib.contenttypes', 'lifecycle'],\n"
        "    DATABASES={'default': database}, USE_TZ=True)\n"
        "django.setup()\n"
        "from django.core.management import call_command\n"
        "call_command('migrate', verbosity=0)\n"
        "from lifecycle.models import Run\n"
        "print(lifecycle.__file__, Run.objects.count())\n"
    )
    # -I: neither the working directory nor PYTHONPATH; an editable install of the checkout would come after 'site'.
    ran = subprocess.run(
        [sys.executable, "-I", "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["site/lifecycle/__init__.py", "0"] or ran.stdout.startswith(str(tmp_path))
