from django.apps import AppConfig


class ColumnsConfig(AppConfig):
    name = "tests.columns"
    label = "columns"
