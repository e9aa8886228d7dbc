"""Claims of Advanced StatefulSets that become larger with the update of their pods."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from podling.api.core_v1 import PersistentVolumeClaim, Pod
from podling_kruise.statefulset.claim_sizes import OWNED_BY
from tests.support.advanced_sets import StatefulSets, rolling
from tests.support.budgets import READY
from tests.support.control_loops import told
from tests.support.growing_claims import claims, claims_cluster, growing_set


async def settle(kruise: StatefulSets) -> None:
    """Bind all claims with the volumes that they request, and let all pods be ready."""
    for _ in range(3):
        await kruise.wait(1)
        for pod in await kruise.pods():
            if pod.status.phase != "Running":
                name, patch = pod.metadata.name or "", {"status": READY}
                await kruise.client.patch(Pod, name, patch, "default", subresource="status")


async def grant(kruise: StatefulSets, name: str, storage: str, conditions: Any = None) -> None:
    """Give a claim a volume of a size."""
    status: dict[str, Any] = {"phase": "Bound", "capacity": {"storage": storage}, "conditions": conditions}
    await kruise.client.patch(
        PersistentVolumeClaim, name, {"status": status}, "default", subresource="status"
    )
    await kruise.wait(1)


async def requested(kruise: StatefulSets) -> dict[str, str]:
    found = (await kruise.client.list(PersistentVolumeClaim, "default")).items
    return {each.metadata.name or "": each.spec.resources.requests["storage"] for each in found}


@pytest.fixture
async def kruise() -> AsyncIterator[StatefulSets]:
    async with claims_cluster() as found:
        yield found


async def run_set(kruise: StatefulSets, **spec: Any) -> None:
    await kruise.create(growing_set(**spec))
    await settle(kruise)
    for name in await requested(kruise):
        await grant(kruise, name, "1Gi")


async def test_claims_grow_one_pod_after_the_other(kruise: StatefulSets) -> None:
    await run_set(kruise)
    before = {pod.metadata.uid for pod in await kruise.pods()}
    await kruise.patch("v1beta1", volumeClaimTemplates=claims("2Gi"))
    await kruise.wait(5)
    assert await requested(kruise) == {"data-web-0": "1Gi", "data-web-1": "1Gi", "data-web-2": "2Gi"}
    await grant(kruise, "data-web-2", "2Gi")
    assert await requested(kruise) == {"data-web-0": "1Gi", "data-web-1": "2Gi", "data-web-2": "2Gi"}
    await grant(kruise, "data-web-1", "2Gi")
    await grant(kruise, "data-web-0", "2Gi")
    assert set((await requested(kruise)).values()) == {"2Gi"}
    assert {pod.metadata.uid for pod in await kruise.pods()} == before, "a new size alone replaces no pod"
    claim = await kruise.client.get(PersistentVolumeClaim, "data-web-0", "default")
    assert claim.metadata.annotations[OWNED_BY] == "web"
    (found,) = (await kruise.stored()).status.volume_claims
    assert (found.compatible_replicas, found.compatible_ready_replicas) == (3, 3)
    texts = [text for text in await told(kruise.plane.client) if "SuccessfulResize" in text]
    assert len(texts) == 3
    assert any("resize Claim data-web-2 Pod web-2 in StatefulSet web success" in text for text in texts)


@pytest.mark.parametrize("pending", [False, True])
async def test_pod_is_replaced_after_its_claim_has_grown(kruise: StatefulSets, pending: bool) -> None:
    await run_set(kruise, replicas=1)
    (old,) = await kruise.pods()
    changed = growing_set()["spec"]["template"]
    changed["spec"]["containers"][0]["image"] = "web:2"
    await kruise.patch("v1beta1", volumeClaimTemplates=claims("2Gi"), template=changed)
    await kruise.wait(5)
    assert (await kruise.pods())[0].metadata.uid == old.metadata.uid
    assert await requested(kruise) == {"data-web-0": "2Gi"}
    resize = [{"type": "FileSystemResizePending", "status": "True"}]
    await grant(kruise, "data-web-0", "1Gi" if pending else "2Gi", resize if pending else None)
    assert old.metadata.uid not in {pod.metadata.uid for pod in await kruise.pods()}


async def test_claims_stay_as_they_are_by_default(kruise: StatefulSets) -> None:
    await run_set(kruise, volumeClaimUpdateStrategy={})
    strategy = (await kruise.stored()).spec.volume_claim_update_strategy
    assert strategy is not None
    assert strategy.type == "OnDelete"
    await kruise.patch("v1beta1", volumeClaimTemplates=claims("2Gi"))
    await kruise.wait(5)
    assert set((await requested(kruise)).values()) == {"1Gi"}


async def test_growth_stops_while_the_update_is_paused(kruise: StatefulSets) -> None:
    await run_set(kruise)
    await kruise.patch("v1beta1", volumeClaimTemplates=claims("2Gi"), updateStrategy=rolling(paused=True))
    await kruise.wait(5)
    assert set((await requested(kruise)).values()) == {"1Gi"}
