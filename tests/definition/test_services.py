"""Services: made once, when first asked for; replaceable."""

from __future__ import annotations

import os
from typing import Any

import pytest

from lifecycle import ANY, Lifecycle, LifecycleError, Transition
from lifecycle.definition import services

made: list[str] = []


def build() -> str:
    made.append("built")
    return "real"


class Machine(Lifecycle[Any]):
    class Meta:
        abstract = True
        states = ["on", "off"]
        initial = "on"
        final = "off"

    switch = Transition(ANY, "off")


class Called(Machine):
    class Meta:
        name = "called"
        services = build


class Dotted(Machine):
    class Meta:
        name = "dotted"
        services = f"{__name__}.build"


class Without(Machine):
    class Meta:
        name = "without"


@pytest.fixture(autouse=True)
def anew() -> None:
    made.clear()
    for name in ("called", "dotted"):
        services.forget(name)


@pytest.mark.parametrize("lifecycle", [Called, Dotted])
def test_services_are_made_once_when_first_asked_for(lifecycle: type[Lifecycle[Any]]) -> None:
    owner = lifecycle.definition.owner
    assert made == []
    assert owner.services == "real"
    assert owner.services == "real"
    assert made == ["built"]


def test_services_made_before_a_fork_are_not_used_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    owner = Called.definition.owner
    assert owner.services == "real"
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert owner.services == "real"
    assert made == ["built", "built"]


def test_a_test_may_put_others_in_their_place_for_a_while() -> None:
    owner = Called.definition.owner
    with services.replaced("called", "fake"):
        assert owner.services == "fake"
        with services.replaced("called", None):
            assert owner.services is None
        assert owner.services == "fake"
    assert owner.services == "real"


def test_a_lifecycle_without_services_says_so() -> None:
    with pytest.raises(LifecycleError, match="Lifecycle 'without' has no services. Set Meta.services"):
        _ = Without.definition.owner.services
    with services.replaced("without", "fake"):
        assert Without.definition.owner.services == "fake"
