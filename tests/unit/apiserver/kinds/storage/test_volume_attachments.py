"""Tests of the rules of VolumeAttachments."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.storage_v1 import VolumeAttachment
from tests.support.causes import SUBDOMAIN_TEXT, Cause, KindRow, forbidden, invalid, required, too_long
from tests.support.manifests import change_causes, created, creation_causes, obj
from tests.support.storage_objects import VALID

INVALID: list[KindRow] = [
    (
        VolumeAttachment,
        "spec: {source: {persistentVolumeName: null}}",
        [required("spec.source", "must specify exactly one of inlineVolumeSpec and persistentVolumeName")],
    ),
    (
        VolumeAttachment,
        "spec: {source: {persistentVolumeName: null, inlineVolumeSpec: "
        "{accessModes: [ReadWriteOnce], capacity: {storage: 1}, hostPath: {path: /a}}}}",
        [
            forbidden(
                "spec.source.inlineVolumeSpec.capacity",
                "may not be specified in the context of inline volumes",
            ),
            required(
                "spec.source.inlineVolumeSpec.csi", "has to be specified in the context of inline volumes"
            ),
        ],
    ),
    (
        VolumeAttachment,
        "spec: {attacher: ''}",
        [
            required("spec.attacher"),
            required("spec.attacher"),
            invalid("spec.attacher", '""', SUBDOMAIN_TEXT),
        ],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_volume_attachment_is_refused_with_causes(
    kind: type[Any], text: str, expected: list[Cause]
) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


IMMUTABLE = "field is immutable"
CHANGES: list[KindRow] = [
    (
        VolumeAttachment,
        "spec: {nodeName: m}",
        [
            invalid(
                "spec",
                '{"attacher":"csi.example.com","nodeName":"m","source":{"persistentVolumeName":"v"}}',
                IMMUTABLE,
            )
        ],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), CHANGES)
def test_change_of_volume_attachment_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    old = created(obj(kind, "", VALID[kind]))
    assert change_causes(obj(kind, text, VALID[kind]), old) == expected


@pytest.mark.parametrize(("kind", "plain"), [(VolumeAttachment, VALID[VolumeAttachment])])
def test_valid_volume_attachment_is_accepted(kind: type[Any], plain: dict[str, Any]) -> None:
    assert creation_causes(created(obj(kind, "", plain))) == []


def test_attach_error_of_volume_attachment_is_validated() -> None:
    old = created(obj(VolumeAttachment, "", VALID[VolumeAttachment]))
    text = f"status: {{attachError: {{errorCode: -1, message: {'m' * 1025}}}}}"
    assert change_causes(obj(VolumeAttachment, text, VALID[VolumeAttachment]), old, "status") == [
        too_long("status.attachError.message", 256 * 1024),
        invalid("status.attachError.errorCode", "-1", "must be between 0 and 2147483647, inclusive"),
    ]
