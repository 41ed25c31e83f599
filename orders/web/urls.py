"""The shop's addresses."""

from __future__ import annotations

from django.urls import path
from django.views.i18n import set_language

from orders.web.views import clicks, new_order, order, order_list, provider

app_name = "orders"

urlpatterns = [
    path("", order_list.index, name="list"),
    path("orders/new/", new_order.new, name="new"),
    path("orders/<int:pk>/", order.detail, name="detail"),
    path("orders/<int:pk>/fire/<slug:transition>/", clicks.fire, name="fire"),
    path("orders/<int:pk>/provider/", provider.card, name="provider_card"),
    path("orders/<int:pk>/provider/<slug:what>/", provider.press, name="provider"),
    path("orders/<int:pk>/stray/<int:stray>/retry/", clicks.retry_stray_refund, name="retry_stray"),
    path("language/", set_language, name="language"),
]
