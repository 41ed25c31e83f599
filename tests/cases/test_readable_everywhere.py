"""The same over REST and in the admin: done and readable, or refused with the field's name; never a 500."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from rest_framework.test import APIClient

from lifecycle import SYSTEM
from lifecycle.runtime import create
from tests.cases.lifecycles.readable_input import EverythingForm
from tests.cases.models.readable_input import COLUMNS, Everything
from tests.cases.test_readable_input import FEW, everything_is_readable

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.filterwarnings("ignore:DateTimeField .* received a naive datetime"),
    pytest.mark.filterwarnings("ignore:The default scheme will be changed"),  # Django's own, of a URLField's form field
]

# What the verbs' own table has more of; this one sees that the endpoints stand in nobody's way.
MORE = [True, -1, 1.5, 2**63, "\ud800", "9" * 4301, "0001-01-01T00:00:00+14:00", "P106751992D", {"lower": 1}, [2**70]]
BODIES = [json.dumps(value) for value in [*FEW, *MORE]]
# For the admin, whose pages take their time.
TYPED = [
    *("inf", "9" * 4301, "", "[" * 2000, "9999-12-31T23:59:59-14:00", "1"),
]


LIKE_AN_INTEGER = ["big", "small", "positive", "positive_big", "positive_small"]


@contextmanager
def undone() -> Iterator[None]:
    """What happens inside is looked at and taken back."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture
def api(settings: Any, admin_user: User) -> APIClient:
    settings.ROOT_URLCONF = "tests.cases.rest"
    client = APIClient(raise_request_exception=True)
    client.force_authenticate(admin_user)
    return client


def judged(answer: Any, name: str) -> bool:
    """Whether it was done; refused, the field is named."""
    if answer.status_code < 300:
        everything_is_readable()
        return True
    problems = {one["field"].split(".")[0].split("[")[0] for one in answer.json()["problems"]}
    assert (answer.status_code, name in problems or problems == {"input"} or problems == {""}) == (400, True), (
        answer.json()
    )
    return False


@pytest.mark.row("D1", "D4", "D5", "D6", "D8")
@pytest.mark.parametrize("name", COLUMNS)
def test_an_accepted_column_over_rest(api: APIClient, name: str) -> None:
    record = create(Everything(), actor=SYSTEM)
    address = f"/everything/{record.pk}/fire/"

    done = set()
    for body in BODIES:
        with undone():
            text = f'{{"transition": "fill", "input": {{"{name}": {body}}}}}'
            done.add(judged(api.post(address, text, content_type="application/json"), name))
    assert False in done


@pytest.mark.row("D5")
@pytest.mark.parametrize("name", list(EverythingForm.base_fields))
def test_a_form_field_over_rest(api: APIClient, name: str) -> None:
    record = create(Everything(), actor=SYSTEM)
    address = f"/everything/{record.pk}/fire/"

    for body in BODIES[::3]:
        with undone():
            text = f'{{"transition": "fill_form", "input": {{"{name}": {body}}}}}'
            judged(api.post(address, text, content_type="application/json"), name)


@pytest.mark.row("D1", "D4", "D5", "D6")
@pytest.mark.parametrize("name", sorted({*COLUMNS} - {"binary", "slug", *LIKE_AN_INTEGER[1:]}))
def test_a_new_record_over_rest(api: APIClient, name: str) -> None:
    for body in BODIES[::2]:
        with undone():
            judged(api.post("/everything/", f'{{"{name}": {body}}}', content_type="application/json"), name)


@pytest.mark.row("D1", "D3", "D4", "D6")
@pytest.mark.parametrize("name", sorted({*COLUMNS} - {"binary", "slug", *LIKE_AN_INTEGER}))
def test_a_column_typed_in_the_admin(settings: Any, admin_client: Client, name: str) -> None:
    settings.ROOT_URLCONF = "tests.cases.everything_site"
    record = create(Everything(), actor=SYSTEM)
    page = f"/everything/cases/everything/{record.pk}/"

    for text in TYPED:
        with undone():
            answer = admin_client.post(
                f"{page}lifecycle/everything/fill/", {"version": "1", "key": "k", f"input-{name}": text}
            )
            assert answer.status_code in (302, 400), text
            everything_is_readable()
            if answer.status_code == 302:
                for shown in (f"{page}change/", "/everything/cases/everything/"):
                    assert admin_client.get(shown).status_code == 200
