"""Refusals that controllers expect."""

from __future__ import annotations

import pytest

from podling.api.meta_v1 import Status, StatusCause, StatusDetails
from podling.controllers.refusals import is_namespace_terminating
from podling.machinery.errors import ApiError

GOING = StatusCause(reason="NamespaceTerminating")
OTHER = StatusCause(reason="FieldValueInvalid")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ApiError(Status(code=403, details=StatusDetails(causes=(OTHER, GOING)))), True),
        (ApiError(Status(code=403, details=StatusDetails(causes=(OTHER,)))), False),
        (ApiError(Status(code=403, reason="Forbidden")), False),
        (ValueError("NamespaceTerminating"), False),
    ],
)
def test_refusal_by_terminating_namespace_is_known_by_its_cause(error: BaseException, expected: bool) -> None:
    assert is_namespace_terminating(error) is expected
