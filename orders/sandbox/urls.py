"""The provider's addresses, under its own prefix."""

from __future__ import annotations

from django.urls import path

from orders.sandbox import api, pages

app_name = "sandbox"

urlpatterns = [
    path("sessions", api.sessions, name="sessions"),
    path("sessions/<str:session_id>", api.session, name="session"),
    path("sessions/<str:session_id>/pay", api.pay, name="pay"),
    path("sessions/<str:session_id>/decline", api.decline, name="decline"),
    path("sessions/<str:session_id>/expire", api.expire, name="expire"),
    path("refunds", api.refunds, name="refunds"),
    path("events", api.events, name="events"),
    path("events/<str:event_id>/deliver", api.deliver, name="deliver"),
    path("references/<str:reference>/hold", api.hold, name="hold"),
    path("switches", api.switches, name="switches"),
    path("pay/<str:session_id>", pages.checkout, name="checkout"),
]
