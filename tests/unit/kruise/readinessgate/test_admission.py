"""Pods that get the readiness gate: those of OpenKruise's workloads, or all of them by a feature gate."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.clone_sets import kruise_cluster, manifest
from tests.support.kubelet_node import pod


@pytest.mark.parametrize(("is_on", "gates"), [(False, []), (True, ["KruisePodReady"])])
async def test_feature_gate_gives_every_pod_the_readiness_gate(
    is_on: bool, gates: list[str], tmp_path: Path
) -> None:
    async with kruise_cluster(tmp_path, KruisePodReadinessGate=is_on) as kruise:
        made = await kruise.node.create(pod())
    assert [each.condition_type for each in made.spec.readiness_gates] == gates


async def test_pods_of_a_workload_get_the_readiness_gate(tmp_path: Path) -> None:
    async with kruise_cluster(tmp_path) as kruise:
        await kruise.create(manifest(replicas=1))
        await kruise.wait(10)
        (found,) = await kruise.pods()
    assert "KruisePodReady" in [each.condition_type for each in found.spec.readiness_gates]
