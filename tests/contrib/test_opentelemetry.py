"""Spans: from the request that fires to the effect that is pending, in one trace; nothing without being asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lifecycle import SYSTEM, tracing
from lifecycle.exceptions import WrongState
from lifecycle.execution.drain import drain
from lifecycle.models import Run
from lifecycle.runtime import create, fire, fire_many, register_guard
from lifecycle.sweeps.tick import tick
from tests.support.models import Parcel

sdk = pytest.importorskip("opentelemetry.sdk.trace")
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: E402
from opentelemetry.trace import SpanKind, StatusCode  # noqa: E402

from lifecycle.contrib import opentelemetry  # noqa: E402

pytestmark = pytest.mark.django_db


class Traced:
    """The project's tracing, with the spans it has exported."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = sdk.TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    def named(self, name: str) -> Any:
        [span] = [span for span in self.exporter.get_finished_spans() if span.name == name]
        return span

    def names(self) -> list[str]:
        return [span.name for span in self.exporter.get_finished_spans()]

    def request(self) -> Any:
        return self.provider.get_tracer("web").start_as_current_span("request")


@pytest.fixture
def traced() -> Iterator[Traced]:
    made = Traced()
    opentelemetry.instrument(made.provider)
    yield made
    opentelemetry.uninstrument()


def test_the_trace_goes_on_from_the_request_to_the_effect_and_what_follows_from_it(traced: Traced) -> None:
    parcel = create(Parcel(), actor=SYSTEM)
    with traced.request():
        fire(parcel, "send", actor=SYSTEM)
    drain()

    request, sent = traced.named("request"), traced.named("fire parcels.send")
    ran = traced.named("run parcels.print_label")
    assert sent.parent.span_id == request.context.span_id
    assert ran.parent.span_id == sent.context.span_id
    assert ran.context.trace_id == request.context.trace_id
    assert ran.kind == SpanKind.CONSUMER
    run = Run.objects.get()
    assert dict(ran.attributes) == {
        "lifecycle.name": "parcels",
        "lifecycle.effect": "print_label",
        "lifecycle.record_id": str(parcel.pk),
        "lifecycle.run_id": run.pk,
        "lifecycle.start": 1,
        "lifecycle.queue": "default",
    }
    assert set(run.trace_context) == {"traceparent"}


def test_a_follow_up_that_the_tick_fires_later_belongs_to_the_trace_too(traced: Traced) -> None:
    seen: list[Any] = []
    answers: list[Any] = ["Not yet."]

    def ask(ctx: Any) -> Any:
        seen.append(tracing.carried())
        return answers[0]

    unregister = register_guard("parcels", "labelled", ask)
    try:
        with traced.request() as request:
            fire(create(Parcel(), actor=SYSTEM), "send", actor=SYSTEM)
        drain()
        answers[0] = True
        Run.objects.update(follow_up_due_at=Run.objects.get().created_at)
        tick(force=True)
    finally:
        unregister()

    trace_id = format(request.get_span_context().trace_id, "032x")
    assert Parcel.objects.get().status == "sent"
    assert len(seen) > 1
    assert all(trace_id in carried["traceparent"] for carried in seen)


def test_a_failed_start_is_an_error_without_the_errors_text_and_each_retry_a_span(
    traced: Traced, behave: dict[str, Any]
) -> None:
    def fail(ctx: Any) -> Any:
        raise ConnectionError("https://user:hunter2@bank.example")

    behave["refund_postage"] = fail
    fire(create(Parcel(), actor=SYSTEM), "take_back", actor=SYSTEM)
    drain()

    span = traced.named("run parcels.refund_postage")
    assert span.status.status_code == StatusCode.ERROR
    assert span.attributes["error.type"] == "ConnectionError"
    assert "hunter2" not in span.to_json()


def test_a_refusal_is_no_error(traced: Traced) -> None:
    with pytest.raises(WrongState):
        fire(create(Parcel(), actor=SYSTEM), "scan", actor=SYSTEM)

    span = traced.named("fire parcels.scan")
    assert span.status.status_code == StatusCode.UNSET
    assert span.attributes["lifecycle.refused"] == "invalid_state"


def test_a_batch_is_one_span(traced: Traced) -> None:
    fire_many([create(Parcel(), actor=SYSTEM) for _ in range(3)], "send", actor=SYSTEM)
    assert traced.names() == ["fire parcels.send"]
    assert Run.objects.filter(trace_context__isnull=False).count() == 3


def test_nothing_is_carried_and_no_statement_is_added_unless_asked_for(django_assert_num_queries: Any) -> None:
    parcel = create(Parcel(), actor=SYSTEM)
    fire(parcel, "send", actor=SYSTEM)
    assert tracing.tracer is None
    assert Run.objects.get().trace_context is None
