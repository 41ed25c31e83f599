from django.apps import AppConfig


class CasesConfig(AppConfig):
    name = "tests.cases"
    label = "cases"
