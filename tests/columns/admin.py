from django.contrib import admin

from tests.columns.models import Order


@admin.register(Order)
class OrderAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    readonly_fields = ["status"]
    save_as = True
