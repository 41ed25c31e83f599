"""The checks of the acceptance table, begun with the first test of this folder: they take a while by themselves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import servers
from tests.acceptance.stack import Demo

FORMS = ["sqlite", "postgres"]


@pytest.fixture(scope="package", autouse=True)
def checks(request: pytest.FixtureRequest) -> Iterator[dict[str, Demo]]:
    """One running check per form of the example that is asked for and can be had here."""
    asked = [getattr(item, "callspec", None) for item in request.session.items if "checked" in item.fixturenames]
    forms = [form for form in FORMS if any(spec and spec.params.get("checked") == form for spec in asked)]
    if "postgres" in forms and not servers.postgres_version():
        forms.remove("postgres")
    begun: dict[str, Demo] = {}
    try:
        for form in forms:
            begun[form] = Demo("--check", "--port", "0", mark=f"check-{form}", LIFECYCLE_STACK=form)
        yield begun
    finally:
        for demo in begun.values():
            demo.close()
