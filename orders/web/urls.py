"""The shop's addresses."""

from __future__ import annotations

from django.urls import path
from django.views.i18n import set_language

from orders.web import views

app_name = "orders"

urlpatterns = [
    path("", views.index, name="list"),
    path("orders/new/", views.new, name="new"),
    path("orders/<int:pk>/", views.detail, name="detail"),
    path("orders/<int:pk>/fire/<slug:transition>/", views.fire, name="fire"),
    path("orders/<int:pk>/provider/", views.provider_card, name="provider_card"),
    path("orders/<int:pk>/provider/<slug:what>/", views.provider, name="provider"),
    path("orders/<int:pk>/stray/<int:stray>/retry/", views.retry_stray_refund, name="retry_stray"),
    path("language/", set_language, name="language"),
]
