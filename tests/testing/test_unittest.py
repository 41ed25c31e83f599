"""LifecycleTestMixin and LifecycleFactoryMixin: the kit outside pytest, and factories."""

from __future__ import annotations

import subprocess
import sys
import unittest

import factory
import pytest
from django.test import TestCase

from lifecycle import clock
from lifecycle.testing import LifecycleFactoryMixin, LifecycleTestMixin
from tests.support.models import Ticket
from tests.testing.conftest import fired


class TicketFactory(LifecycleFactoryMixin, factory.django.DjangoModelFactory[Ticket]):
    class Meta:
        model = Ticket

    title = factory.Sequence(lambda n: f"Ticket {n}")


class WithTheMixin(LifecycleTestMixin, TestCase):
    @classmethod
    def setUpTestData(cls) -> None:
        cls.ticket = TicketFactory(status="solved")

    def test_the_kit_is_there(self) -> None:
        self.lifecycle.travel(days=5)
        self.lifecycle.tick()
        self.ticket.refresh_from_db()
        assert self.ticket.status == "closed"
        self.lifecycle.assert_history(self.ticket, ["close"])

    def test_nothing_of_another_test_is_left(self) -> None:
        assert clock.overridden() is None
        assert self.ticket.status == "solved"
        self.lifecycle.travel(days=1)


def test_a_set_up_that_breaks_leaves_no_travelled_clock() -> None:
    class Breaking(LifecycleTestMixin, unittest.TestCase):
        def setUp(self) -> None:
            super().setUp()
            self.lifecycle.travel(days=1)
            raise ZeroDivisionError

        def test(self) -> None:
            raise AssertionError

    result = unittest.TestResult()
    Breaking("test").run(result)
    assert len(result.errors) == 1
    assert clock.overridden() is None


@pytest.mark.django_db
def test_a_factory_makes_records_in_any_state() -> None:
    assert TicketFactory().status == "open"
    for status in Ticket.Status:
        ticket = TicketFactory(status=status)
        ticket.refresh_from_db()
        assert ticket.status == status
    assert fired(TicketFactory(status="solved"), "reopen").status == "open"


def test_the_plugin_needs_no_django_to_be_loaded() -> None:
    program = "import sys, lifecycle.testing.plugin, lifecycle.testing; assert 'django.db.models' not in sys.modules"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_every_name_of_the_kit_is_where_it_is_said_to_be() -> None:
    import lifecycle.testing as kit

    for name in kit.__all__:
        assert getattr(kit, name).__name__ == name
    with pytest.raises(AttributeError):
        kit.no_such_name  # noqa: B018
