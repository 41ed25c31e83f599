"""Declaring columns: plain Django in migrations; wrong declarations are found by the system checks."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from django.apps import apps
from django.core import checks
from django.db import models
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.questioner import MigrationQuestioner
from django.db.migrations.state import ProjectState
from django.db.migrations.writer import MigrationWriter
from django.test.utils import isolate_apps

from lifecycle.models import ChangedAtField, LifecycleModel, StateField, VersionField
from lifecycle.models.columns import columns_of, owned_columns
from tests.columns.models import BigOrder, Invoice, OldTable, Order, OrderProxy, Status


def test_a_users_migration_names_djangos_fields_and_nothing_of_ours() -> None:
    questioner = MigrationQuestioner({"ask_initial": True})
    changes = MigrationAutodetector(ProjectState(), ProjectState.from_apps(apps), questioner).changes(
        graph=_no_graph(), convert_apps={"columns"}, trim_to_apps={"columns"}
    )
    text = "\n".join(MigrationWriter(migration).as_string() for migration in changes["columns"])
    assert "lifecycle." not in text
    assert "models.CharField(choices=[('new', 'New'), ('paid', 'Paid'), ('shipped', 'Shipped')]" in text
    called = {
        node.func.attr
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "models"
    }
    assert {"CharField", "DateTimeField", "PositiveBigIntegerField"} <= called
    assert called <= set(dir(models))


def test_a_migration_that_was_written_agrees_with_the_model_that_is_read_back() -> None:
    now = ProjectState.from_apps(apps)
    written = now.clone()
    fields = written.models["columns", "order"].fields
    for name in ("status", "status_changed_at", "lifecycle_version"):
        _, path, args, kwargs = fields[name].deconstruct()
        module, _, name_of_class = path.rpartition(".")
        assert module == "django.db.models"
        fields[name] = getattr(models, name_of_class)(*args, **kwargs)
    assert MigrationAutodetector(written, now).changes(graph=_no_graph()) == {}


def _no_graph() -> Any:
    from django.db.migrations.graph import MigrationGraph

    return MigrationGraph()


def test_a_state_field_is_a_read_only_char_field_whose_first_member_is_the_default() -> None:
    field = StateField(Status)
    assert field.deconstruct()[1:] == (
        "django.db.models.CharField",
        [],
        {"choices": Status.choices, "default": "new", "editable": False, "max_length": 63},
    )
    assert (field.states, field.beginnings) == (("new", "paid", "shipped"), ("new",))
    assert field.clone().deconstruct() == field.deconstruct()


def test_a_state_field_takes_a_default_a_list_of_choices_and_a_name() -> None:
    field = StateField([("a", "A"), ("b", "B")], "phase", default="b", db_index=True)
    assert (field.states, field.beginnings, field.verbose_name) == (("a", "b"), ("b",), "phase")
    assert field.clone().deconstruct() == field.deconstruct()


@pytest.mark.parametrize("options", [{"max_length": 20}, {"editable": True}, {"null": True}])
def test_a_state_field_refuses_options_that_would_weaken_it(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=f"StateField: .*{'length' if 'max_length' in options else ''}"):
        StateField(Status, **options)


def test_each_state_finds_its_own_pair() -> None:
    names = [(c.state.name, c.changed_at.name, c.version.name) for c in owned_columns(Invoice)]  # type: ignore[union-attr]
    assert names == [
        ("status", "status_changed_at", "lifecycle_version"),
        ("payment", "payment_changed_at", "payment_version"),
    ]
    old = columns_of(OldTable, "phase")
    assert old.changed_at is not None
    assert old.version is not None
    assert (old.changed_at.name, old.version.name) == ("moved_at", "revision")
    for model in (OrderProxy, BigOrder):
        assert columns_of(model, "status") == columns_of(Order, "status")
    with pytest.raises(LookupError):
        columns_of(Order, "phase")


@pytest.mark.django_db
def test_the_models_of_these_tests_pass_their_own_checks() -> None:
    found = checks.run_checks(app_configs=[apps.get_app_config("columns")])
    assert [message for message in found if (message.id or "").startswith("lifecycle.E1")] == []


@isolate_apps("tests.columns")
def test_a_state_field_on_another_model_is_an_error_and_a_copy_of_one_is_not() -> None:
    class Bare(models.Model):
        status = StateField(Status)

        class Meta:
            app_label = "columns"

    assert _ids(Bare) == ["lifecycle.E101"]
    assert "Bare is not a LifecycleModel" in _messages(Bare)
    from tests.columns.models import OrderCopy

    assert _ids(OrderCopy) == []


@isolate_apps("tests.columns")
def test_an_abstract_parent_that_is_no_lifecycle_model_does_not_hide_the_error() -> None:
    class HasStatus(models.Model):
        status = StateField(Status)

        class Meta:
            abstract = True

    class Child(HasStatus):
        class Meta:
            app_label = "columns"

    assert _ids(Child) == ["lifecycle.E101"]


@isolate_apps("tests.columns")
def test_a_state_without_states_or_with_a_foreign_default_is_an_error() -> None:
    class Empty(LifecycleModel):
        status = StateField()

        class Meta:
            app_label = "columns"

    class Strange(LifecycleModel):
        status = StateField(Status, default="nwe")

        class Meta:
            app_label = "columns"

    assert _ids(Empty) == ["lifecycle.E102"]
    assert _ids(Strange) == ["lifecycle.E102"]
    assert "none of its states" in _messages(Strange)


@isolate_apps("tests.columns")
def test_a_second_state_without_its_own_pair_is_an_error() -> None:
    class Half(LifecycleModel):
        status = StateField(Status)
        payment = StateField(Status)
        payment_version = VersionField(for_state="payment")

        class Meta:
            app_label = "columns"

    assert _ids(Half) == ["lifecycle.E103"]
    assert "ChangedAtField(for_state='payment')" in _messages(Half)


@isolate_apps("tests.columns")
def test_a_pair_for_no_state_or_for_one_that_has_its_pair_is_an_error() -> None:
    class Astray(LifecycleModel):
        status = StateField(Status)
        moved_at = ChangedAtField(for_state="state")

        class Meta:
            app_label = "columns"

    class Twice(LifecycleModel):
        status_changed_at = None
        lifecycle_version = None
        status = StateField(Status)
        moved_at = ChangedAtField(for_state="status")
        revision = VersionField(for_state="status")
        revision_again = VersionField(for_state="status")

        class Meta:
            app_label = "columns"

    assert _ids(Astray) == ["lifecycle.E104"]
    assert _ids(Twice) == ["lifecycle.E104"]


def _found(model: Any) -> list[checks.CheckMessage]:
    return [message for field in model._meta.local_fields for message in field.check()]


def _ids(model: Any) -> list[str]:
    return [str(message.id) for message in _found(model)]


def _messages(model: Any) -> str:
    return " ".join(str(message.msg) + str(message.hint) for message in _found(model))
