"""Errors: codes, reasons and messages are those that clients of Kubernetes know."""

from __future__ import annotations

import pytest

from podling.machinery import errors, fields
from podling.machinery.errors import ApiError
from podling.machinery.fields import Path

MESSAGES = [
    (errors.not_found("pods", "", "web"), 404, "NotFound", 'pods "web" not found'),
    (
        errors.already_exists("deployments", "apps", "web"),
        409,
        "AlreadyExists",
        'deployments.apps "web" already exists',
    ),
    (
        errors.conflict("pods", "", "web"),
        409,
        "Conflict",
        'Operation cannot be fulfilled on pods "web": the object has been modified; '
        "please apply your changes to the latest version and try again",
    ),
    (errors.bad_request("no"), 400, "BadRequest", "no"),
    (errors.unauthorized(), 401, "Unauthorized", "Unauthorized"),
    (
        errors.forbidden("pods", "", "web", "no"),
        403,
        "Forbidden",
        'pods "web" is forbidden: no',
    ),
    (errors.forbidden("pods", "", "", "no"), 403, "Forbidden", "pods is forbidden: no"),
    (
        errors.method_not_allowed("bindings", "", "get"),
        405,
        "MethodNotAllowed",
        'get is not supported on resources of kind "bindings"',
    ),
    (
        errors.not_acceptable(["a/b", "c/d"]),
        406,
        "NotAcceptable",
        "only the following media types are accepted: a/b, c/d",
    ),
    (errors.too_large("big"), 413, "RequestEntityTooLarge", "Request entity too large: big"),
    (errors.expired("old"), 410, "Expired", "old"),
    (errors.internal("x"), 500, "InternalError", "Internal error occurred: x"),
    (errors.service_unavailable("x"), 503, "ServiceUnavailable", "x"),
    (errors.gateway_timeout("x"), 504, "Timeout", "Timeout: x"),
]


@pytest.mark.parametrize(("error", "code", "reason", "message"), MESSAGES)
def test_errors_have_code_reason_and_message(error: ApiError, code: int, reason: str, message: str) -> None:
    assert (error.code, error.reason, str(error)) == (code, reason, message)
    assert error.status.status == "Failure"


def test_an_invalid_object_has_a_cause_for_each_field() -> None:
    path = Path("spec").child("containers").index(0)
    found = [fields.required(path.child("name")), fields.invalid(path.child("image"), 5, "must be a string")]
    error = errors.invalid("Pod", "", "web", found)
    assert (error.code, error.reason) == (422, "Invalid")
    assert str(error) == (
        'Pod "web" is invalid: [spec.containers[0].name: Required value, '
        "spec.containers[0].image: Invalid value: 5: must be a string]"
    )
    assert error.status.details
    assert [(cause.reason, cause.field_, cause.message) for cause in error.status.details.causes] == [
        ("FieldValueRequired", "spec.containers[0].name", "Required value"),
        ("FieldValueInvalid", "spec.containers[0].image", "Invalid value: 5: must be a string"),
    ]


def test_repeated_field_error_is_reported_once() -> None:
    wrong = fields.required(Path("a"))
    assert str(errors.invalid("Scale", "autoscaling", "x", [wrong, wrong])) == (
        'Scale.autoscaling "x" is invalid: a: Required value'
    )


def test_error_predicates_recognise_reasons() -> None:
    assert errors.is_not_found(errors.not_found("pods", "", "a"))
    assert errors.is_conflict(errors.conflict("pods", "", "a"))
    assert not errors.is_conflict(errors.already_exists("pods", "", "a"))
    assert errors.is_expired(errors.expired("x"))
    assert not errors.is_not_found(ValueError("not found"))
    assert errors.gateway_timeout("x", 7).retry_after == 7
    assert errors.bad_request("x").retry_after is None
