"""API objects that a pod's spec refers to."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import Pod
from podling.machinery.encoding.codec import from_plain
from podling.machinery.pod_references import api_object_reference, named_in


def pod(**spec: Any) -> Pod:
    spec = {"containers": [], **spec}
    return from_plain({"metadata": {"name": "web", "namespace": "shop"}, "spec": spec}, Pod)


def volume(**source: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "data", **source}]}


def variable(**source: Any) -> dict[str, Any]:
    return {"name": "c", "env": [{"name": "A", "valueFrom": source}]}


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({"serviceAccountName": "robot"}, ("serviceaccounts", "robot")),
        ({"imagePullSecrets": [{"name": "pull"}]}, ("secrets", "pull")),
        (volume(secret={"secretName": "s"}), ("secrets", "s")),
        (volume(configMap={"name": "m"}), ("configmaps", "m")),
        (volume(persistentVolumeClaim={"claimName": "c"}), ("persistentvolumeclaims", "c")),
        (volume(ephemeral={}), ("persistentvolumeclaims", "web-data")),
        (volume(projected={"sources": [{"secret": {"name": "s"}}]}), ("secrets", "s")),
        (volume(projected={"sources": [{"configMap": {"name": "m"}}]}), ("configmaps", "m")),
        ({"containers": [variable(secretKeyRef={"name": "s", "key": "k"})]}, ("secrets", "s")),
        ({"initContainers": [variable(configMapKeyRef={"name": "m", "key": "k"})]}, ("configmaps", "m")),
        (
            {"ephemeralContainers": [{"name": "d", "envFrom": [{"secretRef": {"name": "s"}}]}]},
            ("secrets", "s"),
        ),
        ({"containers": [{"name": "c", "envFrom": [{"configMapRef": {"name": "m"}}]}]}, ("configmaps", "m")),
    ],
)
def test_named_object_is_found_and_reported(spec: dict[str, Any], found: tuple[str, str]) -> None:
    resource, name = found
    assert list(named_in(pod(**spec))) == [(resource, "shop", name)]
    assert api_object_reference(pod(**spec)).startswith(resource)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({}, ""),
        (volume(emptyDir={}), ""),
        (volume(hostPath={"path": "/"}), ""),
        (volume(ephemeral={}), "persistentvolumeclaims (via ephemeral volumes)"),
        (volume(csi={"driver": "d"}), "csidrivers (via CSI volumes)"),
        ({"resourceClaims": [{"name": "r"}]}, "resourceclaims"),
        (
            volume(projected={"sources": [{"serviceAccountToken": {"path": "t"}}]}),
            "serviceaccounts (via projected volumes)",
        ),
    ],
)
def test_first_needed_object_is_reported_in_kubernetes_words(spec: dict[str, Any], text: str) -> None:
    assert api_object_reference(pod(**spec)) == text
