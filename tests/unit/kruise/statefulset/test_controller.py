"""Advanced StatefulSets from their creation to their end: ordinals, scaling, claims, hooks, revisions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import Container, PersistentVolumeClaim, Pod, PodSpec
from podling.api.meta_v1 import ObjectMeta
from podling.machinery.conditions import find
from podling.runtime.sim import ImageScript, Scenario
from podling_kruise.names import LIFECYCLE_STATE, SPECIFIED_DELETE
from podling_kruise.statefulset.types import StatefulSet
from tests.support.advanced_sets import StatefulSets, rolling, stateful
from tests.support.clone_sets import cluster_of, template

PARALLEL = {"podManagementPolicy": "Parallel"}
ABSENT = Scenario(images={"*absent:*": ImageScript(missing=True)})


@pytest.fixture
async def sets(tmp_path: Path) -> AsyncIterator[StatefulSets]:
    async with cluster_of(StatefulSets, tmp_path, ABSENT) as found:
        yield found


async def test_number_of_pods_follows_the_scale(sets: StatefulSets) -> None:
    await sets.create(stateful())
    await sets.wait(60)
    status = (await sets.stored()).status
    assert (status.replicas, status.ready_replicas, status.available_replicas) == (3, 3, 3)
    scale = await sets.client.get_scale(StatefulSet.custom_resource, "web", "default")
    assert (scale.spec.replicas, scale.status.replicas, scale.status.selector) == (3, 3, "app=web")
    for number in (4, 1):
        await sets.patch("v1beta1", replicas=number)
        await sets.wait(240)
        assert await sets.names() == [f"web-{each}" for each in range(number)]


async def test_reserved_pod_moves_to_the_next_ordinal(sets: StatefulSets) -> None:
    await sets.create(stateful(reserveOrdinals=["0-1"], ordinals={"start": 1}))
    await sets.wait(60)
    assert await sets.names() == ["web-2", "web-3", "web-4"]
    await sets.patch("v1beta1", reserveOrdinals=[3])
    await sets.wait(240)
    assert await sets.names() == ["web-1", "web-2", "web-4"]
    await sets.patch("v1beta1", replicas=2, reserveOrdinals=[1])
    await sets.wait(240)
    assert await sets.names() == ["web-2", "web-3"]


async def test_creations_wait_for_unavailable_pods(sets: StatefulSets) -> None:
    scale = {"maxUnavailable": 2}
    plain = stateful(replicas=5, scaleStrategy=scale, template=template("absent:1"), **PARALLEL)
    await sets.create(plain)
    await sets.wait(60)
    assert await sets.names() == ["web-0", "web-1"]
    await sets.patch("v1beta1", scaleStrategy={"maxUnavailable": "80%"})
    await sets.wait()
    assert await sets.names() == ["web-0", "web-1", "web-2", "web-3"]


async def test_pod_that_its_user_chose_is_replaced(sets: StatefulSets) -> None:
    await sets.create(stateful(updateStrategy=rolling(partition=3)))
    await sets.wait(60)
    before = {pod.metadata.name: pod.metadata.uid for pod in await sets.pods()}
    choose = {"metadata": {"labels": {SPECIFIED_DELETE: "true"}}}
    await sets.client.patch(Pod, "web-1", choose, "default")
    await sets.wait(120)
    after = {pod.metadata.name: pod.metadata.uid for pod in await sets.pods()}
    assert [name for name in after if after[name] != before[name]] == ["web-1"]


async def test_hook_holds_a_pod_before_it_is_deleted(sets: StatefulSets) -> None:
    made = template()
    made["metadata"]["labels"]["example.com/hold"] = "true"
    hook = {"preDelete": {"labelsHandler": {"example.com/hold": "true"}}}
    await sets.create(stateful(template=made, lifecycle=hook))
    await sets.wait(60)
    await sets.patch("v1beta1", replicas=2)
    await sets.wait(60)
    states = [pod.metadata.labels[LIFECYCLE_STATE] for pod in await sets.pods()]
    assert states == ["Normal", "Normal", "PreparingDelete"]
    await sets.patch("v1beta1", replicas=3)
    await sets.wait(60)
    assert [pod.metadata.labels[LIFECYCLE_STATE] for pod in await sets.pods()] == ["Normal"] * 3
    await sets.patch("v1beta1", replicas=2)
    release = {"metadata": {"labels": {"example.com/hold": None}}}
    await sets.client.patch(Pod, "web-2", release, "default")
    await sets.wait(60)
    assert await sets.names() == ["web-0", "web-1"]


async def test_hook_holds_a_new_pod_until_it_is_complete(sets: StatefulSets) -> None:
    hook = {"preNormal": {"labelsHandler": {"example.com/in": "true"}}}
    await sets.create(stateful(replicas=2, lifecycle=hook))
    await sets.wait(60)
    (pod,) = await sets.pods()
    assert pod.metadata.labels[LIFECYCLE_STATE] == "PreparingNormal"
    assert (await sets.stored()).status.available_replicas == 0
    complete = {"metadata": {"labels": {"example.com/in": "true"}}}
    await sets.client.patch(Pod, "web-0", complete, "default")
    await sets.wait()
    assert await sets.names() == ["web-0", "web-1"]


CLAIM = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


async def claims(sets: StatefulSets) -> dict[str, list[str]]:
    """Return the owners' kinds by the names of claims."""
    found = (await sets.client.list(PersistentVolumeClaim, "default")).items
    return {each.metadata.name or "": [ref.kind for ref in each.metadata.owner_references] for each in found}


