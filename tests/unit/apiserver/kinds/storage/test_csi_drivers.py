"""Tests of the rules of CSIDrivers."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.storage_v1 import CSIDriver
from podling.machinery.encoding import codec
from tests.support.causes import Cause, KindRow, duplicate, invalid, unsupported
from tests.support.manifests import change_causes, created, creation_causes, obj
from tests.support.storage_objects import VALID

INVALID: list[KindRow] = [
    (
        CSIDriver,
        "spec: {fsGroupPolicy: All}",
        [unsupported("spec.fsGroupPolicy", "All", "File", "None", "ReadWriteOnceWithFSType")],
    ),
    (
        CSIDriver,
        "spec: {volumeLifecycleModes: [Brief]}",
        [unsupported("spec.volumeLifecycleModes", "Brief", "Persistent", "Ephemeral")],
    ),
    (
        CSIDriver,
        "spec: {tokenRequests: [{audience: a, expirationSeconds: 599}, {audience: a}]}",
        [
            invalid(
                "spec.tokenRequests[0].expirationSeconds",
                "599",
                "may not specify a duration less than 10 minutes",
            ),
            duplicate("spec.tokenRequests[1].audience", '"a"'),
        ],
    ),
    (
        CSIDriver,
        "spec: {nodeAllocatableUpdatePeriodSeconds: 9, serviceAccountTokenInSecrets: true}",
        [
            invalid(
                "spec.nodeAllocatableUpdatePeriodSeconds",
                "9",
                "must be greater than or equal to 10 seconds",
            ),
            invalid(
                "spec.serviceAccountTokenInSecrets",
                "true",
                "serviceAccountTokenInSecrets is set but no tokenRequests are specified",
            ),
        ],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_csi_driver_is_refused_with_causes(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


IMMUTABLE = "field is immutable"
CHANGES: list[KindRow] = [
    (CSIDriver, "spec: {storageCapacity: true}", []),
    (CSIDriver, "spec: {attachRequired: false}", [invalid("spec.attachedRequired", "false", IMMUTABLE)]),
]


@pytest.mark.parametrize(("kind", "text", "expected"), CHANGES)
def test_change_of_csi_driver_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    old = created(obj(kind, "", VALID[kind]))
    assert change_causes(obj(kind, text, VALID[kind]), old) == expected


@pytest.mark.parametrize(("kind", "plain"), [(CSIDriver, VALID[CSIDriver])])
def test_valid_csi_driver_is_accepted(kind: type[Any], plain: dict[str, Any]) -> None:
    assert creation_causes(created(obj(kind, "", plain))) == []


def test_defaults_of_csi_driver_are_filled_in() -> None:
    assert codec.to_plain(created(obj(CSIDriver, "", VALID[CSIDriver])).spec) == {
        "attachRequired": True,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "podInfoOnMount": False,
        "requiresRepublish": False,
        "seLinuxMount": False,
        "storageCapacity": False,
        "volumeLifecycleModes": ["Persistent"],
    }
