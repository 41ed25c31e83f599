"""The support team's viewsets."""

from __future__ import annotations

from typing import Any

from django_filters.rest_framework import DjangoFilterBackend
from rest_framework import serializers, viewsets
from rest_framework.permissions import BasePermission, IsAuthenticated

from lifecycle.rest import AvailableField, LifecycleFilterSet, LifecycleViewSetMixin
from tests.support.lifecycles import ParcelLifecycle, TicketLifecycle
from tests.support.models import Parcel, Ticket


class TicketSerializer(serializers.ModelSerializer[Ticket]):
    class Meta:
        model = Ticket
        fields = ["id", "status", "title", "note", "answer", "priority", "agent", "lifecycle_version"]
        read_only_fields = ["answer"]


class TicketViewSet(LifecycleViewSetMixin, viewsets.ReadOnlyModelViewSet[Ticket]):
    """A caller sees the tickets whose title does not say that they are somebody else's."""

    lifecycle = TicketLifecycle
    queryset = Ticket.objects.order_by("id")
    serializer_class = TicketSerializer
    permission_classes = [IsAuthenticated]

    def get_queryset(self) -> Any:
        return super().get_queryset().exclude(title__startswith="Secret")


class ParcelSerializer(serializers.ModelSerializer[Parcel]):
    class Meta:
        model = Parcel
        fields = ["id", "status", "label", "problem"]


class ParcelViewSet(LifecycleViewSetMixin, viewsets.ModelViewSet[Parcel]):
    """Lets everyone in, as a viewset nobody thought about does."""

    lifecycle = ParcelLifecycle
    queryset = Parcel.objects.all()
    serializer_class = ParcelSerializer


class OnlyOnMondays(BasePermission):
    message = "Tickets are asked about on Mondays."
    code = "not_monday"

    def has_permission(self, request: Any, view: Any) -> bool:
        return False


class PickyViewSet(TicketViewSet):
    """One transition asks for more; no records are created here; the address names a column of its own."""

    lifecycle_transition_permission_classes = {"ask": [OnlyOnMondays]}
    lifecycle_creation = False
    lookup_field = "title"
    lookup_value_regex = "[^/]+"


class ConvertedViewSet(TicketViewSet):
    lifecycle_path_converters = True
    lookup_value_converter = "int"


class TicketFilter(LifecycleFilterSet):
    lifecycle = TicketLifecycle

    class Meta:
        model = Ticket
        fields = ["title"]


class ListedTicketSerializer(TicketSerializer):
    available = AvailableField()

    class Meta(TicketSerializer.Meta):
        fields = [*TicketSerializer.Meta.fields, "available"]


class ListedTicketViewSet(TicketViewSet):
    """A list with filters, and with what can be done."""

    serializer_class = ListedTicketSerializer
    filter_backends = [DjangoFilterBackend]
    filterset_class = TicketFilter
    lifecycle_transition_permission_classes = {"ask": [OnlyOnMondays]}


class ParcelFilter(LifecycleFilterSet):
    lifecycle = ParcelLifecycle

    class Meta:
        model = Parcel
        fields: list[str] = []


class ListedParcelViewSet(ParcelViewSet):
    filter_backends = [DjangoFilterBackend]
    filterset_class = ParcelFilter
