"""The async twins do what the verbs do."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import async_to_sync

from lifecycle import SYSTEM
from lifecycle.exceptions import WrongState
from lifecycle.runtime import acan, acreate, afire, aview
from tests.support.models import Ticket

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_record_lives_by_awaited_verbs() -> None:
    """django-commons/django-fsm-2 #138, #139."""

    async def life() -> tuple[Any, Any, Any]:
        ticket = await acreate(Ticket(), actor=SYSTEM)
        await ticket.lifecycle.afire("ask", actor=SYSTEM)
        verdict = await acan(ticket, "reopen", actor=SYSTEM)
        with pytest.raises(WrongState):
            await afire(ticket, "reopen", actor=SYSTEM)
        return ticket, verdict, await aview(ticket, actor=SYSTEM)

    ticket, verdict, view = async_to_sync(life)()

    assert ticket.status == "waiting"
    assert [refusal.code for refusal in verdict.refusals] == ["invalid_state"]
    assert view.version == 2
