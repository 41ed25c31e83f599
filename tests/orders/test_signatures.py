"""Which deliveries are believed."""

from __future__ import annotations

import pytest

from orders.sandbox import signatures as provider
from orders.webhook import signatures

pytestmark = pytest.mark.once

# The example of the Standard Webhooks specification.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = b'{"test": 2432232314}'
MOMENT = 1614265330
HEADERS = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": str(MOMENT),
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}
OTHER = "whsec_b3RoZXI="


def test_the_example_of_the_specification_is_believed_and_made() -> None:
    assert signatures.verify(HEADERS, BODY, [SECRET], MOMENT) == HEADERS["webhook-id"]
    assert provider.headers(HEADERS["webhook-id"], MOMENT, BODY, [SECRET]) == HEADERS


def test_while_secrets_rotate_either_is_believed_and_either_signature() -> None:
    both = provider.headers("evt_1", MOMENT, BODY, [OTHER, SECRET])
    assert signatures.verify(both, BODY, [SECRET], MOMENT) == "evt_1"
    assert signatures.verify(HEADERS, BODY, [OTHER, SECRET], MOMENT) == HEADERS["webhook-id"]


@pytest.mark.parametrize("seconds", [-301, 301])
def test_five_minutes_are_tolerated_and_not_a_second_more(seconds: int) -> None:
    signatures.verify(HEADERS, BODY, [SECRET], MOMENT + seconds - (1 if seconds > 0 else -1))
    with pytest.raises(signatures.InvalidSignature):
        signatures.verify(HEADERS, BODY, [SECRET], MOMENT + seconds)


@pytest.mark.parametrize(
    "changed",
    [
        {"webhook-id": "msg_other"},
        {"webhook-id": ""},
        {"webhook-timestamp": str(MOMENT + 1)},
        {"webhook-timestamp": ""},
        {"webhook-timestamp": "soon"},
        {"webhook-timestamp": "١٦١٤٢٦٥٣٣٠"},
        {"webhook-timestamp": "9" * 400},
        {"webhook-signature": ""},
        {"webhook-signature": "v1,"},
        {"webhook-signature": "v1,not base64!"},
        {"webhook-signature": HEADERS["webhook-signature"].replace("v1,", "v2,")},
        {"webhook-signature": HEADERS["webhook-signature"].lower()},
    ],
    ids=str,
)
def test_anything_that_does_not_fit_is_refused(changed: dict[str, str]) -> None:
    with pytest.raises(signatures.InvalidSignature):
        signatures.verify({**HEADERS, **changed}, BODY, [SECRET], MOMENT)


def test_another_body_or_another_secret_is_refused() -> None:
    with pytest.raises(signatures.InvalidSignature):
        signatures.verify(HEADERS, BODY + b" ", [SECRET], MOMENT)
    with pytest.raises(signatures.InvalidSignature):
        signatures.verify(HEADERS, BODY, [OTHER], MOMENT)
    with pytest.raises(signatures.InvalidSignature):
        signatures.verify(HEADERS, BODY, [], MOMENT)
