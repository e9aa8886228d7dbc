"""What is said to an admission webhook and what it answers: ``AdmissionReview``. Pure.

Upstream: ``apiserver/pkg/admission/plugin/webhook/request`` and ``.../errors``.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import structs

from podling.api.meta_v1 import Status
from podling.apiserver.admission.base import Request
from podling.apiserver.admission.webhook_matching import attributes, plain_of
from podling.apiserver.webhook_calls import WebhookFailed
from podling.machinery import errors
from podling.machinery.errors import ApiError

REVIEW_VERSIONS = ("v1", "v1beta1")
JSON_PATCH = "JSONPatch"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a webhook decided."""

    allowed: bool
    patch: list[dict[str, Any]]
    warnings: tuple[str, ...] = ()
    status: Status | None = None


def review(request: Request, uid: str, versions: tuple[str, ...]) -> tuple[str, bytes]:
    """The version of a review that the webhook understands, and the review. Raises ``WebhookFailed``."""
    version = next((each for each in versions if each in REVIEW_VERSIONS), "")
    if not version:
        shown = " ".join(versions)
        raise WebhookFailed(
            f"webhook does not accept known AdmissionReview versions (v1, v1beta1), got [{shown}]"
        )
    asked = attributes(request, uid)
    asked |= {"object": plain_of(request.object, request), "oldObject": plain_of(request.old, request)}
    api_version = f"admission.k8s.io/{version}"
    plain = {"kind": "AdmissionReview", "apiVersion": api_version, "request": asked}
    return api_version, msgspec.json.encode(plain)


def verdict(answer: bytes, uid: str, api_version: str, *, mutating: bool) -> Verdict:
    """What a webhook's answer means. Raises ``WebhookFailed`` for one that is none."""
    try:
        plain = msgspec.json.decode(answer)
    except msgspec.DecodeError as error:
        raise WebhookFailed(f"received invalid webhook response: {error}") from None
    got = (plain.get("apiVersion"), plain.get("kind")) if isinstance(plain, dict) else (None, None)
    if api_version.endswith("/v1") and got != (api_version, "AdmissionReview"):
        group_kind = f"{got[0]}, Kind={got[1]}"
        text = f"expected webhook response of {api_version}, Kind=AdmissionReview, got {group_kind}"
        raise WebhookFailed(f"received invalid webhook response: {text}")
    response = plain.get("response") if isinstance(plain, dict) else None
    if not isinstance(response, dict):
        raise WebhookFailed("webhook response was absent")
    if response.get("uid", uid) != uid:
        text = f"expected response.uid={json.dumps(uid)}, got {json.dumps(response.get('uid'))}"
        raise WebhookFailed(f"received invalid webhook response: {text}")
    patch = _patch(response, v1=api_version.endswith("/v1")) if mutating else []
    status = response.get("status")
    return Verdict(
        bool(response.get("allowed")),
        patch,
        tuple(map(str, response.get("warnings") or ())),
        msgspec.convert(status, Status, strict=False) if isinstance(status, dict) else None,
    )


def _patch(response: dict[str, Any], *, v1: bool) -> list[dict[str, Any]]:
    given, kind = response.get("patch"), response.get("patchType")
    if not given:
        return []
    if kind is None and v1:
        text = "webhook returned response.patch but not response.patchType"
        raise WebhookFailed(f"received invalid webhook response: {text}")
    if kind not in (None, JSON_PATCH):
        text = f"webhook returned invalid response.patchType of {json.dumps(kind)}"
        raise WebhookFailed(f"received invalid webhook response: {text}")
    try:
        found: list[dict[str, Any]] = msgspec.json.decode(base64.b64decode(given))
    except (binascii.Error, msgspec.DecodeError, ValueError) as error:
        raise WebhookFailed(f"received undecodable patch in webhook response: {error}") from None
    return found


def denial(name: str, status: Status | None) -> ApiError:
    """The error of a refusal, in the webhook's own words where it has some."""
    given = status or Status()
    who, why = f'admission webhook "{name}" denied the request', given.message or given.reason
    return ApiError(
        structs.replace(
            given,
            status="Failure",
            code=given.code if given.code and given.code >= 400 else 400,
            message=f"{who}: {why}" if why else f"{who} without explanation",
        )
    )


def call_failed(name: str, why: object) -> ApiError:
    """The error when a webhook that must be asked cannot be."""
    return errors.internal(f'failed calling webhook "{name}": {why}')


def no_dry_run(name: str) -> ApiError:
    return errors.bad_request(f'admission webhook "{name}" does not support dry run')
