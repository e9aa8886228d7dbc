"""Tests of the rules of CSINodes."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.storage_v1 import CSINode
from tests.support.causes import Cause, KindRow, duplicate, invalid, required
from tests.support.manifests import change_causes, created, creation_causes, obj
from tests.support.storage_objects import VALID

INVALID: list[KindRow] = [
    (
        CSINode,
        "spec: {drivers: [{name: a, nodeID: ''}, {name: a, nodeID: n, topologyKeys: [z, z]}]}",
        [
            required("spec.drivers[0].nodeID"),
            duplicate("spec.drivers[1].name", '"a"'),
            duplicate("spec.drivers[1]", '"z"'),
        ],
    ),
    (
        CSINode,
        "spec: {drivers: [{name: a, nodeID: n, allocatable: {count: -1}}]}",
        [invalid("spec.drivers[0].allocatable.count", "-1", "must be greater than or equal to 0")],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_csi_node_is_refused_with_causes(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


IMMUTABLE = "field is immutable"
CHANGES: list[KindRow] = [
    (
        CSINode,
        "spec: {drivers: [{name: csi.example.com, nodeID: n, allocatable: {count: 3}}]}",
        [],
    ),
    (
        CSINode,
        "spec: {drivers: [{name: csi.example.com, nodeID: m}]}",
        [invalid("spec.drivers", '{"name":"csi.example.com","nodeID":"m","topologyKeys":null}', IMMUTABLE)],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), CHANGES)
def test_change_of_csi_node_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    old = created(obj(kind, "", VALID[kind]))
    assert change_causes(obj(kind, text, VALID[kind]), old) == expected


@pytest.mark.parametrize(("kind", "plain"), [(CSINode, VALID[CSINode])])
def test_valid_csi_node_is_accepted(kind: type[Any], plain: dict[str, Any]) -> None:
    assert creation_causes(created(obj(kind, "", plain))) == []
