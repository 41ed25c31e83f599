"""REST addresses of the cases."""

from __future__ import annotations

from django.urls import include, path
from rest_framework import serializers, viewsets
from rest_framework.routers import DefaultRouter

from lifecycle.rest import LifecycleViewSetMixin
from tests.cases.lifecycles.readable_input import EverythingLifecycle
from tests.cases.models.readable_input import Everything
from tests.support.lifecycles import ParcelLifecycle, TicketLifecycle
from tests.support.models import Parcel, Ticket


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


class EverythingSerializer(serializers.ModelSerializer[Everything]):
    class Meta:
        model = Everything
        exclude = ["binary"]


class EverythingViewSet(LifecycleViewSetMixin, viewsets.ModelViewSet[Everything]):
    """Columns of every kind."""

    lifecycle = EverythingLifecycle
    queryset = Everything.objects.all()
    serializer_class = EverythingSerializer


router = DefaultRouter()
router.register("everything", EverythingViewSet)
router.register("tickets", TicketViewSet)
router.register("parcels", ParcelViewSet)
urlpatterns = [path("", include(router.urls)), path("lifecycle/", include("lifecycle.rest.urls"))]
