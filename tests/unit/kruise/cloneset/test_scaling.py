"""Pods and claims that CloneSets create and delete."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from podling.api.core_v1 import PersistentVolumeClaim, Pod
from podling.machinery.pods import is_ready
from podling.runtime.sim import ImageScript, Scenario
from podling_kruise.names import INSTANCE_ID, SPECIFIED_DELETE
from tests.support.clone_sets import Kruise, kruise_cluster, manifest, template

IF_POSSIBLE = {"type": "InPlaceIfPossible"}
CLAIM = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


IMAGES = Scenario(images={"*slow:*": ImageScript(pull_seconds=3), "*absent:*": ImageScript(missing=True)})


@pytest.fixture
async def kruise(tmp_path: Path) -> AsyncIterator[Kruise]:
    async with kruise_cluster(tmp_path, IMAGES) as found:
        yield found


async def uids(kruise: Kruise) -> set[str]:
    return {pod.metadata.uid or "" for pod in await kruise.pods()}


async def claims(kruise: Kruise) -> list[str]:
    found = (await kruise.plane.client.list(PersistentVolumeClaim, "default")).items
    return [each.metadata.uid or "" for each in found if each.metadata.deletion_timestamp is None]


async def test_chosen_pods_are_deleted_when_scaling_down(kruise: Kruise) -> None:
    await kruise.create(manifest())
    await kruise.wait()
    names = [pod.metadata.name or "" for pod in await kruise.pods()]
    await kruise.patch(replicas=2, scaleStrategy={"podsToDelete": [names[1]]})
    await kruise.wait(60)
    assert [pod.metadata.name for pod in await kruise.pods()] == [names[0], names[2]]
    assert (await kruise.get()).spec.scale_strategy.pods_to_delete == ()


async def test_chosen_pods_go_within_max_unavailable(kruise: Kruise) -> None:
    await kruise.create(manifest(replicas=4, minReadySeconds=30, updateStrategy={"maxUnavailable": 1}))
    await kruise.wait(60)
    chosen = [pod.metadata.name for pod in await kruise.pods()][:2]
    await kruise.patch(scaleStrategy={"podsToDelete": chosen})
    left = []
    for seconds in (20, 60):
        await kruise.wait(seconds)
        names = [pod.metadata.name for pod in await kruise.pods()]
        assert len(names) == 4
        left.append(sum(each in chosen for each in names))
    assert left == [1, 0], "the second one waits until the first one's successor is available"


async def test_pod_with_the_label_of_deletion_is_replaced(kruise: Kruise) -> None:
    await kruise.create(manifest())
    await kruise.wait()
    chosen = (await kruise.pods())[0]
    labels = {"metadata": {"labels": {SPECIFIED_DELETE: "true"}}}
    await kruise.client.patch(Pod, chosen.metadata.name or "", labels, "default")
    await kruise.wait(60)
    assert len(await kruise.pods()) == 3
    assert chosen.metadata.uid not in await uids(kruise)


async def test_unavailable_pods_limit_creation(kruise: Kruise) -> None:
    stuck = template()
    stuck["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    del stuck["spec"]["nodeName"]
    await kruise.create(manifest(replicas=5, template=stuck, scaleStrategy={"maxUnavailable": 2}))
    await kruise.wait()
    assert len(await kruise.pods()) == 2
    assert "ScaleUpLimited" in await kruise.events()


async def test_surge_keeps_all_pods_available_while_they_are_recreated(kruise: Kruise) -> None:
    strategy = {"type": "ReCreate", "maxSurge": 1, "maxUnavailable": 0}
    await kruise.create(manifest(updateStrategy=strategy))
    await kruise.wait()
    await kruise.change("slow:2")
    counts = set()
    for _ in range(200):
        await kruise.wait(1)
        pods = await kruise.pods()
        counts.add(len(pods))
        assert sum(is_ready(pod) for pod in pods) >= 3
    assert await kruise.images() == {"slow:2": 3}
    assert counts == {3, 4}


async def test_each_pod_has_its_claims(kruise: Kruise) -> None:
    await kruise.create(manifest(replicas=2, volumeClaimTemplates=[CLAIM], template=unbound()))
    await kruise.wait()
    for pod in await kruise.pods():
        name_id = pod.metadata.labels[INSTANCE_ID]
        claim = await kruise.client.get(PersistentVolumeClaim, f"data-web-{name_id}", "default")
        assert claim.metadata.labels == {"app": "web", INSTANCE_ID: name_id}
        assert [each.kind for each in claim.metadata.owner_references] == ["CloneSet"]
        volume = next(each for each in pod.spec.volumes if each.name == "data")
        assert volume.persistent_volume_claim is not None
        assert volume.persistent_volume_claim.claim_name == claim.metadata.name


def unbound() -> dict[str, Any]:
    """Return a template whose pods no node takes: no volumes are made here."""
    made = template()
    del made["spec"]["nodeName"]
    return made


@pytest.mark.parametrize("reuse", [True, False])
async def test_claims_of_a_deleted_pod_are_reused_or_deleted(kruise: Kruise, reuse: bool) -> None:
    plain = manifest(replicas=2, volumeClaimTemplates=[CLAIM], template=unbound())
    plain["spec"]["scaleStrategy"] = {"disablePVCReuse": not reuse}
    await kruise.create(plain)
    await kruise.wait()
    before, pod = await claims(kruise), (await kruise.pods())[0]
    await kruise.client.delete(Pod, pod.metadata.name or "", "default", grace_seconds=0)
    await kruise.wait()
    after = await claims(kruise)
    assert len(after) == 2
    assert (after == before) is reuse
    names = [each.metadata.name for each in await kruise.pods()]
    assert (pod.metadata.name in names) is reuse


async def test_scaling_down_deletes_the_claims_of_its_pods(kruise: Kruise) -> None:
    await kruise.create(manifest(replicas=3, volumeClaimTemplates=[CLAIM], template=unbound()))
    await kruise.wait()
    await kruise.patch(replicas=1)
    await kruise.wait(60)
    assert (len(await kruise.pods()), len(await claims(kruise))) == (1, 1)
