"""Addresses: a record has one, anything else is not found in JSON; pages have a size; who may not, is told in order."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from rest_framework.test import APIClient

from lifecycle import SYSTEM
from lifecycle.runtime import create
from tests.execution.rows import queue_runs
from tests.rest.conftest import client_of, user_with
from tests.support.models import Parcel, Ticket

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(settings: Any) -> APIClient:
    settings.ROOT_URLCONF = "tests.cases.rest"
    return client_of(user_with("ada", "lifecycle.operate"))


@pytest.fixture
def tickets() -> list[Ticket]:
    return Ticket.objects.bulk_create(Ticket(pk=pk, title=str(pk)) for pk in (1, 10))


ODD = ["1_0", "\u0661", "1\n", " 1", "+1", "01", "1.0", "1.", ".", "a.b", "1e1", "0x1", "9" * 30, "\x00", "-0"]
ENDPOINTS = ["", "lifecycle/", "history/", "runs/"]


@pytest.mark.row("K16")
@pytest.mark.parametrize("odd", ODD, ids=ascii)
def test_no_other_writing_of_a_number_names_its_record(api: APIClient, tickets: list[Ticket], odd: str) -> None:
    for endpoint in ENDPOINTS:
        answer = api.get(f"/tickets/{quote(odd)}/{endpoint}")
        assert answer.status_code == 404
        # The record's own address is the project's; the lifecycle's are ours.
        assert not endpoint or answer["Content-Type"] == "application/json"
    answer = api.post(f"/tickets/{quote(odd)}/fire/", {"transition": "ask"}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert set(Ticket.objects.values_list("status", flat=True)) == {"open"}


@pytest.mark.row("K16")
@pytest.mark.parametrize("odd", ODD, ids=ascii)
def test_no_other_writing_of_a_number_names_its_run(api: APIClient, odd: str) -> None:
    ticket = create(Ticket(), actor=SYSTEM)
    queue_runs(1, id=10, status="failed", lifecycle="tickets", record_id=str(ticket.pk), effect="tell_agent")

    for operator_action in ("retry", "continue", "cancel"):
        answer = api.post(f"/tickets/{ticket.pk}/runs/{quote(odd)}/{operator_action}/", {}, format="json")
        assert (answer.status_code, answer["Content-Type"]) == (404, "application/json")


@pytest.mark.row("K16")
def test_the_ways_to_write_a_uuid_and_keys_with_dots_stay(api: APIClient, settings: Any) -> None:
    parcel = create(Parcel(), actor=SYSTEM)
    for written in (str(parcel.pk), str(parcel.pk).upper(), parcel.pk.hex):
        assert api.get(f"/parcels/{written}/lifecycle/").status_code == 200
    settings.ROOT_URLCONF = "tests.rest.urls"
    create(Ticket(title="a.b"), actor=SYSTEM)
    assert api.get("/api/picky/a.b/lifecycle/").status_code == 200


@pytest.mark.row("K17")
@pytest.mark.parametrize("size", ["0", "-1", "x", "", "1.5", "1_0", "\u0661", "9" * 40])
def test_a_page_size_that_is_none_is_refused(api: APIClient, size: str) -> None:
    ticket = create(Ticket(), actor=SYSTEM)

    for address in (f"/tickets/{ticket.pk}/history/", f"/tickets/{ticket.pk}/runs/", "/lifecycle/runs/"):
        answer = api.get(address, {"page_size": size})
        assert (answer.status_code, answer.json()["problems"][0]["field"]) == (400, "page_size")
        assert api.get(address, {"page_size": "1"}).status_code == 200
        assert api.get(address, {"page_size": "1000"}).status_code == 200  # at most 200 are shown


@pytest.mark.row("K18")
def test_permissions_that_know_no_record_come_before_not_found_and_those_that_do_after(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.cases.rest import TicketViewSet

    class Picky:
        def has_permission(self, request: Any, view: Any) -> bool:
            return bool(request.user.is_authenticated and request.user.username != "eve")

        def has_object_permission(self, request: Any, view: Any, record: Any) -> bool:
            return request.user.username == "ada"

    settings.ROOT_URLCONF = "tests.cases.rest"
    monkeypatch.setattr(TicketViewSet, "permission_classes", [Picky])
    there = create(Ticket(), actor=SYSTEM).pk
    seen = {}
    for name in ("", "eve", "bob", "ada"):
        client = client_of(user_with(name)) if name else APIClient()
        seen[name] = [
            client.post(f"/tickets/{pk}/fire/", body, format="json").status_code
            for pk, body in ((0, {}), (there, {}), (there, {"transition": "solve", "input": {"answer": "x"}}))
        ]

    refused = seen[""][0]
    assert refused in (401, 403)
    assert seen == {"": [refused] * 3, "eve": [403] * 3, "bob": [404, 403, 403], "ada": [404, 400, 403]}
