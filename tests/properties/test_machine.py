"""Anything in any order: people, workers, crashes, sweeps, operators and time, against a simple model."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
from django.test import override_settings
from hypothesis import strategies as st
from hypothesis import target
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

from lifecycle import SYSTEM, Permanent, clock, dispatch
from lifecycle.dispatch.recording import RecordingDispatcher
from lifecycle.exceptions import (
    Conflict,
    LeaseLost,
    LifecycleError,
    NothingToContinue,
    RequestReused,
    RunBusy,
    RunSettled,
    WrongState,
)
from lifecycle.execution import attempts, interference
from lifecycle.execution.drain import drain
from lifecycle.models import OperatorAction, Run, RunAttempt, Tick, TransitionLog, TriggerHold
from lifecycle.operations import cancel_run, continue_run, retry_run
from lifecycle.runtime import create, fire, register_guard
from lifecycle.store import claims
from lifecycle.store.claims import ClaimedRun, Wanted
from lifecycle.sweeps.tick import tick
from tests.properties import model
from tests.properties.profile import MINUTES, profile
from tests.support import lifecycles
from tests.support.models import Parcel, Ticket

USING = "default"


def an_effect(ctx: Any) -> dict[str, Any]:
    """What the effects of the support team do here: as the worker's run decides."""
    HOW[Machine.how]()
    return {"label": f"L-{ctx.attempt}"}


def fails() -> None:
    raise ValueError("no answer")


def says_no() -> None:
    raise Permanent("not to this country")


HOW: dict[str, Callable[[], None]] = {"succeeds": lambda: None, "fails": fails, "says no": says_no}
ENDINGS = sorted(HOW)
# Nothing is deleted however long the days are, and death is not far away.
OPTIONS = {"RETAIN_SUCCEEDED": None, "RETAIN_FAILED": None, "MAX_CRASHES": 2}


def answer_of(call: Callable[[], Any]) -> tuple[Any, LifecycleError | None]:
    """What a verb answers, or refuses with."""
    try:
        return call(), None
    except LifecycleError as error:
        return None, error


