"""Workloads whose pods are rejected at once replace them at a limited rate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podling.api.core_v1 import Pod
from podling.controllers.workloads.replacement_rate import REPLACEMENTS_BURST, REPLACEMENTS_PER_SECOND
from tests.support.advanced_sets import StatefulSets, stateful
from tests.support.clone_sets import kruise_cluster, manifest, template

SECONDS = 3
REJECTED = template(nodeSelector={"no": "such"})


@pytest.mark.parametrize(
    "workload",
    [manifest(replicas=1, template=REJECTED), stateful(replicas=1, template=REJECTED)],
    ids=["CloneSet", "StatefulSet"],
)
async def test_rejected_pods_are_replaced_at_a_limited_rate(tmp_path: Path, workload: dict[str, Any]) -> None:
    async with kruise_cluster(tmp_path) as kruise:
        harness = kruise if workload["kind"] == "CloneSet" else StatefulSets(kruise.plane)
        await harness.create(workload)
        seen: set[str] = set()
        # Looks are closer together than replacements, so that no pod comes and goes between two of them.
        for _ in range(SECONDS * 100):
            await kruise.wait(0.01)
            seen |= {pod.metadata.uid or "" for pod in (await kruise.plane.client.list(Pod, "default")).items}
        most = 1 + REPLACEMENTS_BURST + REPLACEMENTS_PER_SECOND * SECONDS
        assert REPLACEMENTS_PER_SECOND * (SECONDS - 1) <= len(seen) <= most
