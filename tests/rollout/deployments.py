"""The process as three deployments declare it; not in a ``lifecycles.py``: a test deploys one after the other."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from lifecycle import Lifecycle, State, Timeout, Transition, on_enter
from tests.rollout.models import After, Before, Between, FirstPaper, SecondPaper, ThirdPaper

told: list[str] = []


class First(Lifecycle[FirstPaper]):
    class Meta:
        model = FirstPaper
        name = "papers"
        initial = Before.DRAFT
        final = [Before.DONE]

    submit = Transition(Before.DRAFT, Before.REVIEW)
    accept = Transition(Before.REVIEW, Before.DONE)

    accept_silently = Timeout(accept, when=Before.REVIEW, after=timedelta(days=7))

    @submit.effect
    def tell_reviewer(self, ctx: Any) -> None:
        told.append(f"first: {ctx.record.pk}")


class Second(Lifecycle[SecondPaper]):
    """Knows both names: nothing leads into the old one any more, one system transition leads out of it."""

    class Meta:
        model = SecondPaper
        name = "papers"
        initial = Between.DRAFT
        final = [Between.DONE]
        states = {Between.REVIEW: State(deprecated=True)}

    submit = Transition(Between.DRAFT, Between.CHECKING)
    accept = Transition([Between.REVIEW, Between.CHECKING], Between.DONE)
    rename_review = Transition(Between.REVIEW, Between.CHECKING, manual=False)

    accept_silently = Timeout(accept, when=[Between.REVIEW, Between.CHECKING], after=timedelta(days=7))

    @rename_review.guard(code="locked", message="Somebody is editing this paper.")
    def is_not_locked(self, ctx: Any) -> Any:
        return not ctx.record.locked

    @submit.effect
    def tell_reviewer(self, ctx: Any) -> None:
        told.append(f"second: {ctx.record.pk}")

    @on_enter(Between.CHECKING)
    def note(self, ctx: Any) -> None:
        told.append(f"checking: {ctx.record.pk} by {ctx.transition}")


class Third(Lifecycle[ThirdPaper]):
    """Has forgotten the old name, and the way out of it."""

    class Meta:
        model = ThirdPaper
        name = "papers"
        initial = After.DRAFT
        final = [After.DONE]

    submit = Transition(After.DRAFT, After.CHECKING)
    accept = Transition(After.CHECKING, After.DONE)

    accept_silently = Timeout(accept, when=After.CHECKING, after=timedelta(days=7))

    @submit.effect
    def tell_reviewer(self, ctx: Any) -> None:
        told.append(f"third: {ctx.record.pk}")
