"""Admin pages: what was entered, as people write it; what was left empty for many rows, left as it is."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client

from lifecycle import SYSTEM
from lifecycle.admin.parts import times
from lifecycle.admin.records import inputs
from lifecycle.runtime import create, fire
from tests.support.lifecycles import TicketLifecycle
from tests.support.models import Ticket

pytestmark = pytest.mark.django_db


@pytest.mark.row("L13")
def test_lists_in_the_history_are_shown_as_people_write_them(settings: Any, admin_client: Client) -> None:
    settings.ROOT_URLCONF = "tests.admin.site"
    ticket = create(Ticket(title="Smoke"), actor=SYSTEM)
    fire(ticket, "touch", actor=SYSTEM, input={"tags": ["vip", "bug"], "size": {"h": [2, 3]}, "urgent": True})

    for address in (f"/own/support/ticket/{ticket.pk}/change/", "/own/lifecycle/transitionlog/"):
        shown = admin_client.get(address).content.decode()
        assert "tags <code>vip, bug</code>" in shown
        assert "size <code>h: (2, 3)</code>" in shown
        assert "urgent <code>yes</code>" in shown


@pytest.mark.row("L13")
@pytest.mark.parametrize(
    ("value", "shown"),
    [([], "–"), (["a", None, True], "a, –, yes"), ({}, "–"), ({"a": []}, "a: –"), ([["a", "b"], "c"], "(a, b), c")],
)
def test_values_inside_values_are_read_aloud(value: Any, shown: str) -> None:
    assert times.shown(value) == shown


@pytest.mark.row("D3")
def test_an_accepted_column_left_empty_for_many_rows_is_left_as_it_is_in_each() -> None:
    edge, definition = TicketLifecycle.definition.transitions["ask"], TicketLifecycle.definition
    posted = QueryDict("input-note=")

    assert inputs.form_for(definition, edge, data=posted).given() == {}
    assert inputs.form_for(definition, edge, Ticket(note="old"), data=posted).given() == {"note": ""}
