"""REST addresses of the cases."""

from __future__ import annotations

from django.urls import include, path
from rest_framework import serializers, viewsets
from rest_framework.routers import DefaultRouter

from lifecycle.rest import LifecycleViewSetMixin
from tests.desk.lifecycles import ParcelLifecycle, TicketLifecycle
from tests.desk.models import Parcel, Ticket


class TicketSerializer(serializers.ModelSerializer[Ticket]):
    class Meta:
        model = Ticket
        fields = ["id", "title", "status", "lifecycle_version"]


class TicketViewSet(LifecycleViewSetMixin, viewsets.ModelViewSet[Ticket]):
    """Tickets that may be edited, too."""

    lifecycle = TicketLifecycle
    queryset = Ticket.objects.all()
    serializer_class = TicketSerializer


class ParcelSerializer(serializers.ModelSerializer[Parcel]):
    class Meta:
        model = Parcel
        fields = ["id", "status"]


class ParcelViewSet(LifecycleViewSetMixin, viewsets.ModelViewSet[Parcel]):
    """Records with a UUID."""

    lifecycle = ParcelLifecycle
    queryset = Parcel.objects.all()
    serializer_class = ParcelSerializer


router = DefaultRouter()
router.register("tickets", TicketViewSet)
router.register("parcels", ParcelViewSet)
urlpatterns = [path("", include(router.urls)), path("lifecycle/", include("lifecycle.rest.urls"))]
