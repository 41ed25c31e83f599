"""What goes in can be read again: input is judged by what the column gives back."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse
from rest_framework.test import APIClient

from lifecycle import SYSTEM
from lifecycle.exceptions import InvalidInput
from lifecycle.models import TransitionLog
from lifecycle.runtime import create, fire, fire_many
from lifecycle.sweeps.tick import tick
from lifecycle.testing import travel
from tests.cases.lifecycles.readable_input import EverythingForm
from tests.cases.models.readable_input import COLUMNS, Everything

pytestmark = pytest.mark.django_db

DEEP: Any = []
for _ in range(90):
    DEEP = [DEEP]

# What JSON can say, and what it can say only between the lines.
EDGES: list[Any] = [
    *(None, True, 0, -1, 1.5, 1e308, 2**15, 2**31, 2**63, -(2**63) - 1, 10**310, 10**400),
    *("inf", "nan", "1e400", "9" * 4301, "1_000", "999999.99", "1000000", "0.001"),
    *("", " ", "x" * 20, "x" * 21, "ä€😀", "\ud800", "a\x00b"),
    *("9999-12-31", "0001-01-01", "0000-00-00", "10000-01-01"),
    *("9999-12-31T23:59:59.999999+00:00", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"),
    *("2026-01-01T00:00:00+23:59", "2026-01-01T12:00:00+05:45", "23:59:59.999999", "24:00"),
    *("P999999999999D", "P106751991D", "P106751992D", "-999999999 00:00:00", "P1DT2H"),
    *("256.1.1.1", "::ffff:1.2.3.4", "a@b.example", "https://b.example/\x00", "https://b.example/"),
    *("00000000-0000-0000-0000-000000000000", "AAEC", "[" * 2000 + "]" * 2000, "[" + "9" * 5000 + "]"),
    *([], {}, [1], {"a": "\x00"}, {"a": "\ud800"}, [1e308, "NaN"], DEEP, [2**70], {"lower": 1, "upper": 2}),
    *(["2026-01-01T00:00:00Z", "9999-12-31T23:59:59-14:00"], ["9999-12-31T23:59:59-14:00"]),
]
# For the verbs that share all of it.
FEW = ["inf", 10**400, "a\x00b", "9999-12-31T23:59:59-14:00", "P999999999999D", "", [], DEEP, 1, "2026-01-01", "::1"]


@pytest.fixture(autouse=True)
def _quiet_about_naive_datetimes(recwarn: Any) -> Iterator[None]:
    import warnings

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "DateTimeField .* received a naive datetime")
        yield


def everything_is_readable() -> None:
    """The row through the ORM, through JSON, and its history."""
    for row in Everything.objects.all():
        for field in Everything._meta.concrete_fields:
            if getattr(row, field.attname) is not None:
                field.value_to_string(row)
        row.full_clean(exclude=["status", "status_changed_at", "lifecycle_version"], validate_unique=False)
    for entry in TransitionLog.objects.all():
        json.dumps(entry.input, allow_nan=False)


class _Undo(Exception):
    pass


def outcome(call: Any, name: str) -> str:
    """Commits nothing; says whether it was done (and is readable), or refused naming the field."""
    try:
        with transaction.atomic():
            try:
                call()
            except InvalidInput as error:
                fields = {problem.field for problem in error.problems}
                assert any(one == name or one.startswith((f"{name}.", f"{name}[")) for one in fields), (name, fields)
                return "refused"
            everything_is_readable()
            raise _Undo
    except _Undo:
        return "done"


@pytest.mark.row("D1", "D4", "D5", "D6")
@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("verb", ["fire", "create", "fire_many"])
def test_a_column_takes_what_it_can_give_back_and_names_what_it_cannot(name: str, verb: str) -> None:
    record = create(Everything(), actor=SYSTEM)
    seen = set()

    def one(value: Any) -> None:
        if verb == "create":
            create(Everything(**{(f"{name}_id" if name == "link" else name): value}), actor=SYSTEM)
            return
        if verb == "fire":
            fire(Everything.objects.get(pk=record.pk), "fill", actor=SYSTEM, input={name: value})
            return
        report = fire_many(Everything.objects.filter(pk=record.pk), "fill", actor=SYSTEM, input={name: value})
        for refusal in report.refused:
            raise refusal.error

    for value in EDGES if verb == "fire" else FEW:
        seen.add(outcome(lambda value=value: one(value), name))
    assert "refused" in seen


@pytest.mark.row("D1", "D5", "D6")
@pytest.mark.parametrize("name", list(EverythingForm.base_fields))
@pytest.mark.parametrize("transition", ["fill_form", "fill_both"])
def test_a_form_field_takes_whatever_json_can_say_or_refuses_it_by_name(name: str, transition: str) -> None:
    record = create(Everything(), actor=SYSTEM)

    for value in EDGES if transition == "fill_form" else FEW:
        outcome(
            lambda value=value: fire(
                Everything.objects.get(pk=record.pk), transition, actor=SYSTEM, input={name: value}
            ),
            name,
        )


@pytest.mark.row("D1")
@pytest.mark.parametrize("moment", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"])
def test_a_moment_outside_the_calendar_stops_nobodys_timeout(moment: str) -> None:
    bad, good = create(Everything(), actor=SYSTEM), create(Everything(), actor=SYSTEM)

    with pytest.raises(InvalidInput) as caught:
        fire(bad, "fill", actor=SYSTEM, input={"moment": moment})
    fire(good, "fill", actor=SYSTEM, input={"moment": "9999-12-31T23:59:59+00:00"})

    assert [(one.field, str(one.message)) for one in caught.value.problems] == [
        ("moment", "This moment is outside the calendar.")
    ]
    with travel(hours=2):
        tick(force=True)
    assert Everything.objects.get(pk=good.pk).status == "empty"


@pytest.mark.row("D1")
@pytest.mark.parametrize(
    ("name", "given", "kept"),
    [
        ("moment", "2026-01-02T03:04:05", dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)),
        ("address", "", None),
        pytest.param("range", [7, 7], "empty", marks=pytest.mark.postgres),
        pytest.param("times", '["2026-01-02"]', [dt.datetime(2026, 1, 2, tzinfo=dt.UTC)], marks=pytest.mark.postgres),
    ],
)
def test_the_record_shows_a_value_as_its_row_has_it(name: str, given: Any, kept: Any) -> None:
    record = create(Everything(), actor=SYSTEM)

    fire(record, "fill", actor=SYSTEM, input={name: given})

    for one in (record, Everything.objects.get(pk=record.pk)):
        value = getattr(one, name)
        assert value.isempty if kept == "empty" else value == kept, value


@pytest.mark.row("D1")
@pytest.mark.postgres
@pytest.mark.parametrize("given", [[5, 1], '{"lower": 5, "upper": 1}'])
def test_a_range_that_ends_before_it_begins_is_refused_by_name(given: Any) -> None:
    record = create(Everything(), actor=SYSTEM)

    with pytest.raises(InvalidInput) as caught:
        fire(record, "fill", actor=SYSTEM, input={"range": given})

    assert [(one.field, str(one.message)) for one in caught.value.problems] == [
        ("range", "The range ends before it begins.")
    ]
    assert Everything.objects.get(pk=record.pk).status == "empty"


# ---------------------------------------------------------------------------------------------- left out


@pytest.mark.row("D3")
@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({}, {"char": "a note", "boolean": True, "real": 2.5, "json": [1]}),
        ({"char": ""}, {"char": "", "boolean": True, "real": 2.5, "json": [1]}),
        ({"boolean": False, "json": None}, {"char": "a note", "boolean": False, "real": 2.5, "json": None}),
    ],
)
def test_an_optional_field_that_is_not_given_keeps_what_the_record_has(given: Any, kept: Any) -> None:
    record = create(Everything(char="a note", boolean=True, real=2.5, json=[1]), actor=SYSTEM)

    fire(record, "fill_both", actor=SYSTEM, input=given)

    record.refresh_from_db()
    assert {name: getattr(record, name) for name in kept} == kept


@pytest.mark.row("D3")
def test_an_admins_form_begins_with_what_the_record_has_and_can_empty_it(client: Any, settings: Any) -> None:
    from lifecycle import registry
    from lifecycle.admin.records import inputs

    record = create(Everything(char="a note", boolean=True), actor=SYSTEM)
    definition = registry.of(Everything)
    edge = definition.transitions["fill_both"]

    form = inputs.form_for(definition, edge, record)
    assert (form["char"].initial, form["boolean"].initial) == ("a note", True)

    sent = inputs.form_for(definition, edge, record, {"input-char": "", "input-real": ""})
    fire(record, "fill_both", actor=SYSTEM, input=sent.given())
    record.refresh_from_db()
    assert (record.char, record.boolean) == ("", False)


# ---------------------------------------------------------------------------------------------- python's own values


@pytest.mark.row("L10")
def test_values_that_a_form_has_cleaned_already_can_be_given() -> None:
    link = create(Everything(), actor=SYSTEM)
    record = create(Everything(), actor=SYSTEM)
    given = {
        "link": link,
        "decimal": Decimal("10.50"),
        "date": dt.date(2026, 1, 2),
        "moment": dt.datetime(2026, 1, 2, tzinfo=dt.UTC),
        "duration": dt.timedelta(days=1),
    }

    fired = fire(record, "fill", actor=SYSTEM, input=given)

    record.refresh_from_db()
    assert {name: getattr(record, name) for name in given} == given
    assert fired.entry is not None
    assert fired.entry.input["link"] == link.pk


@pytest.mark.row("L10")
def test_the_sentence_about_input_that_is_no_json_speaks_of_what_is_given() -> None:
    record = create(Everything(), actor=SYSTEM)

    with pytest.raises(InvalidInput, match=r"at \$\.text there is object .*\. Give dicts, lists"):
        fire(record, "fill", actor=SYSTEM, input={"text": object()})


# ---------------------------------------------------------------------------------------------- over HTTP


@pytest.fixture
def api(settings: Any) -> APIClient:
    settings.ROOT_URLCONF = "tests.rest.urls"
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(User.objects.create_superuser("root"))
    client.cookies["csrftoken"] = "a" * 32
    client.credentials(HTTP_X_CSRFTOKEN="a" * 32)
    return client


@pytest.mark.row("D9")
@pytest.mark.parametrize("address", ["fire/", "", "runs/1/retry/", "runs/1/cancel/", "runs/1/continue/"])
def test_brackets_nested_ten_thousand_deep_are_a_bad_request_with_a_session_too(api: APIClient, address: str) -> None:
    from tests.support.models import Parcel

    parcel = create(Parcel(), actor=SYSTEM)
    url = reverse("parcel-list") + (f"{parcel.pk}/{address}" if address else "")

    answer = api.post(url, "[" * 10_000 + "]" * 10_000, content_type="application/json")

    assert answer.status_code == 400, answer.content


# ---------------------------------------------------------------------------------------------- filters


@pytest.mark.row("D10")
@pytest.mark.parametrize(
    "name", ["lifecycle", "effect", "error_code", "actor_kind", "queue", "q", "status", "state", "p", "o"]
)
@pytest.mark.parametrize("page", ["run", "transitionlog", "triggerhold", "operatoraction"])
def test_a_nul_in_an_admins_filter_finds_nothing(client: Any, page: str, name: str) -> None:
    client.force_login(User.objects.create_superuser("root"))

    answer = client.get(reverse(f"admin:lifecycle_{page}_changelist"), {name: "a\x00b"}, follow=True)

    assert answer.status_code == 200
