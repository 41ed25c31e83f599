"""Every error of the library, as HTTP answers it."""

from __future__ import annotations

import pytest
from rest_framework import exceptions as drf
from rest_framework.test import APIRequestFactory
from rest_framework.views import APIView

from lifecycle import exceptions
from lifecycle.refusals import InputProblem, Refusal
from lifecycle.rest import exception_handler
from lifecycle.rest.errors import body_of_other, status_of

TABLE = {
    exceptions.InvalidDefinition: None,
    exceptions.TransactionBroken: None,
    exceptions.NestedTooDeep: None,
    exceptions.InvalidRoute: None,
    exceptions.InvalidSet: None,
    exceptions.InvalidSettings: None,
    exceptions.UnsavedEdits: None,
    exceptions.LeaseLost: None,
    exceptions.InvalidInput: 400,
    exceptions.InvalidRequestId: 400,
    exceptions.InvalidPayload: 400,
    exceptions.UnknownState: 400,
    exceptions.StateWriteRefused: 400,
    exceptions.NotAnInitialState: 400,
    exceptions.PermissionRefused: 403,
    exceptions.UnknownLifecycle: 404,
    exceptions.UnknownTransition: 404,
    exceptions.RecordNotFound: 404,
    exceptions.Refused: 409,
    exceptions.WrongState: 409,
    exceptions.StayEnded: 409,
    exceptions.GuardRefused: 409,
    exceptions.Conflict: 409,
    exceptions.HistoryAhead: 409,
    exceptions.UnknownEffect: 409,
    exceptions.RunSettled: 409,
    exceptions.RunBusy: 409,
    exceptions.NothingToContinue: 409,
    exceptions.UnknownFlow: 404,
    exceptions.FlowIdInUse: 409,
    exceptions.FlowEnded: 409,
    exceptions.NobodyWaits: 409,
    exceptions.RequestReused: 422,
}


def test_every_error_has_its_status_or_is_a_bug() -> None:
    known = {
        cls
        for cls in vars(exceptions).values()
        if isinstance(cls, type) and issubclass(cls, exceptions.LifecycleError) and cls is not exceptions.LifecycleError
    }
    assert known == set(TABLE)
    for cls, status in TABLE.items():
        assert status_of(cls("No.")) == status, cls


class _Refusing(APIView):
    """A view of a project's own."""

    error: Exception | None = None

    def get_exception_handler(self):  # type: ignore[no-untyped-def]
        return exception_handler

    def get(self, request):  # type: ignore[no-untyped-def]
        assert self.error is not None
        raise self.error


def answer(error: Exception):  # type: ignore[no-untyped-def]
    return _Refusing.as_view(error=error)(APIRequestFactory().get("/"))


def test_refusals_in_a_projects_own_view_are_answered_right() -> None:
    """django-fsm-2 PR 98: a handler for all of DRF makes refusals 4xx, not 500."""
    refusal = Refusal(
        source="guard", kind="precondition", code="no_address", message="Add an address.", params={"n": 1}
    )
    response = answer(exceptions.GuardRefused("Add an address.", code="no_address", refusals=[refusal]))
    assert response.status_code == 409
    assert response.data == {
        "detail": "Add an address.",
        "code": "no_address",
        "refusals": [
            {
                "source": "guard",
                "kind": "precondition",
                "code": "no_address",
                "message": "Add an address.",
                "params": {"n": 1},
            }
        ],
        "problems": [],
    }


def test_input_problems_are_told_per_field() -> None:
    problem = InputProblem(field="carrier", code="required", message="This field is required.")
    response = answer(exceptions.InvalidInput("carrier: This field is required.", problems=[problem]))
    assert response.status_code == 400
    assert response.data["problems"] == [{"field": "carrier", "code": "required", "message": "This field is required."}]


def test_a_bug_is_not_dressed_up_as_an_answer() -> None:
    with pytest.raises(exceptions.InvalidRoute):
        answer(exceptions.InvalidRoute("The route returned 'nowhere'."))
    with pytest.raises(ZeroDivisionError):
        answer(ZeroDivisionError())


def test_errors_of_the_framework_are_answered_as_ever() -> None:
    response = answer(drf.Throttled(wait=3))
    assert response.status_code == 429
    assert response["Retry-After"] == "3"


def test_a_serializers_errors_become_flat_problems() -> None:
    error = drf.ValidationError({"items": [{}, {"name": ["Too long."]}], "non_field_errors": ["No."]})
    assert body_of_other(error)["problems"] == [
        {"field": "items.1.name", "code": "invalid", "message": "Too long."},
        {"field": "", "code": "invalid", "message": "No."},
    ]
