"""The addresses that need no pages: the REST interface, and the webhook."""

from __future__ import annotations

from django.urls import include, path
from rest_framework.routers import SimpleRouter

from orders.api import OrderViewSet
from orders.webhook.receiver import receive

router = SimpleRouter()
router.register("orders", OrderViewSet)

urlpatterns = [
    path("api/", include(router.urls)),
    path("webhooks/sandbox/", receive, name="webhook"),
]
