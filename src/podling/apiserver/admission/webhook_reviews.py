"""``AdmissionReview``: the requests to admission webhooks, and the decoding of their answers. Pure.

Upstream: ``apiserver/pkg/admission/plugin/webhook/request`` and ``.../errors``.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct, field, structs

from podling.api.meta_v1 import Status
from podling.apiserver.admission.base import AdmissionRequest
from podling.apiserver.admission.forms import Form
from podling.apiserver.admission.webhook_matching import attributes
from podling.apiserver.backends.webhook_calls import WebhookFailed
from podling.machinery import errors
from podling.machinery.encoding.plain import without_nulls
from podling.machinery.errors import ApiError

REVIEW_VERSIONS = ("v1", "v1beta1")
JSON_PATCH = "JSONPatch"
_KNOWN = ("admission.k8s.io/v1", "admission.k8s.io/v1beta1")


class Verdict(Struct, frozen=True):
    """Decision of a webhook."""

    allowed: bool
    patch: list[dict[str, Any]]
    warnings: tuple[str, ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Audit annotations of the webhook."""
    status: Status | None = None


def review(request: AdmissionRequest, form: Form, uid: str, versions: tuple[str, ...]) -> tuple[str, bytes]:
    """The version of a review that the webhook understands, and the review. Raises ``WebhookFailed``."""
    version = next((each for each in versions if each in REVIEW_VERSIONS), "")
    if not version:
        shown = " ".join(versions)
        raise WebhookFailed(
            "could not create admission objects: "
            f"webhook does not accept known AdmissionReview versions (v1, v1beta1), got [{shown}]"
        )
    asked = {"uid": uid, **attributes(request, form.resource), "object": form.object, "oldObject": form.old}
    api_version = f"admission.k8s.io/{version}"
    plain = {"kind": "AdmissionReview", "apiVersion": api_version, "request": asked}
    return api_version, msgspec.json.encode(plain)


def verdict(answer: bytes, uid: str, api_version: str, *, mutating: bool) -> Verdict:
    """Return the decision in a webhook's answer. Raises ``WebhookFailed`` for a malformed one."""
    plain = _decoded(answer)
    given = plain.get("apiVersion") or api_version
    if given != api_version and given in _KNOWN:
        kinds = (_go_name(given), _go_name(api_version))
        raise WebhookFailed(
            f"failed to call webhook: converting ({kinds[0]}) to ({kinds[1]}): unknown conversion"
        )
    response = plain.get("response")
    if not isinstance(response, dict):
        raise _invalid("webhook response was absent")
    strict = api_version == _KNOWN[0]
    if strict:
        _check_strictly(plain, response, uid, mutating=mutating)
    status = without_nulls(response.get("status"))
    try:
        return Verdict(
            bool(response.get("allowed")),
            _patch(response) if mutating and response.get("patch") else [],
            tuple(map(str, response.get("warnings") or ())),
            {str(key): str(text) for key, text in (response.get("auditAnnotations") or {}).items()},
            msgspec.convert(status, Status, strict=False) if isinstance(status, dict) else None,
        )
    except msgspec.ValidationError as error:
        raise WebhookFailed(f"failed to call webhook: {error}") from None


def _decoded(answer: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(answer, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise WebhookFailed(
            f"failed to call webhook: couldn't get version/kind; json parse error: {error}"
        ) from None


def _go_name(api_version: str) -> str:
    return f"{api_version.rpartition('/')[2]}.AdmissionReview"


def _invalid(why: str) -> WebhookFailed:
    return WebhookFailed(f"received invalid webhook response: {why}")


def _check_strictly(plain: dict[str, Any], response: dict[str, Any], uid: str, *, mutating: bool) -> None:
    """Check the fields that ``v1`` requires in an answer; ``v1beta1`` required none."""
    given = response.get("uid") or ""
    if given != uid:
        raise _invalid(f"expected response.uid={json.dumps(uid)}, got {json.dumps(given)}")
    api_version, kind = plain.get("apiVersion") or "/", plain.get("kind") or ""
    if (api_version, kind) != (_KNOWN[0], "AdmissionReview"):
        wanted = f"{_KNOWN[0]}, Kind=AdmissionReview"
        raise _invalid(f"expected webhook response of {wanted}, got {api_version}, Kind={kind}")
    patch, patch_type = response.get("patch"), response.get("patchType")
    if not mutating:
        if patch:
            raise _invalid("validating webhook may not return response.patch")
        if patch_type is not None:
            raise _invalid("validating webhook may not return response.patchType")
        return
    if patch and patch_type is None:
        raise _invalid("webhook returned response.patch but not response.patchType")
    if not patch and patch_type is not None:
        raise _invalid("webhook returned response.patchType but not response.patch")
    if patch_type == "":
        raise _invalid('webhook returned invalid response.patchType of ""')
    if patch_type not in (None, JSON_PATCH):
        raise WebhookFailed(f"unsupported patch type {json.dumps(patch_type)}")


def _patch(response: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the operations of a patch. Raises 500 for one that cannot be read."""
    try:
        text = base64.b64decode(response["patch"], validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise WebhookFailed(f"failed to call webhook: {error}") from None
    try:
        return msgspec.json.decode(text, type=list[dict[str, Any]])
    except msgspec.DecodeError as error:
        raise errors.internal(str(error)) from None


def denial(name: str, status: Status | None) -> ApiError:
    """Return the error of a refusal, in the webhook's own words where it has some."""
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
    """Return the error for a failed call of a webhook with the failure policy ``Fail``."""
    return errors.internal(f'failed calling webhook "{name}": {why}')


def no_dry_run(name: str) -> ApiError:
    return errors.bad_request(f'admission webhook "{name}" does not support dry run')


def nothing_to_change(name: str) -> ApiError:
    """Return the error when a webhook answers a deletion with a patch."""
    text = "attempted to modify the object, which is not supported for this operation"
    return errors.internal(f'admission webhook "{name}" {text}')
