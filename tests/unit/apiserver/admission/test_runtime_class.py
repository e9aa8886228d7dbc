"""RuntimeClass: overhead and scheduling of pods."""

from __future__ import annotations

import pytest

from podling.api.node_v1 import RuntimeClass
from podling.testing import ControlPlane
from tests.support.admitted_pods import create_pod, refusal_of_pod
from tests.support.manifests import obj

RUNTIME_CLASS = """
metadata: {name: sandboxed}
handler: gvisor
overhead: {podFixed: {cpu: 250m}}
scheduling: {nodeSelector: {sandbox: "yes"}, tolerations: [{key: sandbox, operator: Exists}]}
"""


async def test_a_runtime_class_brings_overhead_and_steers(full_cluster: ControlPlane) -> None:
    await full_cluster.client.create(obj(RuntimeClass, RUNTIME_CLASS))
    pod = await create_pod(full_cluster, "spec: {runtimeClassName: sandboxed}")
    assert pod.spec.overhead == {"cpu": "250m"}
    assert pod.spec.node_selector == {"sandbox": "yes"}
    assert "sandbox" in [each.key for each in pod.spec.tolerations]


@pytest.mark.parametrize(
    ("fragment", "message"),
    [
        ("spec: {runtimeClassName: ghost}", 'pod rejected: RuntimeClass "ghost" not found'),
        (
            "spec: {runtimeClassName: sandboxed, overhead: {cpu: 1}}",
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
        ),
        (
            "spec: {overhead: {cpu: 1}}",
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        ),
        (
            'spec: {runtimeClassName: sandboxed, nodeSelector: {sandbox: "no"}}',
            "conflict: runtimeClass.scheduling.nodeSelector[sandbox] = yes; "
            "pod.spec.nodeSelector[sandbox] = no",
        ),
    ],
)
async def test_runtime_class_conflicts(full_cluster: ControlPlane, fragment: str, message: str) -> None:
    await full_cluster.client.create(obj(RuntimeClass, RUNTIME_CLASS))
    assert await refusal_of_pod(full_cluster, fragment) == (403, f'pods "web" is forbidden: {message}')
