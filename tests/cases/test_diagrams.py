"""Diagrams of lifecycles with more states than one picture can show, on the admin's pages."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from lifecycle import SYSTEM
from lifecycle.runtime import create
from lifecycle.testing import travel
from tests.cases.models.diagrams import Claim

pytestmark = pytest.mark.django_db

OVERVIEW = "/claims/lifecycle/lifecyclespage/"


@pytest.fixture
def browser(settings: Any, admin_client: Client) -> Client:
    settings.ROOT_URLCONF = "tests.cases.claims_site"
    return admin_client


def brought(*transitions: str) -> Claim:
    claim = create(Claim(), actor=SYSTEM)
    for transition in transitions:
        claim.lifecycle.fire(transition, actor=SYSTEM)
    return claim


def pictures(html: str) -> tuple[list[str], list[str]]:
    """The states in the picture that shows at once, and in the one that is opened."""
    at_once = html[: html.index("<details")]
    opened = html[html.index("<details") : html.index("</details>")]
    return [re.findall(r'data-state="(\w+)"', part) for part in (at_once, opened)]  # type: ignore[return-value]


def page(browser: Client, address: str) -> str:
    return browser.get(address).content.decode()


def section(html: str, name: str) -> str:
    found = re.search(rf'<section class="module lc-life" id="lc-{name}-section".*?</section>', html, re.DOTALL)
    assert found is not None
    return found[0]


@pytest.mark.row("J10")
def test_a_record_s_page_shows_what_is_near_first_and_the_whole_on_demand(browser: Client) -> None:
    claim = brought("register", "check_cover")
    html = page(browser, f"/claims/cases/claim/{claim.pk}/change/")
    panel = html[html.index("lc-panel") :]
    near, whole = pictures(panel)
    assert near == [
        "reported", "registered", "cover_check", "cover_unclear", "not_covered", "assigned", "withdrawn"
    ]  # fmt: skip
    assert sorted(whole) == sorted(Claim.Status.values)
    assert "<summary>The whole diagram, 40 states</summary>" in panel
    assert "drawn elsewhere in the picture" in panel
    ids = re.findall(r' id="([^"]+)"', html)
    assert len(ids) == len(set(ids))


@pytest.mark.row("J10")
def test_the_lifecycles_page_shows_first_what_is_around_the_fullest_state(browser: Client) -> None:
    for _ in range(3):
        brought("register", "check_cover", "assign")
    brought()
    part = section(page(browser, OVERVIEW), "claims")
    near, whole = pictures(part)
    assert near == ["cover_check", "assigned", "contacted", "reopened", "withdrawn"]
    assert sorted(whole) == sorted(Claim.Status.values)
    assert "The part around Assigned, where most open records are." in part


@pytest.mark.row("J10")
def test_the_lifecycles_page_shows_first_what_is_late(browser: Client) -> None:
    for _ in range(3):
        brought("register", "check_cover", "assign")
    brought("register", "check_cover", "assign", "contact", "ask_documents")
    with travel(days=30):
        part = section(page(browser, OVERVIEW), "claims")
    near, _ = pictures(part)
    assert near == ["contacted", "documents_asked", "documents_late", "documents_in", "withdrawn"]
    assert "The part around what is late." in part


@pytest.mark.row("J10")
def test_the_lifecycles_page_shows_the_beginning_of_a_large_lifecycle_without_records(browser: Client) -> None:
    part = section(page(browser, OVERVIEW), "claims")
    assert pictures(part)[0] == ["reported", "registered", "duplicate", "withdrawn"]
    assert "The part around the beginning." in part


@pytest.mark.row("J10")
def test_up_to_thirty_states_the_whole_picture_shows_at_once(browser: Client) -> None:
    part = section(page(browser, OVERVIEW), "orders")
    assert len(pictures(part)[0]) == 10
    assert "The whole diagram" not in part
