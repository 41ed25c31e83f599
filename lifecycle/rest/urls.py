"""Addresses of the endpoints for operators: ``path("lifecycle/", include("lifecycle.rest.urls"))``."""

from __future__ import annotations

from django.urls import path

from lifecycle.rest.operators import DefinitionsView, RunsView

app_name = "lifecycle"

urlpatterns = [
    path("runs/", RunsView.as_view(), name="runs"),
    path("definitions/", DefinitionsView.as_view(), name="definitions"),
]
