"""One request, one answer: a key is compared by value, in full."""

from __future__ import annotations

import datetime as dt
import threading
from typing import Any

import pytest
from django.db import connection

from lifecycle import SYSTEM
from lifecycle.exceptions import Conflict, RequestReused
from lifecycle.models import TransitionLog
from lifecycle.runtime import Fired, create, fire, fire_many
from lifecycle.runtime.deciding import requests
from orders.models import Order
from tests.cases.models.folders import Folder
from tests.cases.models.requests import Serial, Sheet

pytestmark = pytest.mark.django_db


@pytest.mark.row("E1")
def test_a_key_that_made_one_order_does_not_answer_for_another() -> None:
    lamp = create(Order(customer="Ada", title="Lamp", amount_cents=100), actor=SYSTEM, request_id="k")

    with pytest.raises(RequestReused):
        create(Order(customer="Bob", title="Piano", amount_cents=999900), actor=SYSTEM, request_id="k")

    repeated = create(Order(customer="Ada", title="Lamp", amount_cents=100), actor=SYSTEM, request_id="k")
    assert repeated.pk == lamp.pk
    assert Order.objects.count() == 1


FIRST = {
    "code": "c",
    "number": 1,
    "amount": "1.50",
    "at": dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
    "blob": b"x",
    "data": {"b": 1, "a": [2]},
    "currency": "EUR",
    "optional": None,
}
OTHER = {
    "code": "d",
    "number": 2,
    "amount": "1.51",
    "at": dt.datetime(2026, 1, 2, tzinfo=dt.UTC),
    "blob": b"y",
    "data": {"b": 1, "a": [3]},
    "currency": "USD",
    "optional": 5,
}


@pytest.mark.row("E1")
@pytest.mark.parametrize("name", FIRST)
def test_every_column_a_caller_gives_tells_one_creation_from_another(name: str) -> None:
    create(Sheet(**FIRST), actor=SYSTEM, request_id="k")

    with pytest.raises(RequestReused):
        create(Sheet(**{**FIRST, name: OTHER[name]}), actor=SYSTEM, request_id="k")

    assert Sheet.objects.count() == 1


@pytest.mark.row("E1")
def test_what_each_instance_makes_up_for_itself_does_not_tell_a_repeat_from_the_first() -> None:
    """A UUID, a token, a moment, a key of the database."""
    first = create(Sheet(**FIRST), actor=SYSTEM, request_id="k")

    again = Sheet(**{**FIRST, "data": {"a": [2], "b": 1}})

    assert again.token != first.token
    assert create(again, actor=SYSTEM, request_id="k").pk == first.pk


@pytest.mark.row("E1")
def test_a_key_somebody_chose_is_part_of_what_was_asked_for() -> None:
    create(Folder(slug="a"), actor=SYSTEM, request_id="k")

    with pytest.raises(RequestReused):
        create(Folder(slug="b"), actor=SYSTEM, request_id="k")


