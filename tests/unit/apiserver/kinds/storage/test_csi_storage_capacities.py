"""Tests of the rules of CSIStorageCapacities."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.storage_v1 import CSIStorageCapacity
from tests.support.causes import Cause, KindRow, invalid
from tests.support.manifests import change_causes, created, creation_causes, obj
from tests.support.storage_objects import VALID

INVALID: list[KindRow] = [
    (
        CSIStorageCapacity,
        "capacity: -1",
        [invalid("capacity", '"-1"', "must be greater than or equal to 0")],
    ),
    (CSIStorageCapacity, "maximumVolumeSize: -1", []),
]


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_storage_capacity_is_refused_with_causes(
    kind: type[Any], text: str, expected: list[Cause]
) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


IMMUTABLE = "field is immutable"
CHANGES: list[KindRow] = [
    (
        CSIStorageCapacity,
        "{storageClassName: slow, capacity: 1Gi}",
        [invalid("storageClassName", '"slow"', IMMUTABLE)],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), CHANGES)
def test_change_of_storage_capacity_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    old = created(obj(kind, "", VALID[kind]))
    assert change_causes(obj(kind, text, VALID[kind]), old) == expected


@pytest.mark.parametrize(("kind", "plain"), [(CSIStorageCapacity, VALID[CSIStorageCapacity])])
def test_valid_storage_capacity_is_accepted(kind: type[Any], plain: dict[str, Any]) -> None:
    assert creation_causes(created(obj(kind, "", plain))) == []
