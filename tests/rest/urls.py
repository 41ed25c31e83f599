from __future__ import annotations

from django.urls import include, path
from rest_framework.routers import DefaultRouter, SimpleRouter

from tests.rest.support import (
    ConvertedViewSet,
    ListedParcelViewSet,
    ListedTicketViewSet,
    ParcelViewSet,
    PickyViewSet,
    TicketViewSet,
)

router = DefaultRouter()
router.register("tickets", TicketViewSet)
router.register("parcels", ParcelViewSet)
router.register("picky", PickyViewSet, basename="picky")
router.register("listed", ListedTicketViewSet, basename="listed")
router.register("parcels-listed", ListedParcelViewSet, basename="parcels-listed")

converted = SimpleRouter(trailing_slash=False, use_regex_path=False)
converted.register("tickets", ConvertedViewSet, basename="converted")

urlpatterns = [
    path("api/", include(router.urls)),
    path("converted/", include(converted.urls)),
    path("lifecycle/", include("lifecycle.rest.urls")),
]