class Machine(RuleBasedStateMachine):
    """Everything that may happen to some parcels and tickets; what must hold is checked after each step."""

    how = "succeeds"
    requests: Bundle[Any] = Bundle("requests")
    in_hands: Bundle[ClaimedRun] = Bundle("in_hands")

    def __init__(self) -> None:
        super().__init__()
        for table in (RunAttempt, Run, TransitionLog, OperatorAction, TriggerHold, Tick, Parcel, Ticket):
            table.objects.all().delete()
        self.now = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
        self.records: dict[tuple[str, str], Any] = {}
        self.keys: list[str] = []
        self.runs: dict[int, dict[str, Any]] = {}
        self.by_operator: set[int] = set()
        self.starts: Counter[tuple[int, int]] = Counter()
        self.excused: Counter[int] = Counter()  # starts that count for nothing: an operator took the run
        self.guarded = False
        self.ticked = False
        Machine.how = "succeeds"
        self.stack = ExitStack()
        self.stack.enter_context(clock.replaced(lambda: self.now))
        self.stack.enter_context(dispatch.replaced(RecordingDispatcher()))
        self.stack.enter_context(override_settings(LIFECYCLE=OPTIONS))
        self.stack.callback(
            register_guard("parcels", ["labelled", "label_failed", "label_lost"], lambda ctx: not self.guarded)
        )
        for name in lifecycles.behaviours:
            lifecycles.behaviours[name] = an_effect
        interference.before = self.note_start
        self.stack.callback(setattr, interference, "before", None)

    def note_start(self, definition: Any, effect: Any, ctx: Any) -> None:
        self.starts[ctx.run_id, ctx.attempt] += 1

    # People ---------------------------------------------------------------------------------------

    @initialize(target=in_hands)
    def a_day_begins(self) -> Any:
        for kind, transition in ((Parcel, "send"), (Parcel, "take_back"), (Parcel, "send"), (Ticket, "ask")):
            self.someone_creates(kind)
            fire(list(self.records.values())[-1], transition, actor=SYSTEM)
        store, wanted = claims.for_alias(USING), Wanted(queue="default", worker="the first")
        return multiple(store.claim(wanted), store.claim(wanted))

    @precondition(lambda self: len(self.records) < 7)
    @rule(kind=st.sampled_from([Parcel, Parcel, Ticket]))
    def someone_creates(self, kind: Any) -> None:
        record = create(kind(), actor=SYSTEM)
        self.records["parcels" if kind is Parcel else "tickets", str(record.pk)] = record

    @precondition(lambda self: self.records)
    @rule(target=requests, data=st.data(), stale=st.booleans())
    def someone_fires(self, data: Any, stale: bool) -> Any:
        (name, _), record = data.draw(st.sampled_from(list(self.records.items())))
        table = model.PARCEL if name == "parcels" else model.TICKET
        fresh = type(record).objects.get(pk=record.pk)
        state, version = fresh.status, fresh.lifecycle_version
        possible = [one for one, (sources, _) in table.items() if state in sources]
        transition = data.draw(st.sampled_from(possible * 3 + list(table)))
        sources, where = table[transition]
        call: dict[str, Any] = {"input": {"answer": "x"} if transition == "solve" else {}}
        request_id = f"r{len(self.keys)}"
        self.keys.append(request_id)
        expected: Any = None
        if stale and version > 1:
            call["expect_version"] = version - 1
            expected = Conflict
        elif state not in sources and (transition, state) != ("escalate", "escalated"):
            expected = WrongState
        fired, error = answer_of(
            lambda: fire(record if stale else fresh, transition, actor=SYSTEM, request_id=request_id, **call)
        )
        assert (type(error) if error else None) == expected, (transition, state, error)
        if error is not None:
            return multiple()
        moved = state in sources
        assert (fired.record.status, fired.record.lifecycle_version) == (where, version + moved)
        assert fired.replayed == (not moved)
        return (record, transition, request_id, call, fired.entry.pk) if moved else multiple()

    @rule(request=requests, differently=st.booleans())
    def someone_repeats_a_request(self, request: Any, differently: bool) -> None:
        record, transition, request_id, call, entry = request
        if not type(record).objects.filter(pk=record.pk).exists():
            return
        if differently:
            with pytest.raises(RequestReused):
                fire(record, transition, actor=SYSTEM, request_id=request_id, input={"answer": "y", "other": 1})
            return
        fired = fire(record, transition, actor=SYSTEM, request_id=request_id, **call)
        assert (fired.replayed, fired.entry.pk, fired.runs) == (True, entry, ())

    @precondition(lambda self: len(self.records) > 3)
    @rule(data=st.data())
    def someone_deletes(self, data: Any) -> None:
        key = data.draw(st.sampled_from(list(self.records)))
        self.records.pop(key).delete()

    # Workers --------------------------------------------------------------------------------------

    @rule(target=in_hands, does=st.sampled_from(["takes one", "does one", "does all"]), how=st.sampled_from(ENDINGS))
    def a_worker_comes(self, does: str, how: str) -> Any:
        if does == "does all":
            Machine.how = how
            drain(seconds=600, runs=50)
            assert not claims.for_alias(USING).due("default")
            return multiple()
        due = [run for run in self.runs.values() if run["status"] == "queued" and run["available_at"] <= self.now]
        expected = min(due, key=lambda run: (run["available_at"], run["id"]), default=None)
        held = claims.for_alias(USING).claim(Wanted(queue="default", worker="a worker"))
        assert (held.id if held else None) == (expected["id"] if expected else None)
        if held is None:
            return multiple()
        self.runs[held.id] = self.look(held.id)
        if does == "does one":
            self.a_worker_does_its_run(held, how)
        return held

    @rule(
        held=in_hands,
        does=st.sampled_from(["its run", "its run", "a renewal", "a checkpoint", "a release"]),
        how=st.sampled_from(ENDINGS),
    )
    def a_worker_goes_on(self, held: ClaimedRun, does: str, how: str) -> None:
        """Also one whose lease was lost long ago, and one that has done its run before."""
        if does == "its run":
            self.a_worker_does_its_run(held, how)
            return
        store, ours = claims.for_alias(USING), self.holds(held)
        answer = {
            "a renewal": lambda: held.id in store.renew([held.proof]),
            "a checkpoint": lambda: store.checkpoint(held, {"page": 1}),
            "a release": lambda: store.release(held),
        }[does]()
        assert answer == ours
        if ours:
            lease = None if does == "a release" else self.now + dt.timedelta(seconds=held.lease_seconds)
            assert self.look(held.id)["lease_until"] == lease

    def a_worker_does_its_run(self, held: ClaimedRun, how: str) -> None:
        before, ours = self.look(held.id), self.holds(held)
        if not ours:
            self.starts[held.id, held.start] -= 1  # it began while it was ours; the model sees it only now
        Machine.how = how
        try:
            attempts.perform(held, USING, lambda: None)
        except LeaseLost:
            assert not ours
        after = self.look(held.id)
        if not ours:
            assert after == before, "a worker that lost its lease changed something"
            return
        if after["error_kind"] in ("record_gone", "stay_ended"):
            assert after["attempts"] == before["attempts"]
        elif after["effect"] in ("print_label", "refund_postage") and how != "succeeds":
            again = how == "fails" and before["attempts"] + 1 < before["max_attempts"]
            assert (after["status"], after["attempts"]) == ("queued" if again else "failed", before["attempts"] + 1)
        else:
            assert (after["status"], after["attempts"]) == ("succeeded", before["attempts"] + 1)

    # Time -----------------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([1, 6, 59, 61, 700, 700, 4000, 50_000, 200_000]), ticks=st.booleans())
    def time_passes(self, seconds: int, ticks: bool) -> None:
        """Workers that are not heard of meanwhile have died, or come back with what they hold in their hands."""
        self.now += dt.timedelta(seconds=seconds, microseconds=137)
        if ticks:
            lost = [run for run in self.runs.values() if run["status"] == "running" and run["lease_until"] < self.now]
            report = tick(force=True)
            assert report.failures == []
            self.ticked = True
            for run in lost:
                after, crashes = self.look(run["id"]), run["crashes"] + 1
                status = "dead" if crashes == run["max_crashes"] else "queued"
                assert (after["status"], after["crashes"], after["fence"]) == (status, crashes, run["fence"] + 1)

    @rule(guarded=st.booleans())
    def follow_ups_are_refused_or_not(self, guarded: bool) -> None:
        self.guarded = guarded

    # Operators ------------------------------------------------------------------------------------

    @precondition(lambda self: self.runs)
    @rule(data=st.data(), verb=st.sampled_from(["retry", "cancel", "continue"]), force=st.booleans())
    def an_operator_acts(self, data: Any, verb: str, force: bool) -> None:
        before = self.runs[data.draw(st.sampled_from(sorted(self.runs)))]
        run = Run.objects.get(pk=before["id"])
        live = before["status"] == "running" and before["lease_until"] > self.now and not force
        led = before["follow_up"] in ("applied", "pending", "abandoned") and not force
        finished = before["status"] in model.FINISHED
        refused: Any = None
        if verb == "retry":
            if before["status"] == "queued" or live:
                refused = RunBusy
            elif before["status"] == "succeeded" or led:
                refused = RunSettled
        elif verb == "cancel":
            refused = RunSettled if finished else RunBusy if live else None
        elif before["follow_up"] not in ("pending", "abandoned"):
            refused = NothingToContinue
        elif self.guarded:
            refused = "perhaps"  # by the guard, unless the record moved on
        call: Any = {"retry": retry_run, "cancel": cancel_run, "continue": continue_run}[verb]
        options = {} if verb == "continue" else {"force": force}
        self.by_operator.add(run.pk)
        if before["status"] == "running" and refused is None:
            self.excused[run.pk] += 1
        _, error = answer_of(lambda: call(run, actor=SYSTEM, reason="because", **options))
        if refused != "perhaps":
            assert (type(error) if error else None) == refused, (verb, force, before, error)
            assert error is None or self.look(run.pk) == before, "refused, and yet something changed"

    # What must hold -------------------------------------------------------------------------------

    def look(self, run_id: int) -> dict[str, Any]:
        found: dict[str, Any] = Run.objects.filter(pk=run_id).values().get()
        return found

    def holds(self, held: ClaimedRun) -> bool:
        run = self.runs[held.id]
        return (run["status"], run["fence"]) == ("running", held.fence)

    @invariant()
    def everything_is_in_order(self) -> None:
        entries: dict[tuple[str, str], list[Any]] = {}
        for entry in TransitionLog.objects.order_by("id"):
            entries.setdefault((entry.lifecycle, entry.record_id), []).append(entry)
        rows = {
            (name, str(row.pk)): row
            for name, kind in (("parcels", Parcel), ("tickets", Ticket))
            for row in kind.objects.all()
        }
        assert rows.keys() == self.records.keys()
        wrong = []
        for key, history in entries.items():
            row = rows.get(key)
            version, state = (row.lifecycle_version, row.status) if row is not None else (None, None)
            wrong += [(key, said) for said in model.broken_rules_of_history(history, version, state)]
        runs = {run["id"]: run for run in Run.objects.values()}
        for number, run in runs.items():
            wrong += [(number, said) for said in model.broken_rules_of_run(run)]
            if number in self.runs:
                by_operator = number in self.by_operator
                found = model.broken_rules_of_change(self.runs[number], run, by_operator=by_operator)
                wrong += [(number, said) for said in found]
            wrong += [(number, said) for said in self.broken_rules_of_starts(run)]
            if self.ticked and run["status"] == "running" and run["lease_until"] < self.now:
                wrong.append((number, "running past its lease, although a tick has passed"))
        wrong += [(number, "is gone") for number in self.runs.keys() - runs.keys()]
        wrong += self.broken_rules_of_follow_ups(entries, runs)
        self.runs, self.by_operator, self.ticked = runs, set(), False
        assert wrong == []

    def broken_rules_of_starts(self, run: dict[str, Any]) -> list[str]:
        number, excused = run["id"], self.excused[run["id"]]
        starts = {start: often for (run_id, start), often in self.starts.items() if run_id == number}
        found = [f"start {start} happened {often} times" for start, often in starts.items() if often > 1 + excused]
        charged = run["attempts"] + run["crashes"] + (run["status"] == "running") + excused
        if sum(starts.values()) > charged:
            found.append(f"{sum(starts.values())} starts, {charged} charged")
        return found

    @staticmethod
    def broken_rules_of_follow_ups(entries: dict[Any, list[Any]], runs: dict[int, Any]) -> list[tuple[Any, str]]:
        """What follows from a run follows once, from its outcome, in its stay."""
        found: list[tuple[Any, str]] = []
        for key, history in entries.items():
            for entry in history:
                if entry.request_id is None or not entry.request_id.startswith("$run:"):
                    if entry.transition in model.PARCEL_BY_ITSELF:
                        found.append((key, f"{entry.transition} follows from nothing"))
                    continue
                _, number, outcome = entry.request_id.split(":")
                run = runs[int(number)]
                if model.FOLLOW_UPS[run["effect"], outcome] != entry.transition:
                    found.append((key, f"{entry.transition} after {outcome} of {run['effect']}"))
                if run["stay_version"] + 1 != entry.version:
                    found.append((key, f"{entry.transition} of a stay that was over"))
        return found

    # In the end -----------------------------------------------------------------------------------

    def teardown(self) -> None:
        """Left alone, everything comes to an end: no run is stuck, no follow-up waits, no parcel is stranded."""
        unfinished = Run.objects.filter(status__in=["queued", "running"], reminder="")
        waiting = Run.objects.filter(follow_up="pending")
        try:
            self.guarded, Machine.how = False, "succeeds"
            for _ in range(12):
                tick(force=True)
                drain(seconds=600, runs=200)
                self.now += dt.timedelta(hours=1)
                if not unfinished.exists() and not waiting.exists():
                    break
            self.everything_is_in_order()
            assert list(unfinished) == []
            assert list(waiting) == []
            for parcel in Parcel.objects.filter(status="labelling"):
                run = Run.objects.get(record_id=str(parcel.pk), stay_version=parcel.lifecycle_version)
                assert run.status == "cancelled" or run.follow_up == "abandoned", "stranded"
            target(float(len(self.runs)), label="runs")
        finally:
            self.stack.close()


@pytest.mark.django_db(transaction=True)
@pytest.mark.timeout(MINUTES * 60)
def test_whatever_happens_in_whatever_order_nothing_is_lost_doubled_or_stranded() -> None:
    run_state_machine_as_test(Machine, settings=profile(examples=20, steps=50))
