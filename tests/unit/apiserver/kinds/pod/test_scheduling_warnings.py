"""Tests of the warnings about affinity and node selectors."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import Pod
from podling.apiserver.kinds.common.base import Context
from tests.support.manifests import NOW, pod, rules

ROWS: list[tuple[str, list[str]]] = [
    (
        "spec: {nodeSelector: {beta.kubernetes.io/os: linux}}",
        ['spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead'],
    ),
    (
        "spec: {affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
        "[{topologyKey: zone}]}}}",
        [
            "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a "
            "null labelSelector results in matching no pod"
        ],
    ),
    (
        "spec: {affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, "
        "preference: {matchExpressions: [{key: a, operator: In, values: [b, '-1']}]}}]}}}",
        [
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference"
            ".matchExpressions[0].values[1]: -1 is invalid, a valid label must be an empty string or consist "
            "of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
            "character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
            "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
        ],
    ),
]


@pytest.mark.parametrize(("manifest", "expected"), ROWS)
def test_new_pod_with_doubtful_scheduling_warns(manifest: str, expected: list[str]) -> None:
    assert rules(Pod).warnings(pod(manifest), None, Context(NOW)) == expected
