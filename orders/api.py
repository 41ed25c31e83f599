"""REST interface: orders to read and to create, and the lifecycle's endpoints on them."""

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


STATE = ["status", "status_changed_at", "lifecycle_version"]
WRITTEN_BY_TRANSITIONS = [
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


class OrderSerializer(serializers.ModelSerializer[Order]):
    """An order. What a customer says can be given; everything else is written by transitions."""

    # Empty until there is one; a model's URL or choice that is only read is not described so.
    checkout_url = serializers.CharField(read_only=True, label=_("checkout page"))
    cancel_reason = serializers.CharField(read_only=True, label=_("cancel reason"))
    stray_payments = StrayPaymentSerializer(many=True, read_only=True)

    class Meta:
        model = Order
        fields = [
            "id",
            *STATE,
            "customer",
            "title",
            "amount_cents",
            "currency",
            *WRITTEN_BY_TRANSITIONS,
            "fail_checkouts",
            "fail_refunds",
            "created_at",
            "stray_payments",
        ]
        read_only_fields = [*STATE, *WRITTEN_BY_TRANSITIONS]


class OrderFilter(LifecycleFilterSet):
    """Orders by state and time, by customer and by currency."""

    lifecycle = OrderLifecycle

    class Meta:
        model = Order
        fields = ["customer", "currency"]


class ErrorSerializer(serializers.Serializer[Any]):
    """What Django REST framework answers when it refuses to show orders. The mixin describes its own endpoints."""

    detail = serializers.CharField(read_only=True)


REFUSED = dict.fromkeys((403, 404, 406), ErrorSerializer)


@extend_schema_view(
    list=extend_schema(responses={200: OrderSerializer(many=True), 400: OpenApiTypes.OBJECT, **REFUSED}),
    retrieve=extend_schema(responses={200: OrderSerializer, 400: OpenApiTypes.OBJECT, **REFUSED}),
)
class OrderViewSet(LifecycleViewSetMixin, ReadOnlyModelViewSet[Order]):
    """Orders: read, create, fire."""

    lifecycle = OrderLifecycle
    queryset = Order.objects.all()
    serializer_class = OrderSerializer
    filter_backends = [DjangoFilterBackend]
    filterset_class = OrderFilter
    permission_classes = [IsAdminUser]

    def get_queryset(self) -> QuerySet[Order]:
        """A list brings its stray payments by one more query; one order brings their versions, for its fingerprint."""
        orders: QuerySet[Order] = super().get_queryset()
        if self.action == "list":
            return orders.prefetch_related("stray_payments")
        strays = StrayPayment.objects.filter(order=OuterRef("pk")).order_by().values("order")
        moved = strays.annotate(moved=JSONObject(n=Count("id"), versions=Sum("lifecycle_version"))).values("moved")
        return orders.annotate(strays_moved=Subquery(moved))

    def get_fingerprint_parts(self, record: Any) -> Sequence[Any]:
        """The answer shows stray payments, and they move without their order: its ETag has to know."""
        return [record.strays_moved] if hasattr(record, "strays_moved") else []
