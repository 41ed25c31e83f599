from django.apps import AppConfig


class DeskConfig(AppConfig):
    name = "tests.desk"
    label = "desk"
