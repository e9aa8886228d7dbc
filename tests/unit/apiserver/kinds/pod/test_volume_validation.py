"""Tests of the validation of pods' volumes."""

from __future__ import annotations

import pytest

from tests.support.causes import Cause, Row, forbidden
from tests.support.manifests import creation_causes, pod

VOLUMES: list[Row] = [
    (
        "spec: {volumes: [{name: v, emptyDir: {}, cephfs: {monitors: [a]}, downwardAPI: {}, nfs: {}}]}",
        [
            forbidden(f"spec.volumes[0].{name}", "may not specify more than 1 volume type")
            for name in ("nfs", "cephFS", "downwarAPI")
        ],
    ),
]


@pytest.mark.parametrize(("manifest", "expected"), VOLUMES)
def test_invalid_volume_is_refused_with_causes(manifest: str, expected: list[Cause]) -> None:
    assert creation_causes(pod(manifest)) == expected
