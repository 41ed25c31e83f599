"""OpenTelemetry: spans for firings and effects, in one trace from the request to the work it enqueued.

Needs ``opentelemetry-api`` (``pip install django-record-lifecycle[opentelemetry]``); the SDK and its exporter are the
project's choice. Call `instrument` once per process, from ``AppConfig.ready``, say::

    from lifecycle.contrib import opentelemetry

    opentelemetry.instrument()

The present trace is written into the run (``Run.trace_context``) in the transaction that enqueues it, by the
propagators the project has configured (W3C by default), and is taken up again by whichever worker does the run: a retry
the next day is still part of the trace of the request that caused it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import context, propagate, trace
from opentelemetry.trace import SpanKind, Status, StatusCode

from lifecycle import tracing
from lifecycle.exceptions import Refused

NAME = "lifecycle"


def instrument(tracer_provider: trace.TracerProvider | None = None) -> None:
    """From now on this process makes spans.

    Args:
        tracer_provider: by default the one the project has set, looked up when a span begins.
    """
    tracing.tracer = OpenTelemetryTracer(tracer_provider)


def uninstrument() -> None:
    """From now on it makes none."""
    tracing.tracer = None


class OpenTelemetryTracer:
    """See `lifecycle.tracing.Tracer`."""

    def __init__(self, tracer_provider: trace.TracerProvider | None = None) -> None:
        self._tracer = trace.get_tracer(NAME, tracer_provider=tracer_provider)

    def carried(self) -> Mapping[str, str] | None:
        carrier: dict[str, str] = {}
        propagate.inject(carrier)
        return carrier or None

    @contextmanager
    def transition(self, lifecycle: str, transition: str, record_id: str) -> Iterator[None]:
        attributes = {f"{NAME}.name": lifecycle, f"{NAME}.transition": transition}
        if record_id:
            attributes[f"{NAME}.record_id"] = record_id
        with self._tracer.start_as_current_span(
            f"fire {lifecycle}.{transition}",
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield
            except Refused as error:
                # An answer like any other; who fires decides whether it is a fault.
                span.set_attribute(f"{NAME}.refused", error.code)
                raise
            except Exception as error:
                _fail(span, error)
                raise

    @contextmanager
    def effect(self, held: Any) -> Iterator[None]:
        with self._tracer.start_as_current_span(
            f"run {held.lifecycle}.{held.effect}",
            context=_extracted(held.trace_context),
            kind=SpanKind.CONSUMER,
            attributes={
                f"{NAME}.name": held.lifecycle,
                f"{NAME}.effect": held.effect,
                f"{NAME}.record_id": held.record_id,
                f"{NAME}.run_id": held.id,
                f"{NAME}.start": held.start,
                f"{NAME}.queue": held.queue,
            },
        ):
            yield

    @contextmanager
    def resumed(self, carried: Mapping[str, str] | None) -> Iterator[None]:
        token = context.attach(_extracted(carried))
        try:
            yield
        finally:
            context.detach(token)

    def failed(self, error: BaseException) -> None:
        _fail(trace.get_current_span(), error)


def _extracted(carried: Mapping[str, str] | None) -> context.Context:
    # From an empty context: what the worker was doing before has nothing to do with this run.
    return propagate.extract(dict(carried or {}), context=context.Context())


def _fail(span: trace.Span, error: BaseException) -> None:
    span.set_status(Status(StatusCode.ERROR, type(error).__name__))
    # Only the type: an error's text may hold what the settings' REDACT keeps out of the rows.
    span.set_attribute("error.type", type(error).__qualname__)
