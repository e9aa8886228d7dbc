"""Tests of the validation of vendor-specific volume sources."""

from __future__ import annotations

import pytest

from tests.support.causes import Cause, Row, invalid, required
from tests.support.manifests import creation_causes, pod

SOURCES: list[Row] = [
    (
        "spec: {volumes: [{name: v, quobyte: {registry: 'a:1,b:c:2,[::1]:3,d', volume: ''}}]}",
        [
            *[
                invalid(
                    "spec.volumes[0].quobyte.registry",
                    '"a:1,b:c:2,[::1]:3,d"',
                    "must be a host:port pair or multiple pairs separated by commas",
                )
            ]
            * 2,
            required("spec.volumes[0].quobyte.volume"),
        ],
    ),
]


@pytest.mark.parametrize(("manifest", "expected"), SOURCES)
def test_invalid_vendor_source_is_refused_with_causes(manifest: str, expected: list[Cause]) -> None:
    assert creation_causes(pod(manifest)) == expected