@pytest.mark.parametrize(
    ("policy", "owners"),
    [({}, [[], []]), ({"whenDeleted": "Delete", "whenScaled": "Delete"}, [["StatefulSet"], ["Pod"]])],
)
async def test_claims_have_the_owners_of_the_retention_policy(
    sets: StatefulSets, policy: dict[str, str], owners: list[list[str]]
) -> None:
    retention: dict[str, Any] = {"persistentVolumeClaimRetentionPolicy": policy}
    await sets.create(stateful(replicas=2, volumeClaimTemplates=[CLAIM], **PARALLEL, **retention))
    await sets.wait()
    assert list(await claims(sets)) == ["data-web-0", "data-web-1"]
    volumes = (await sets.stored()).status.volume_claims
    assert [(each.volume_claim_name, each.compatible_replicas) for each in volumes] == [("data", 2)]
    await sets.patch("v1beta1", replicas=1)
    await sets.wait(120)
    assert list((await claims(sets)).values()) == owners


async def test_failure_to_create_a_pod_is_a_condition(sets: StatefulSets) -> None:
    metadata = ObjectMeta(name="web-0", namespace="default")
    containers = (Container(name="main", image="web:1"),)
    await sets.client.create(Pod(metadata=metadata, spec=PodSpec(containers=containers)))
    await sets.create(stateful(replicas=1))
    await sets.wait()
    condition = find((await sets.stored()).status.conditions, "FailedCreatePod")
    assert condition is not None
    assert condition.message.startswith("StatefulPodControl failed to create Pod error: ")
    await sets.client.delete(Pod, "web-0", "default", grace_seconds=0)
    await sets.wait(240)
    status = (await sets.stored()).status
    assert (status.conditions, status.ready_replicas) == ((), 1)


async def test_old_revisions_are_kept_as_many_as_wanted(sets: StatefulSets) -> None:
    strategy = rolling(maxUnavailable=3)
    await sets.create(stateful(revisionHistoryLimit=1, updateStrategy=strategy, **PARALLEL))
    await sets.wait()
    for number in range(2, 5):
        await sets.change(f"web:{number}")
        await sets.wait(120)
    found = (await sets.client.list(ControllerRevision, "default")).items
    assert sorted(each.revision for each in found) == [3, 4]


async def test_pods_are_numbered_from_the_start_and_labelled_with_their_number(sets: StatefulSets) -> None:
    """The manual's examples: a start of 3 and five pods are 3 to 7; a range and a number are reserved."""
    await sets.create(stateful(replicas=5, ordinals={"start": 3}, **PARALLEL))
    await sets.wait(60)
    assert await sets.names() == [f"web-{number}" for number in range(3, 8)]
    labels = [pod.metadata.labels["apps.kubernetes.io/pod-index"] for pod in await sets.pods()]
    assert labels == ["3", "4", "5", "6", "7"]
    await sets.patch("v1beta1", replicas=4, ordinals=None, reserveOrdinals=["2-5", 7])
    await sets.wait(240)
    assert await sets.names() == ["web-0", "web-1", "web-6", "web-8"]


async def test_chosen_pod_waits_for_its_hook(sets: StatefulSets) -> None:
    made = template()
    made["metadata"]["labels"]["example.com/hold"] = "true"
    hook = {"preDelete": {"labelsHandler": {"example.com/hold": "true"}}}
    await sets.create(stateful(replicas=2, template=made, lifecycle=hook, **PARALLEL))
    await sets.wait(60)
    (old, _) = await sets.pods()
    choose = {"metadata": {"labels": {SPECIFIED_DELETE: "true"}}}
    await sets.client.patch(Pod, "web-0", choose, "default")
    await sets.wait(60)
    (held, _) = await sets.pods()
    assert (held.metadata.uid, held.metadata.labels[LIFECYCLE_STATE]) == (old.metadata.uid, "PreparingDelete")
    release = {"metadata": {"labels": {"example.com/hold": None}}}
    await sets.client.patch(Pod, "web-0", release, "default")
    await sets.wait(120)
    (new, _) = await sets.pods()
    assert (new.metadata.name, new.metadata.uid != old.metadata.uid) == ("web-0", True)
