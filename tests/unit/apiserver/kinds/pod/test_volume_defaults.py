"""Tests of the defaults of volumes."""

from __future__ import annotations

from typing import Any

import pytest

from podling.machinery.encoding import codec
from tests.support.manifests import pod

VOLUMES: list[tuple[str, Any]] = [
    ("", {"emptyDir": {}}),
    ("secret: {secretName: s}", {"secret": {"secretName": "s", "defaultMode": 0o644}}),
    ("configMap: {name: c}", {"configMap": {"name": "c", "defaultMode": 0o644}}),
    ("hostPath: {path: /x}", {"hostPath": {"path": "/x", "type": ""}}),
    (
        "projected: {sources: [{serviceAccountToken: {path: t}}]}",
        {
            "projected": {
                "defaultMode": 0o644,
                "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}],
            }
        },
    ),
    (
        "downwardAPI: {items: [{path: n, fieldRef: {fieldPath: metadata.name}}]}",
        {
            "downwardAPI": {
                "defaultMode": 0o644,
                "items": [{"path": "n", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}],
            }
        },
    ),
    ("image: {reference: data}", {"image": {"reference": "data", "pullPolicy": "Always"}}),
]


def plain(made: Any) -> Any:
    return codec.to_plain(made)


@pytest.mark.parametrize(("source", "expected"), VOLUMES)
def test_defaults_of_volume_are_filled_in(source: str, expected: Any) -> None:
    made = pod(f"spec: {{volumes: [{{name: v, {source}}}]}}")
    assert plain(made)["spec"]["volumes"] == [{"name": "v", **expected}]
