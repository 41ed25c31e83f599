"""The site's addresses."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth import views as auth
from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView

urlpatterns = [
    path("", include("orders.urls")),
    path("", include("orders.web.urls")),
    path("api/lifecycle/", include("lifecycle.rest.urls")),
    path("api/schema/", SpectacularAPIView.as_view(), name="schema"),
    path("sandbox/", include("orders.sandbox.urls")),
    path("accounts/login/", auth.LoginView.as_view(), name="login"),
    path("accounts/logout/", auth.LogoutView.as_view(), name="logout"),
    path("admin/", admin.site.urls),
]
