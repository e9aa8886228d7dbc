"""Tests of the rules of PersistentVolumes."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import PersistentVolume
from tests.support.manifests import NOW, obj, rules

ROWS: list[tuple[type[Any], str, list[Any]]] = [
    (
        PersistentVolume,
        "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteMany], "
        "persistentVolumeReclaimPolicy: Retain, claimRef: {namespace: n, name: c}}\nstatus: {phase: Bound}",
        ["x", "1Gi", "RWX", "Retain", "Bound", "n/c", "", "<unset>", "", "5m", "<unset>"],
    ),
]
AGED = "metadata: {name: x, namespace: default, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "text", "expected"), ROWS)
def test_row_of_volume_shows_its_state(kind: type[Any], text: str, expected: list[Any]) -> None:
    assert list(rules(kind).row(obj(kind, f"{AGED}\n{text}"), NOW)) == expected


CELLS: list[tuple[type[Any], str, list[Any]]] = [
    (PersistentVolume, "spec: {}", ["x", "0"]),
]
AGED_IN_CLUSTER = "metadata: {name: x, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "given", "expected"), CELLS)
def test_cells_of_volume_follow_kubernetes(kind: type[Any], given: str, expected: list[Any]) -> None:
    thing = obj(
        kind,
        given if "metadata" in given else f"{AGED_IN_CLUSTER}\n{given}" if given != "{}" else AGED_IN_CLUSTER,
    )
    assert list(rules(kind).row(thing, NOW))[: len(expected)] == expected
