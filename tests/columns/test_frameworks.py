"""Frameworks: forms, the admin, serializers and factories find a read-only column, or the same refusal."""

from __future__ import annotations

from typing import Any

import factory
import pytest
from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import FieldError
from django.test import Client
from rest_framework import serializers

from lifecycle.models.writes import creation_in_any_state
from tests.columns.models import Order, Status
from tests.columns.rows import paid, put, refused, refused_start, row

pytestmark = pytest.mark.django_db


def test_a_model_form_of_all_fields_leaves_the_owned_columns_out_and_saves_a_stale_record() -> None:
    form_class = forms.modelform_factory(Order, fields="__all__")
    assert set(form_class.base_fields) == {"customer", "name", "note", "extra"}
    order = paid(Order)
    put(order, "shipped", 2)
    form = form_class({"name": "mug", "note": "form", "extra": "{}"}, instance=order)
    assert form.is_valid(), form.errors
    form.save()
    assert row(order) == ("shipped", 2)
    assert Order.objects.get().note == "form"


def test_a_model_form_that_names_the_state_is_djangos_own_error() -> None:
    with pytest.raises(FieldError, match="status"):
        forms.modelform_factory(Order, fields=["status"])


def test_the_admins_change_form_ignores_a_forged_state_and_does_not_undo_a_transition() -> None:
    order = paid(Order)
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    address = f"/admin/columns/order/{order.pk}/change/"
    assert client.get(address).status_code == 200
    put(order, "shipped", 2)
    forged = {"name": "mug", "note": "form", "extra": "{}", "status": "new", "lifecycle_version": "9"}
    assert client.post(address, forged).status_code == 302
    assert row(order) == ("shipped", 2)
    assert client.post(address, {**forged, "name": "copy", "_saveasnew": "1"}).status_code == 302
    assert row(Order.objects.get(name="copy")) == ("new", 0)


class OrderSerializer(serializers.ModelSerializer):  # type: ignore[type-arg]
    class Meta:
        model = Order
        fields = "__all__"


class WritableSerializer(OrderSerializer):
    status = serializers.ChoiceField(choices=Status.choices)


def test_a_serializer_shows_the_owned_columns_read_only_and_ignores_forged_ones() -> None:
    read_only = {name for name, field in OrderSerializer().fields.items() if field.read_only}
    assert read_only == {"id", "status", "status_changed_at", "lifecycle_version"}
    order = paid(Order)
    put(order, "shipped", 2)
    change = OrderSerializer(order, data={"status": "new", "note": "rest"}, partial=True)
    assert change.is_valid()
    change.save()
    assert row(order) == ("shipped", 2)
    creation = OrderSerializer(data={"name": "x", "status": "paid"})
    assert creation.is_valid()
    assert row(creation.save()) == ("new", 0)


def test_a_serializer_that_makes_the_state_writable_is_refused_unless_it_says_the_same() -> None:
    order = Order.objects.create()
    same = WritableSerializer(order, data={"status": "new"}, partial=True)
    assert same.is_valid()
    same.save()
    other = WritableSerializer(order, data={"status": "paid"}, partial=True)
    assert other.is_valid()
    with refused():
        other.save()
    assert row(order) == ("new", 0)


class OrderFactory(factory.django.DjangoModelFactory[Any]):
    class Meta:
        model = Order


def test_a_factory_creates_where_records_begin_and_elsewhere_inside_the_permit() -> None:
    assert row(OrderFactory()) == ("new", 0)
    with refused_start():
        OrderFactory(status="paid")
    with creation_in_any_state():
        assert row(OrderFactory(status="shipped", lifecycle_version=2)) == ("shipped", 2)
        assert len(OrderFactory.create_batch(2, status="paid")) == 2
