"""Request ids: what a caller may use, and the fingerprint of what an id was spent on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.conf import settings
from django.utils.crypto import salted_hmac

from lifecycle import payloads
from lifecycle.actors import Actor
from lifecycle.exceptions import InvalidRequestId, RequestReused
from lifecycle.models import TransitionLog
from lifecycle.refusals import InputProblem

RESERVED = "$"
MAX_LENGTH = 200
_SALT = "lifecycle.runtime.deciding.requests"
_DIGITS = 32


def check(request_id: Any) -> None:
    """Refuses what no caller may use.

    Raises:
        InvalidRequestId: not a string, empty, too long, with a NUL, or starting with ``$`` (the library's own).
    """
    if not isinstance(request_id, str):
        raise _invalid(f"expected a string, got {request_id!r}.")
    if not request_id.strip():
        raise _invalid("it is empty. Leave it out, or send a unique key per request.")
    if request_id.startswith(RESERVED):
        raise _invalid(f"ids that start with '{RESERVED}' are the library's own; got '{request_id[:40]}'.")
    if len(request_id) > MAX_LENGTH:
        raise _invalid(f"at most {MAX_LENGTH} characters, got {len(request_id)}.")
    if (found := payloads.unstorable(request_id)) is not None:
        raise _invalid(f"it holds {found}.")


def fingerprint(transition: str, actor: Actor, input: Mapping[str, Any]) -> str:
    """What a repeat must agree in: the transition, who, and the input."""
    return payloads.digest(transition, actor.kind, actor.id, input)


def fingerprints(transition: str, actor: Actor, input: Mapping[str, Any], stored: Mapping[str, Any]) -> tuple[str, ...]:
    """The same for an input that may hold secrets: the one to keep, then those that were kept under earlier keys.

    Secrets are part of what a repeat must agree in, but nobody who reads the table may try values against it: their
    fingerprint is keyed with ``SECRET_KEY``, and looked for under ``SECRET_KEY_FALLBACKS`` too.

    Args:
        stored: the input as the history keeps it, secrets redacted.
    """
    if input == stored:
        return (fingerprint(transition, actor, stored),)
    text = fingerprint(transition, actor, input)
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return tuple(salted_hmac(_SALT, text, secret=key, algorithm="sha256").hexdigest()[:_DIGITS] for key in keys)


def must_be_repeat(entry: TransitionLog, transition: str, actor: Actor, request_hashes: Collection[str]) -> None:
    """Lets a true repeat pass.

    Raises:
        RequestReused: the id was spent on something else; the sentence says in what it differs.
    """
    differs = None
    if entry.transition != transition:
        differs = f"the transition '{entry.transition}', not '{transition}'"
    elif (entry.actor_kind, entry.actor_id) != (actor.kind, actor.id):
        differs = "another actor"
    elif entry.request_hash not in request_hashes:
        differs = "another input"
    if differs:
        raise RequestReused(
            f"The request id '{entry.request_id}' was already used for {differs}. Use a new id for a new request.",
            lifecycle=entry.lifecycle,
            record_id=entry.record_id,
            transition=transition,
            request_id=entry.request_id,
        )


def of_another_life(entry: TransitionLog) -> RequestReused:
    """The error that an id was spent on an earlier record of the same key, which was deleted."""
    return RequestReused(
        f"The request id '{entry.request_id}' was already used for an earlier record of the key '{entry.record_id}', "
        "which was deleted. Use a new id for a new request.",
        lifecycle=entry.lifecycle,
        record_id=entry.record_id,
        request_id=entry.request_id,
    )


def _invalid(complaint: str) -> InvalidRequestId:
    problem = InputProblem(field="request_id", code="invalid_request_id", message=complaint)
    return InvalidRequestId(f"request_id: {complaint}", problems=[problem])
