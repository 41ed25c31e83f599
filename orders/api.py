"""The shop's REST interface: orders, and the lifecycle's endpoints on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import JSONObject
from django.utils.translation import gettext_lazy as _
from django_filters.rest_framework import DjangoFilterBackend
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.permissions import IsAdminUser
from rest_framework.viewsets import ReadOnlyModelViewSet

from lifecycle.rest import LifecycleFilterSet, LifecycleViewSetMixin
from orders.lifecycles import OrderLifecycle
from orders.models import Order, StrayPayment


class StrayPaymentSerializer(serializers.ModelSerializer[StrayPayment]):
    class Meta:
        model = StrayPayment
        fields = ["id", "status", "payment_ref", "amount_cents", "currency", "reason", "refund_ref", "last_error"]
        read_only_fields = fields


class OrderSerializer(serializers.ModelSerializer[Order]):
    """An order; only what a customer says is written, everything else is what transitions made of it."""

    # Empty until there is one; a model's URL or choice that is only read is not described so.
    checkout_url = serializers.CharField(read_only=True, label=_("checkout page"))
    cancel_reason = serializers.CharField(read_only=True, label=_("cancel reason"))
    stray_payments = StrayPaymentSerializer(many=True, read_only=True)

    class Meta:
        model = Order
        fields = [
            "id",
            "status",
            "status_changed_at",
            "lifecycle_version",
            "customer",
            "title",
            "amount_cents",
            "currency",
            "payment_attempt",
            "payment_session_id",
            "checkout_url",
            "payment_ref",
            "refund_ref",
            "cancel_reason",
            "last_error",
            "carrier",
            "tracking_number",
            "fail_checkouts",
            "fail_refunds",
            "created_at",
            "stray_payments",
        ]
        read_only_fields = [
            "status",
            "status_changed_at",
            "lifecycle_version",
            "payment_attempt",
            "payment_session_id",
            "checkout_url",
            "payment_ref",
            "refund_ref",
            "cancel_reason",
            "last_error",
            "carrier",
            "tracking_number",
        ]


class OrderFilter(LifecycleFilterSet):
    """Orders by state and time, by customer and by currency."""

    lifecycle = OrderLifecycle

    class Meta:
        model = Order
        fields = ["customer", "currency"]


class ErrorSerializer(serializers.Serializer[Any]):
    """What Django REST framework answers on the addresses that are not the lifecycle's."""

    detail = serializers.CharField(read_only=True)


REFUSED = dict.fromkeys((403, 404, 406), ErrorSerializer)


@extend_schema_view(
    list=extend_schema(responses={200: OrderSerializer(many=True), 400: OpenApiTypes.OBJECT, **REFUSED}),
    retrieve=extend_schema(responses={200: OrderSerializer, 400: OpenApiTypes.OBJECT, **REFUSED}),
)
class OrderViewSet(LifecycleViewSetMixin, ReadOnlyModelViewSet[Order]):
    """Orders: read, begin, fire."""

    lifecycle = OrderLifecycle
    queryset = Order.objects.all()
    serializer_class = OrderSerializer
    filter_backends = [DjangoFilterBackend]
    filterset_class = OrderFilter
    permission_classes = [IsAdminUser]

    def get_queryset(self) -> QuerySet[Order]:
        """Orders; a list with its stray payments, one order with what tells whether they have moved."""
        orders: QuerySet[Order] = super().get_queryset()
        if self.action == "list":
            return orders.prefetch_related("stray_payments")
        strays = StrayPayment.objects.filter(order=OuterRef("pk")).order_by().values("order")
        moved = strays.annotate(moved=JSONObject(n=Count("id"), versions=Sum("lifecycle_version"))).values("moved")
        return orders.annotate(strays_moved=Subquery(moved))

    def get_fingerprint_parts(self, record: Any) -> Sequence[Any]:
        """An order is shown with its stray payments, which move by themselves."""
        return [record.strays_moved] if hasattr(record, "strays_moved") else []
