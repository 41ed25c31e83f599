"""A state is renamed in production, by three deployments, with records, pending effects and timeouts of all ages."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from lifecycle import SYSTEM, Refuse, registry
from lifecycle.doctor import examine
from lifecycle.exceptions import WrongState
from lifecycle.execution.drain import drain
from lifecycle.models import Run, TransitionLog
from lifecycle.runtime import create, fire, register_guard
from lifecycle.sweeps.tick import tick
from lifecycle.testing import travel
from tests.rollout.deployments import Before, First, Second, Third, told
from tests.rollout.models import AfterPaper, BeforePaper, BetweenPaper

pytestmark = pytest.mark.django_db

Deploy = Callable[[type[Any]], None]


@pytest.fixture
def deploy() -> Iterator[Deploy]:
    """From here on this process runs that deployment's code."""

    def deployed(lifecycle: type[Any]) -> None:
        registry.unregister("papers")
        registry.register(lifecycle)

    told.clear()
    deployed(Second)
    unregister = register_guard("papers", "rename_review", not_locked)
    yield deployed
    unregister()
    registry.unregister("papers")


def not_locked(ctx: Any) -> Any:
    return Refuse("locked", "Somebody is editing this paper.") if ctx.record.title == "locked" else True


def papers(number: int, deployed: type[Any] = Before, *, submitted: bool = True, **values: Any) -> list[Any]:
    made = [create(deployed.definition.model(**values), actor=SYSTEM) for _ in range(number)]
    for paper in made if submitted else ():
        fire(paper, "submit", actor=SYSTEM)
    return made


def migrate_state(*arguments: str, code: int = 0, **options: Any) -> dict[str, Any]:
    out = io.StringIO()
    try:
        call_command(
            "lifecycle_migrate_state", *arguments, lifecycle="papers", source="review", transition="rename_review",
            format="json", stdout=out, stderr=io.StringIO(), **options,
        )  # fmt: skip
        ended = 0
    except CommandError as error:
        ended = error.returncode
    assert ended == code
    report: dict[str, Any] = json.loads(out.getvalue())
    return report


def faults(only: tuple[str, ...] = ("unknown_states", "deprecated_states", "drift", "unknown_effects")) -> list[str]:
    return [finding.id for finding in examine(lifecycles=[registry.get("papers")], only=only)]


def states() -> list[str]:
    return list(BeforePaper.objects.order_by("pk").values_list("status", flat=True))


def test_a_state_is_renamed_by_three_deployments_and_nothing_is_lost(deploy: Deploy) -> None:
    """viewflow/viewflow #1: change a process while records are in the middle of it."""
    deploy(Before)
    one, two, three = papers(3)
    [draft] = papers(1, submitted=False)
    assert Run.objects.count() == 3  # still pending when the first deployment comes

    deploy(First)
    assert faults() == []
    drain()
    assert told == [str(one.pk), str(two.pk), str(three.pk)]
    fire(BetweenPaper.objects.get(pk=one.pk), "accept", actor=SYSTEM)
    assert states() == ["done", "review", "review", "draft"]

    deploy(Second)
    assert faults() == ["deprecated_states"]
    fire(BetweenPaper.objects.get(pk=draft.pk), "submit", actor=SYSTEM)  # nobody enters the old state any more
    assert states() == ["done", "review", "review", "checking"]
    drain()
    report = migrate_state()
    assert (report["moved"], report["refused"], report["left"]) == (2, 0, 0)
    assert states() == ["done", "checking", "checking", "checking"]
    entry = TransitionLog.objects.of("papers", str(two.pk)).last()
    assert (entry.transition, entry.source, entry.target, entry.actor_kind) == (
        "rename_review", "review", "checking", "system",
    )  # fmt: skip
    assert entry.reason == "The state 'review' is emptied."
    assert faults() == []

    deploy(Third)
    assert faults() == []
    fire(AfterPaper.objects.get(pk=two.pk), "accept", actor=SYSTEM)
    with travel(days=8):
        tick(force=True)
    assert states() == ["done", "done", "done", "done"]
    history = TransitionLog.objects.of("papers", str(three.pk)).values_list("transition", flat=True)
    assert list(history) == ["$create", "submit", "rename_review", "accept"]
    assert faults() == []


@pytest.mark.parametrize(
    ("older", "newer"), [(Before, First), (First, Second), (Second, Third)], ids=["first", "second", "third"]
)
def test_while_a_deployment_rolls_out_old_and_new_servers_can_handle_each_others_records(
    deploy: Deploy, older: type[Any], newer: type[Any]
) -> None:
    deploy(older)
    [by_the_old] = papers(1, older)
    if newer is Third:
        migrate_state()
    deploy(newer)
    [by_the_new] = papers(1, newer)

    for lifecycle, paper in ((newer, by_the_old), (older, by_the_new)):
        deploy(lifecycle)
        drain()
        assert faults(("unknown_states", "drift", "unknown_effects")) == []
        fire(lifecycle.definition.model.objects.get(pk=paper.pk), "accept", actor=SYSTEM)
    assert states() == ["done", "done"]
    assert sorted(told) == sorted([str(by_the_old.pk), str(by_the_new.pk)])


def test_two_deployments_at_once_would_not_do(deploy: Deploy) -> None:
    """Why there are three: a server of before the change meets a state it does not know."""
    deploy(Second)
    [paper] = papers(1, Second)
    deploy(Before)
    assert faults(("unknown_states",)) == ["unknown_states"]
    with pytest.raises(WrongState):
        fire(BeforePaper.objects.get(pk=paper.pk), "accept", actor=SYSTEM)


