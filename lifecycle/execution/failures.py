"""Failure: why a start did not succeed, put into words that any database stores, and whether it is tried again."""

from __future__ import annotations

import datetime as dt
import logging
import traceback
from dataclasses import dataclass
from typing import Any

from lifecycle import conf, payloads
from lifecycle.definition.outcomes import Fail, Permanent, RetryAt
from lifecycle.exceptions import InvalidPayload
from lifecycle.execution import control
from lifecycle.execution.isolation import TransactionLeftOpen
from lifecycle.execution.kinds import Options
from lifecycle.execution.limits import FellSilent, TimedOut
from lifecycle.models import RunAttempt
from lifecycle.store.claims import ClaimedRun
from lifecycle.store.outcomes import Failure

log = logging.getLogger("lifecycle.execution")

TEXT_LIMIT = 2_000
TRACEBACK_LIMIT = 20_000
_FRAMES = 50
_CHAIN = 5


class InvalidResult(Exception):
    """What the effect returned cannot be stored."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What becomes of a failed start: tried again ``after`` so long or ``at`` a moment, if that is not later than
    ``until``; neither: failed for good.
    """

    failure: Failure
    again_after: dt.timedelta | None = None
    again_at: dt.datetime | None = None
    until: dt.datetime | None = None

    def due(self, now: dt.datetime) -> dt.datetime | None:
        """When the next attempt is due, or None."""
        due = None
        if self.again_at is not None:
            due = max(self.again_at, now)
        elif self.again_after is not None:
            due = now + self.again_after
        return None if due is not None and self.until is not None and due > self.until else due


def judge(error: BaseException, held: ClaimedRun, options: Options) -> Verdict:
    """Decides about a failed start. Never raises, whatever the error is."""
    failure = _describe(error, options)
    failed = held.attempts + 1
    if (held.max_attempts is not None and failed >= held.max_attempts) or not _may_be_retried(error, options):
        return Verdict(failure=failure)
    until = _until(held, options)
    wanted = error.when if isinstance(error, RetryAt) else control.retry_at(error)
    if wanted is not None:
        moment = _moment(wanted)
        if isinstance(moment, dt.datetime):
            return Verdict(failure=failure, again_at=moment, until=until)
        if moment is not None:
            return Verdict(failure=failure, again_after=moment, until=until)
    return Verdict(failure=failure, again_after=options.retry.delay(max(failed - held.retry_base, 1)), until=until)


def _until(held: ClaimedRun, options: Options) -> dt.datetime | None:
    """The last moment at which another attempt may begin."""
    try:
        first = held.first_started_at or held.started_at
        return None if options.retry.total is None else first + options.retry.total
    except OverflowError:  # beyond the calendar: no limit anybody will see
        return None


def checked_result(value: Any) -> Any:
    """The effect's answer as JSON data.

    Raises:
        InvalidResult: it is no JSON, or too large.
    """
    try:
        return payloads.jsonable(value, what="result", limit=conf.options().payload_limit)
    except InvalidPayload as error:
        raise InvalidResult(str(error)) from None
    except Exception as error:  # noqa: BLE001 a mapping or lazy string of the effect's own may fail in any way
        raise InvalidResult(f"The result cannot be read: {_safe_text(error)}") from None


def _may_be_retried(error: BaseException, options: Options) -> bool:
    if isinstance(error, Fail):
        return bool(error.retry)
    if isinstance(error, (Permanent, InvalidResult)) or control.complaint(error) is not None:
        return False  # an effect that returned is not called again, whatever it returned
    if isinstance(error, TransactionLeftOpen):
        return options.atomic  # nothing stands of that one; another may have called somebody
    if isinstance(error, RetryAt) or control.retry_at(error) is not None:
        return True
    try:
        return options.retry.wants(TimeoutError() if isinstance(error, TimedOut) else error)
    except Exception:
        log.exception("'%s': its Retry could not be asked about %s.", options.name, type(error).__name__)
        return False


