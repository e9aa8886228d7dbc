"""Answers of admission webhooks: the cases of upstream's ``admissionreview_test.go``."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from podling.api.meta_v1 import Status
from podling.apiserver.admission.webhook_reviews import denial, verdict
from podling.apiserver.backends.webhook_calls import WebhookFailed

V1, V1BETA1 = "admission.k8s.io/v1", "admission.k8s.io/v1beta1"
OPERATIONS = [{"op": "add", "path": "/foo", "value": "bar"}]
PATCH = base64.b64encode(json.dumps(OPERATIONS).encode()).decode()
INVALID = "received invalid webhook response: "


def answer(*, api_version: str = V1, kind: str = "AdmissionReview", **response: Any) -> bytes:
    return json.dumps({"apiVersion": api_version, "kind": kind, "response": response}).encode()


@pytest.mark.parametrize("mutating", [True, False])
@pytest.mark.parametrize("allowed", [True, False])
def test_answer_without_patch_is_a_decision(mutating: bool, allowed: bool) -> None:
    found = verdict(answer(uid="1", allowed=allowed), "1", V1, mutating=mutating)
    assert (found.allowed, found.patch) == (allowed, [])


def test_patch_of_a_mutating_webhook_is_decoded() -> None:
    given = answer(uid="1", allowed=True, patch=PATCH, patchType="JSONPatch")
    assert verdict(given, "1", V1, mutating=True).patch == OPERATIONS


def test_warnings_annotations_and_status_are_read() -> None:
    status = {"code": 418, "message": "no", "details": None}
    given = answer(uid="1", allowed=False, warnings=["w"], auditAnnotations={"a": "b"}, status=status)
    found = verdict(given, "1", V1, mutating=False)
    assert (found.warnings, found.annotations) == (("w",), {"a": "b"})
    assert found.status is not None
    assert (found.status.code, found.status.message) == (418, "no")


@pytest.mark.parametrize(
    ("given", "mutating", "why"),
    [
        (b'{"apiVersion": "admission.k8s.io/v1"}', False, f"{INVALID}webhook response was absent"),
        (answer(uid="2"), False, f'{INVALID}expected response.uid="1", got "2"'),
        (answer(), False, f'{INVALID}expected response.uid="1", got ""'),
        (
            answer(uid="1", kind="AdmissionReview2"),
            False,
            f"{INVALID}expected webhook response of {V1}, Kind=AdmissionReview, got {V1}, "
            "Kind=AdmissionReview2",
        ),
        (
            answer(uid="1", patch=PATCH),
            False,
            f"{INVALID}validating webhook may not return response.patch",
        ),
        (
            answer(uid="1", patchType="JSONPatch"),
            False,
            f"{INVALID}validating webhook may not return response.patchType",
        ),
        (
            answer(uid="1", patch=PATCH),
            True,
            f"{INVALID}webhook returned response.patch but not response.patchType",
        ),
        (
            answer(uid="1", patchType="JSONPatch"),
            True,
            f"{INVALID}webhook returned response.patchType but not response.patch",
        ),
        (
            answer(uid="1", patch=PATCH, patchType=""),
            True,
            f'{INVALID}webhook returned invalid response.patchType of ""',
        ),
        (answer(uid="1", patch=PATCH, patchType="FooPatch"), True, 'unsupported patch type "FooPatch"'),
        (
            answer(uid="1", api_version=V1BETA1),
            True,
            "failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): "
            "unknown conversion",
        ),
    ],
)
def test_malformed_v1_answer_fails_the_call(given: bytes, mutating: bool, why: str) -> None:
    with pytest.raises(WebhookFailed) as error:
        verdict(given, "1", V1, mutating=mutating)
    assert str(error.value) == why


@pytest.mark.parametrize("more", [{}, {"uid": "2"}, {"patchType": ""}, {"patchType": "FooPatch"}])
def test_v1beta1_answer_needs_neither_uid_nor_patch_type(more: dict[str, Any]) -> None:
    given = answer(api_version=V1BETA1, allowed=True, patch=PATCH, **more)
    assert verdict(given, "1", V1BETA1, mutating=True).patch == OPERATIONS
    assert verdict(given, "1", V1BETA1, mutating=False).patch == [], "a validating webhook changes nothing"


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (None, 400, 'admission webhook "w" denied the request without explanation'),
        (Status(message="why"), 400, 'admission webhook "w" denied the request: why'),
        (Status(reason="Gone"), 400, 'admission webhook "w" denied the request: Gone'),
        (Status(message="why", code=200), 400, 'admission webhook "w" denied the request: why'),
        (Status(message="why", code=429), 429, 'admission webhook "w" denied the request: why'),
    ],
)
def test_denial_repeats_the_webhook_with_an_error_code(
    status: Status | None, code: int, message: str
) -> None:
    error = denial("w", status)
    assert (error.code, str(error)) == (code, message)
