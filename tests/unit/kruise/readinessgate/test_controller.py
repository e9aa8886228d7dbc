"""The readiness gate of new pods, which is open at first."""

from __future__ import annotations

from pathlib import Path

from podling.machinery.conditions import find
from podling.machinery.pods import is_ready
from tests.support.clone_sets import kruise_cluster
from tests.support.kubelet_node import pod


async def test_gate_of_a_new_pod_is_opened(tmp_path: Path) -> None:
    async with kruise_cluster(tmp_path) as kruise:
        await kruise.node.create(pod(readinessGates=[{"conditionType": "KruisePodReady"}]))
        await kruise.wait(10)
        found = await kruise.node.get()
    gate = find(found.status.conditions, "KruisePodReady")
    assert gate is not None
    assert (gate.status, is_ready(found)) == ("True", True)
