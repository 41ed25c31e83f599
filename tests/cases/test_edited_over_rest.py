"""Edited over REST: a column that only transitions write is refused by PATCH and PUT as it is by POST."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from lifecycle import SYSTEM
from lifecycle.runtime import create
from tests.rest.conftest import client_of, user_with
from tests.support.models import Ticket

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(settings: Any) -> APIClient:
    settings.ROOT_URLCONF = "tests.cases.rest"
    return client_of(user_with("ada"))


@pytest.mark.row("L11")
@pytest.mark.parametrize("form", ["json", "multipart"])
@pytest.mark.parametrize("column", ["status", "lifecycle_version", "status_changed_at"])
@pytest.mark.parametrize("verb", ["post", "patch", "put"])
def test_a_column_of_the_lifecycle_is_refused_by_every_verb_alike(
    api: APIClient, verb: str, column: str, form: str
) -> None:
    ticket = create(Ticket(title="Smoke"), actor=SYSTEM)
    address = "/tickets/" if verb == "post" else f"/tickets/{ticket.pk}/"

    answer = getattr(api, verb)(address, {"title": "Fire", column: "solved"}, format=form)

    assert (answer.status_code, answer.json()["problems"][0]["field"]) == (400, column)
    assert (answer.json()["problems"][0]["code"], answer.json()["code"]) == ("owned", "invalid_input")
    ticket.refresh_from_db()
    assert (ticket.title, Ticket.objects.count()) == ("Smoke", 1)


@pytest.mark.row("L11")
@pytest.mark.parametrize("form", ["json", "multipart"])
def test_a_record_sent_back_as_it_was_read_is_saved(api: APIClient, form: str) -> None:
    ticket = create(Ticket(title="Smoke"), actor=SYSTEM)
    read = api.get(f"/tickets/{ticket.pk}/").json()

    answer = api.put(f"/tickets/{ticket.pk}/", {**read, "title": "Fire"}, format=form)

    assert (answer.status_code, Ticket.objects.get().title) == (200, "Fire")


@pytest.mark.row("L11")
def test_an_edit_of_other_columns_and_an_edit_of_nobodys_record_are_answered_as_ever(api: APIClient) -> None:
    ticket = create(Ticket(title="Smoke"), actor=SYSTEM)

    assert api.patch(f"/tickets/{ticket.pk}/", {"title": "Fire"}, format="json").status_code == 200
    assert api.patch("/tickets/0/", {"status": "solved"}, format="json").status_code == 404
    assert api.patch(f"/tickets/{ticket.pk}/", ["status"], format="json").status_code == 400