def test_who_removes_the_state_too_early_is_told_with_the_records(deploy: Deploy) -> None:
    deploy(Before)
    [paper] = papers(1)

    deploy(Third)

    [finding] = examine(lifecycles=[registry.get("papers")], only=["unknown_states"])
    assert (finding.severity, finding.count, finding.examples) == ("error", 1, (str(paper.pk),))
    with pytest.raises(WrongState):
        fire(AfterPaper.objects.get(pk=paper.pk), "accept", actor=SYSTEM)
    assert states() == ["review"]
    deploy(Second)  # and the way back is to deploy the one between
    assert migrate_state()["moved"] == 1
    assert faults() == []


def test_timeouts_of_records_in_the_old_state_go_on_between_the_deployments(deploy: Deploy) -> None:
    deploy(Before)
    papers(2)
    deploy(First)
    with travel(days=8):
        tick(force=True)
        assert states() == ["done", "done"]
        deploy(Second)
        assert faults() == []


def test_an_old_server_that_is_still_running_may_enter_the_old_state_and_a_second_call_moves_that_too(
    deploy: Deploy,
) -> None:
    deploy(First)
    papers(1, First)
    deploy(Second)
    assert migrate_state()["moved"] == 1
    deploy(First)
    papers(1, First)
    deploy(Second)

    assert faults() == ["deprecated_states"]
    assert migrate_state()["moved"] == 1
    assert states() == ["checking", "checking"]


def test_a_dry_run_asks_every_guard_and_moves_nothing(deploy: Deploy) -> None:
    deploy(Before)
    papers(2)
    [locked] = papers(1, title="locked")
    deploy(Second)
    entries = TransitionLog.objects.count()

    report = migrate_state("--dry-run", code=1)

    assert (report["dry_run"], report["moved"], report["refused"], report["left"]) == (True, 2, 1, 3)
    assert report["refusals"] == [
        {"record_id": str(locked.pk), "code": "locked", "message": "Somebody is editing this paper."}
    ]
    assert states() == ["review"] * 3
    assert TransitionLog.objects.count() == entries


def test_a_refused_record_stops_no_other_is_named_and_is_moved_by_a_later_call(deploy: Deploy) -> None:
    deploy(Before)
    [locked] = papers(1, title="locked")
    papers(4)
    deploy(Second)

    report = migrate_state(code=1, batch_size=2)

    assert (report["moved"], report["refused"], report["left"]) == (4, 1, 1)
    assert report["refusals"][0]["record_id"] == str(locked.pk)
    assert states() == ["review", "checking", "checking", "checking", "checking"]
    BeforePaper.objects.filter(pk=locked.pk).update(title="Paper")
    report = migrate_state(batch_size=2)
    assert (report["moved"], report["refused"], report["left"]) == (1, 0, 0)


def test_a_limit_moves_a_part_and_the_next_call_goes_on(deploy: Deploy) -> None:
    deploy(Before)
    papers(5)
    deploy(Second)

    assert migrate_state(limit=2, reason="a try")["left"] == 3
    assert TransitionLog.objects.filter(reason="a try").count() == 2
    assert migrate_state()["moved"] == 3


def test_an_interrupted_call_keeps_what_it_moved(deploy: Deploy, monkeypatch: pytest.MonkeyPatch) -> None:
    from lifecycle.management.commands import lifecycle_migrate_state as command

    deploy(Before)
    papers(3)
    deploy(Second)
    calls: list[int] = []

    def interrupted(*arguments: Any) -> None:
        if calls:
            raise KeyboardInterrupt
        calls.append(1)
        fire_batch(*arguments)

    fire_batch = command._fire
    monkeypatch.setattr(command, "_fire", interrupted)
    report = migrate_state(code=130, batch_size=1)
    assert (report["moved"], report["left"]) == (1, 2)
    monkeypatch.undo()
    assert migrate_state()["moved"] == 2


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"lifecycle": "paper"}, "No lifecycle is named 'paper'. Did you mean 'papers'?"),
        ({"source": "reviw"}, "'papers' has no state 'reviw'. Did you mean 'review'?"),
        ({"transition": "rename"}, "'papers' has no transition 'rename'."),
        ({"source": "draft"}, "'rename_review' does not start in 'draft'. Transitions that do: submit."),
        ({"using": "other"}, "DATABASES has no alias 'other'."),
        ({"reason": "x" * 501}, "at most 500 characters"),
    ],
)
def test_a_wrong_call_moves_nothing_and_says_what_is_wrong(
    deploy: Deploy, options: dict[str, Any], sentence: str
) -> None:
    deploy(Before)
    papers(1)
    deploy(Second)
    given = {"lifecycle": "papers", "source": "review", "transition": "rename_review", **options}
    with pytest.raises(CommandError, match=sentence) as refused:
        call_command("lifecycle_migrate_state", **given)
    assert refused.value.returncode == 2
    assert states() == ["review"]


def test_the_move_begins_a_new_stay_from_which_timeouts_count(deploy: Deploy) -> None:
    deploy(Before)
    papers(1)
    deploy(Second)
    with travel(days=6):
        migrate_state()
        with travel(days=6):
            tick(force=True)
            assert states() == ["checking"]
