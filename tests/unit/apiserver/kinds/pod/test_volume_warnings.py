"""Tests of the warnings about volumes."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import Pod
from podling.apiserver.kinds.common.base import Context
from tests.support.manifests import NOW, pod, rules

ROWS: list[tuple[str, list[str]]] = [
    (
        "spec: {volumes: [{name: v, glusterfs: {endpoints: e, path: p}}]}",
        [
            "spec.volumes[0].glusterfs: deprecated in v1.25, non-functional in v1.26+",
            "spec.volumes[0].glusterfs: not honoured by this cluster",
        ],
    ),
    (
        "spec: {volumes: [{name: v, configMap: {name: m, items: [{key: a, path: x/}, "
        "{key: b, path: x/y}]}}]}",
        ['volume "v" (ConfigMap "m"): overlapping paths: "x/y" with "x"'],
    ),
    (
        "spec: {volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}, {}, "
        "{downwardAPI: {items: [{path: t/u, fieldRef: {fieldPath: metadata.name}}, "
        "{path: u, fieldRef: {fieldPath: metadata.name}}]}}]}}]}",
        [
            'volume "v" (Projected) has no sources provided',
            'volume "v" (Projected): overlapping paths: "t/u" (DownwardAPI) with "t" (ServiceAccountToken)',
        ],
    ),
    (
        "spec: {volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {resources: "
        "{requests: {storage: 200m}}}}}}]}",
        [
            "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: fractional byte "
            'value "200m" is invalid, must be an integer'
        ],
    ),
    (
        "spec: {volumes: [{name: ok, emptyDir: {}}, {name: v, iscsi: {iqn: i}}]}",
        ["spec.volumes[1].iscsi: not honoured by this cluster"],
    ),
]


@pytest.mark.parametrize(("manifest", "expected"), ROWS)
def test_new_pod_with_doubtful_volumes_warns(manifest: str, expected: list[str]) -> None:
    assert rules(Pod).warnings(pod(manifest), None, Context(NOW)) == expected