@pytest.mark.row("E2")
@pytest.mark.django_db(transaction=True)
def test_of_four_creations_at_once_under_one_key_each_gets_the_first_answer() -> None:
    """Although a unique value of the record refuses the later ones before the key does."""
    barrier, answers = threading.Barrier(4), []

    def send() -> None:
        try:
            barrier.wait(10)
            answers.append(create(Serial(number="S1"), actor=SYSTEM, request_id="same").pk)
        except Exception as error:  # noqa: BLE001 looked at below
            answers.append(error)
        finally:
            connection.close()

    for _ in range(5):
        answers.clear()
        threads = [threading.Thread(target=send) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert answers == [Serial.objects.get().pk] * 4
        Serial.objects.all().delete()
        TransitionLog.objects.all().delete()


@pytest.mark.row("E2")
def test_a_key_spent_on_something_else_is_told_from_a_value_that_is_taken() -> None:
    create(Serial(number="S1"), actor=SYSTEM, request_id="one")

    with pytest.raises(RequestReused):
        create(Serial(number="S2"), actor=SYSTEM, request_id="one")
    with pytest.raises(Exception, match="already exists"):
        create(Serial(number="S1"), actor=SYSTEM, request_id="two")


def test_a_default_of_the_database_is_the_same_words_for_the_same(django_assert_num_queries: Any) -> None:
    first = create(Sheet(**FIRST), actor=SYSTEM, request_id="k")

    assert create(Sheet(**FIRST), actor=SYSTEM, request_id="k").pk == first.pk
    assert (first.stamp is not None, Sheet.objects.count()) == (True, 1)


ALIKE = [("AbC", "aBc"), ("k", "k "), ("café", "cafe"), ("straße", "strasse"), ("k", "\u212a")]


@pytest.mark.row("E3")
@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_request_ids_that_only_look_alike_are_two_requests(one: str, other: str) -> None:
    """Whatever the database's collation takes for the same text."""
    first = create(Serial(number="S1"), actor=SYSTEM, request_id=one)
    second = create(Serial(number="S2"), actor=SYSTEM, request_id=other)

    assert (first.number, second.number) == ("S1", "S2")
    assert create(Serial(number="S2"), actor=SYSTEM, request_id=other).pk == second.pk

    assert not fire(first, "renew", actor=SYSTEM, request_id="!" + one).replayed
    assert not fire(first, "renew", actor=SYSTEM, request_id="!" + other).replayed
    assert fire(first, "renew", actor=SYSTEM, request_id="!" + one).replayed


@pytest.mark.row("E3")
@pytest.mark.skipif(connection.vendor != "mysql", reason="the others compare exactly by themselves")
def test_every_key_of_ours_has_a_binary_collation() -> None:
    from importlib import import_module

    keys = import_module("lifecycle.migrations.0005_exact_keys_for_mysql").KEYS
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name, collation_name FROM information_schema.columns "
            "WHERE table_schema = DATABASE() AND table_name LIKE 'lifecycle%%'"
        )
        found = {(table, column): collation for table, column, collation in cursor.fetchall()}

    renamed = import_module("lifecycle.migrations.0007_runs_of_any_kind").RENAMED
    for model, columns in keys.items():
        table = f"lifecycle_{renamed.get(model, model)}"
        assert {found[table, column] for column in columns} == {"utf8mb4_bin"}
    assert found["lifecycle_run", "kind"] == "utf8mb4_bin"
    without_padding = {"utf8mb4_nopad_bin", "utf8mb4_0900_bin"}
    assert found["lifecycle_transitionlog", "request_id"] in without_padding
    assert found["lifecycle_transitionlog", "creation_request_id"] in without_padding


@pytest.mark.row("E4")
@pytest.mark.parametrize("many", [False, True])
def test_secrets_tell_one_request_from_another_though_they_are_not_kept(many: bool, settings: Any) -> None:
    serial = create(Serial(number="S1"), actor=SYSTEM)

    def renew(iban: str) -> Any:
        if not many:
            return fire(serial, "renew", actor=SYSTEM, input={"iban": iban}, request_id="k").replayed
        report = fire_many([serial], "renew", actor=SYSTEM, input={"iban": iban}, request_id=lambda pk: "k")
        return report.fired[0].replayed if report.fired else type(report.refused[0].error)

    assert renew("DE99") is False
    if many:
        assert renew("FR11") is RequestReused
    else:
        with pytest.raises(RequestReused, match="another input"):
            renew("FR11")
    assert (renew("DE99"), serial.iban) == (True, "DE99")

    kept = TransitionLog.objects.get(request_id="k")
    assert "DE99" not in str(kept.input)
    assert kept.request_hash != requests.fingerprint("renew", SYSTEM, {"iban": "DE99"})

    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "a new one"
    assert renew("DE99") is True


@pytest.mark.row("E5")
@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("level", ["REPEATABLE_READ", "SERIALIZABLE"])
def test_at_a_higher_isolation_level_whoever_loses_is_told_of_a_conflict(level: str) -> None:
    from psycopg import IsolationLevel

    serial = create(Serial(number="S1"), actor=SYSTEM)
    barrier, answers = threading.Barrier(6), []

    def send(number: int) -> None:
        options = {**connection.settings_dict.get("OPTIONS", {}), "isolation_level": IsolationLevel[level]}
        connection.settings_dict = {**connection.settings_dict, "OPTIONS": options}
        try:
            mine = Serial.objects.get(pk=serial.pk)
            barrier.wait(10)
            for step in range(5):
                if number % 2:
                    answers.append(fire(mine, "renew", actor=SYSTEM, input={"iban": f"{number}.{step}"}))
                else:
                    report = fire_many([mine], "renew", actor=SYSTEM, input={"iban": f"{number}.{step}"})
                    answers.extend([*report.fired, *(one.error for one in report.refused)])
        except Exception as error:  # noqa: BLE001 looked at below
            answers.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=send, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    fired = [one for one in answers if isinstance(one, Fired)]
    assert {type(one) for one in answers} <= {Fired, Conflict}
    assert fired
    assert Serial.objects.get().lifecycle.version == 1 + len(fired)
