"""Tests of the validation of volume sources."""

from __future__ import annotations

import pytest

from tests.support.causes import Cause, Row, required
from tests.support.manifests import creation_causes, pod

SOURCES: list[Row] = [
    ("spec: {volumes: [{name: v, image: {}}]}", [required("spec.volumes[0].image.reference")]),
]


@pytest.mark.parametrize(("manifest", "expected"), SOURCES)
def test_invalid_volume_source_is_refused_with_causes(manifest: str, expected: list[Cause]) -> None:
    assert creation_causes(pod(manifest)) == expected