def _describe(error: BaseException, options: Options) -> Failure:
    kind, code, details, ending = "error", "", None, RunAttempt.Ending.FAILED
    text = _safe_text(error)
    if isinstance(error, Fail):
        kind, code = "failed", _safe_code(error.code)
        text, details = _safe_text(_said(error)), _safe_details(error.details, options)
    elif isinstance(error, Permanent):
        kind, code, text = "permanent", _safe_code(error.code), _safe_text(_said(error))
    elif isinstance(error, FellSilent):
        kind, ending = "heartbeat_timeout", RunAttempt.Ending.TIMED_OUT
        text = f"No heartbeat for {_seconds(options.heartbeat_timeout)}."
    elif isinstance(error, TimedOut):
        kind, ending = "timeout", RunAttempt.Ending.TIMED_OUT
        text = f"Timed out after {_seconds(options.timeout)}."
    elif (said := control.complaint(error)) is not None:
        text = said
    elif isinstance(error, InvalidResult):
        kind, text = "invalid_result", _safe_text(_said(error))
    return Failure(kind=kind, code=code, error=text, details=details, ending=ending, traceback=_safe_traceback(error))


def _seconds(limit: dt.timedelta | None) -> str:
    return f"{limit.total_seconds():g} s" if limit is not None else "too long"


def _said(error: BaseException) -> str | BaseException:
    try:
        return str(error) or error
    except Exception:  # noqa: BLE001 a broken __str__ must not hide the failure
        return error


def _safe_text(error: BaseException | str, limit: int = TEXT_LIMIT) -> str:
    try:
        return payloads.error_text(error, limit=limit, secrets=conf.options().redact)
    except BaseException as broken:  # noqa: BLE001 a broken __str__ must not hide the failure
        if isinstance(broken, (KeyboardInterrupt, SystemExit)) and broken is not error:
            return f"{type(error).__name__}: its text ends the process"
        return f"{type(error).__name__}: its text cannot be read"


def _safe_code(code: Any) -> str:
    return _safe_text(code if isinstance(code, str) else repr(type(code)), limit=100)


def _safe_details(details: Any, options: Options) -> Any:
    if details is None:
        return None
    try:
        return payloads.jsonable(details, what="details", limit=conf.options().payload_limit)
    except Exception as error:  # noqa: BLE001 the failure is recorded whatever its details are
        log.warning("'%s': the details of its Fail are left out: %s", options.name, _safe_text(error))
        return {}


def _safe_traceback(error: BaseException) -> str:
    """The frames of the error and of those behind it. Only frames are formatted by the standard library; the texts go
    through the same sieve as the error's own.
    """
    parts: list[str] = []
    current: BaseException | None = error
    seen: set[int] = set()
    try:
        while current is not None and id(current) not in seen and len(parts) < _CHAIN:
            seen.add(id(current))
            frames = "".join(traceback.format_tb(current.__traceback__, limit=-_FRAMES))
            parts.append(f"{frames}{_safe_text(current)}\n")
            following = current.__cause__
            if following is None and not current.__suppress_context__:
                following = current.__context__
            current = following
    except Exception:
        log.warning("A traceback could not be formatted.", exc_info=True)
    return _safe_text("\n".join(reversed(parts)), limit=TRACEBACK_LIMIT)


def _moment(when: Any) -> dt.datetime | dt.timedelta | None:
    """What RetryAt was given, as an aware moment or a duration; None (the ordinary pause) when it is neither."""
    if isinstance(when, dt.timedelta):
        return max(when, dt.timedelta(0))
    if isinstance(when, dt.datetime):
        try:
            return when.astimezone(dt.UTC)  # a naive one is this machine's local time, as Python reads it
        except (OverflowError, ValueError, OSError):
            return None
    log.warning("RetryAt: expected an aware datetime or a timedelta, got %s; the ordinary pause is made.", type(when))
    return None
