"""The shop's REST interface: orders, and the lifecycle's doors on them."""

from __future__ import annotations

from rest_framework import serializers
from rest_framework.permissions import IsAdminUser
from rest_framework.viewsets import ReadOnlyModelViewSet

from lifecycle.rest import LifecycleViewSetMixin
from orders.lifecycles import OrderLifecycle
from orders.models import Order, StrayPayment


class StrayPaymentSerializer(serializers.ModelSerializer[StrayPayment]):
    class Meta:
        model = StrayPayment
        fields = ["id", "status", "payment_ref", "amount_cents", "currency", "reason", "refund_ref", "last_error"]
        read_only_fields = fields


class OrderSerializer(serializers.ModelSerializer[Order]):
    """An order; only what a customer says is written, everything else is what transitions made of it."""

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


class OrderViewSet(LifecycleViewSetMixin, ReadOnlyModelViewSet[Order]):
    """Orders: read, begin, fire."""

    lifecycle = OrderLifecycle
    queryset = Order.objects.prefetch_related("stray_payments")
    serializer_class = OrderSerializer
    permission_classes = [IsAdminUser]
