"""WebConfig: the shop's pages as an app of its own, so that Django finds their templates, tags and static files."""

from __future__ import annotations

from django.apps import AppConfig


class WebConfig(AppConfig):
    name = "orders.web"
    label = "orders_web"
    verbose_name = "Pages of the shop"
