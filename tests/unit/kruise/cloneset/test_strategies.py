"""Strategies of CloneSets as OpenKruise's manual describes them, on a simulated node."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from podling.api.core_v1 import PersistentVolumeClaim, Pod
from podling.machinery.conditions import find
from podling.machinery.pods import is_ready
from podling_kruise.names import (
    EXCLUDE_PREPARING_DELETE,
    INSTANCE_ID,
    KRUISE_POD_READY,
    LIFECYCLE_STATE,
    PARTITION_ROLLBACK,
    SHORT_HASH,
    SPECIFIED_DELETE,
)
from tests.support.clone_sets import Kruise, kruise_cluster, manifest, template

IF_POSSIBLE = {"type": "InPlaceIfPossible"}
READY = "example.com/ready"
BLOCKER = "example.io/unready-blocker"
CLAIM = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


@pytest.fixture
async def kruise(tmp_path: Path) -> AsyncIterator[Kruise]:
    async with kruise_cluster(tmp_path) as found:
        yield found


def names(pods: list[Pod]) -> list[str]:
    return [pod.metadata.name or "" for pod in pods]


async def test_pods_are_updated_by_hand_only_under_on_delete(kruise: Kruise) -> None:
    await kruise.create(manifest("v1beta1", updateStrategy={"type": "OnDelete"}))
    await kruise.wait()
    await kruise.patch("v1beta1", template=template("web:2"))
    await kruise.wait(120)
    assert await kruise.images() == {"web:1": 3}
    await kruise.client.delete(Pod, names(await kruise.pods())[0], "default", grace_seconds=0)
    await kruise.wait(60)
    assert await kruise.images() == {"web:1": 2, "web:2": 1}


@pytest.mark.parametrize("is_open", [False, True], ids=["gate is off", "gate is on"])
async def test_larger_partition_takes_pods_back_where_the_gate_says_so(is_open: bool, tmp_path: Path) -> None:
    async with kruise_cluster(tmp_path, None, **{PARTITION_ROLLBACK: is_open}) as kruise:
        await kruise.create(manifest(replicas=5, updateStrategy={**IF_POSSIBLE, "partition": 5}))
        await kruise.wait(40)
        await kruise.change("web:2")
        await kruise.patch(updateStrategy={"partition": 3})
        await kruise.wait(60)
        assert await kruise.images() == {"web:1": 3, "web:2": 2}
        await kruise.patch(updateStrategy={"partition": 5})
        await kruise.wait(60)
        assert await kruise.images() == ({"web:1": 5} if is_open else {"web:1": 3, "web:2": 2})


@pytest.mark.parametrize(
    ("partition", "updated"), [(0, 5), (3, 2), (5, 0), ("40%", 3), ("99%", 1), ("100%", 0)]
)
async def test_status_counts_pods_under_a_partition(
    kruise: Kruise, partition: int | str, updated: int
) -> None:
    await kruise.create(manifest(replicas=5, updateStrategy={**IF_POSSIBLE, "partition": partition}))
    await kruise.wait(40)
    first = (await kruise.get()).status
    assert first.current_revision == first.update_revision
    await kruise.change("web:2")
    await kruise.wait(90)
    status = (await kruise.get()).status
    assert status.expected_updated_replicas == updated
    assert (status.updated_replicas, status.updated_ready_replicas) == (updated, updated)
    assert (status.replicas, status.ready_replicas, status.available_replicas) == (5, 5, 5)
    assert status.update_revision != first.update_revision
    assert status.current_revision == (first.current_revision if updated < 5 else status.update_revision)


async def test_surge_of_an_update_in_place_creates_new_pods_first(kruise: Kruise) -> None:
    await kruise.create(manifest(updateStrategy={**IF_POSSIBLE, "maxSurge": 1, "maxUnavailable": 1}))
    await kruise.wait(40)
    before = await kruise.pods()
    stream = kruise.client.watch(
        Pod, "default", resource_version=max(pod.metadata.resource_version or "" for pod in before)
    )
    await kruise.change("web:2")
    await kruise.wait(120)
    assert await kruise.images() == {"web:2": 3}
    old, surged, last = set(names(before)), 0, (await kruise.pods())[-1].metadata.resource_version
    async for event in stream:
        if event.object.metadata.name not in old:
            assert event.object.spec.containers[0].image == "web:2"
            surged += event.type.value == "ADDED"
        if event.object.metadata.resource_version == last:
            break
    assert surged == 1
    assert sum(name in old for name in names(await kruise.pods())) >= 2


async def set_ready(kruise: Kruise, pod: Pod, status: str = "True") -> None:
    gate = {"status": {"conditions": [{"type": READY, "status": status}]}}
    metadata = pod.metadata
    await kruise.client.patch(Pod, metadata.name or "", gate, "default", subresource="status")
    await kruise.wait(5)


@pytest.mark.parametrize(
    ("unavailable", "chosen", "surges"),
    [(2, 1, False), (1, 1, True), (1, 0, False)],
    ids=["one more may go", "a new pod comes first", "the unavailable one itself"],
)
async def test_chosen_pod_goes_within_the_limits_of_the_update(
    kruise: Kruise, unavailable: int, chosen: int, surges: bool
) -> None:
    """The manual's three examples; the first pod is not available."""
    strategy = {**IF_POSSIBLE, "maxUnavailable": unavailable, "maxSurge": 1}
    gated = template(readinessGates=[{"conditionType": READY}])
    await kruise.create(manifest(updateStrategy=strategy, template=gated))
    await kruise.wait()
    for pod in (await kruise.pods())[1:]:
        await set_ready(kruise, pod)
    before = await kruise.pods()
    doomed = before[chosen].metadata.name or ""
    label = {"metadata": {"labels": {SPECIFIED_DELETE: "true"}}}
    await kruise.client.patch(Pod, doomed, label, "default")
    await kruise.wait(60)
    during = await kruise.pods()
    assert (doomed in names(during), len(during)) == (surges, 4 if surges else 3)
    for pod in during:
        if pod.metadata.name not in names(before):
            await set_ready(kruise, pod)
    await kruise.wait(60)
    after = names(await kruise.pods())
    assert (doomed in after, len(after)) == (False, 3)


@pytest.mark.parametrize(("version", "reuses"), [("v1alpha1", True), ("v1beta1", False)])
async def test_versions_differ_in_the_reuse_of_claims(kruise: Kruise, version: str, reuses: bool) -> None:
    await kruise.create(manifest(version, replicas=1, volumeClaimTemplates=[CLAIM]))
    await kruise.wait()
    (pod,), (claim,) = await kruise.pods(), (await kruise.client.list(PersistentVolumeClaim, "default")).items
    instance = pod.metadata.labels[INSTANCE_ID]
    assert (claim.metadata.labels[INSTANCE_ID], pod.metadata.name) == (instance, f"web-{instance}")
    assert claim.metadata.owner_references[0].name == "web"
    await kruise.client.delete(Pod, pod.metadata.name or "", "default", grace_seconds=0)
    await kruise.wait(60)
    (new,) = await kruise.pods()
    assert (new.metadata.labels[INSTANCE_ID] == instance) is reuses
    found = (await kruise.client.list(PersistentVolumeClaim, "default")).items
    living = [each.metadata.uid for each in found if each.metadata.deletion_timestamp is None]
    assert ((claim.metadata.uid in living), len(living)) == (reuses, 1)


def kruise_ready(pod: Pod) -> str:
    condition = find(pod.status.conditions, KRUISE_POD_READY)
    return (condition.status or "") if condition is not None else ""


async def move(kruise: Kruise, pod: Pod, *finalizers: str) -> None:
    patch = {"metadata": {"finalizers": list(finalizers)}}
    await kruise.client.patch(Pod, pod.metadata.name or "", patch, "default")
    await kruise.wait(30)


@pytest.mark.parametrize("marks", [False, True])
async def test_hooks_may_make_pods_not_ready_while_their_containers_run(kruise: Kruise, marks: bool) -> None:
    hook = {"finalizersHandler": [BLOCKER], "markPodNotReady": marks}
    made = template()
    made["metadata"]["finalizers"] = [BLOCKER]
    lifecycle = {"preDelete": hook, "inPlaceUpdate": hook}
    await kruise.create(manifest(replicas=1, updateStrategy=IF_POSSIBLE, lifecycle=lifecycle, template=made))
    await kruise.wait()
    (pod,) = await kruise.pods()
    assert (kruise_ready(pod), is_ready(pod)) == ("True", True)

    async def held(state: str, status: str, image: str) -> Pod:
        (found,) = (await kruise.client.list(Pod, "default")).items
        assert found.metadata.labels[LIFECYCLE_STATE] == state
        assert (kruise_ready(found), is_ready(found)) == (status, status == "True")
        (shown,) = found.status.container_statuses
        assert (shown.image, shown.state.running is not None) == (image, True)
        return found

    closed = "False" if marks else "True"
    new = {**made, "spec": template("web:2")["spec"]}
    await kruise.patch(template=new)
    await kruise.wait(30)
    pod = await held("PreparingUpdate", closed, "web:1")
    await move(kruise, pod)
    pod = await held("Updated", "True", "web:2")
    await move(kruise, pod, BLOCKER)
    await held("Normal", "True", "web:2")
    await kruise.patch(replicas=0)
    await kruise.wait(30)
    pod = await held("PreparingDelete", closed, "web:2")
    await move(kruise, pod)
    assert await kruise.pods() == []


@pytest.mark.parametrize("excluded", [False, True], ids=["counted", "not counted"])
@pytest.mark.parametrize("step", ["scaled", "chosen and scaled", "chosen"])
async def test_pods_that_prepare_for_deletion_count_as_the_label_says(
    kruise: Kruise, step: str, excluded: bool
) -> None:
    made = template()
    made["metadata"]["labels"]["hooked"] = "true"
    lifecycle = {"preDelete": {"labelsHandler": {"hooked": "true"}}}
    plain = manifest(lifecycle=lifecycle, template=made)
    plain["metadata"]["labels"] = {EXCLUDE_PREPARING_DELETE: "true"} if excluded else {}
    await kruise.create(plain)
    await kruise.wait()
    before: dict[str, Any] = {pod.metadata.name or "": pod for pod in await kruise.pods()}
    if step == "scaled":
        await kruise.patch(replicas=2)
    else:
        replicas = 2 if step == "chosen and scaled" else 3
        await kruise.patch(replicas=replicas, scaleStrategy={"podsToDelete": [next(iter(before))]})
    await kruise.wait()
    states = [pod.metadata.labels[LIFECYCLE_STATE] for pod in await kruise.pods()]
    assert states.count("PreparingDelete") == 1
    await kruise.patch(replicas=3)
    await kruise.wait(40)
    after = await kruise.pods()
    held = [pod for pod in after if pod.metadata.labels[LIFECYCLE_STATE] == "PreparingDelete"]
    if step == "scaled":
        assert (len(after), held) == (3, [])
    else:
        assert (len(after), len(held)) == (4 if excluded else 3, 1)


async def test_label_of_the_revision_is_short_where_the_gate_says_so(tmp_path: Path) -> None:
    async with kruise_cluster(tmp_path, None, **{SHORT_HASH: True}) as kruise:
        await kruise.create(manifest(replicas=1, updateStrategy=IF_POSSIBLE))
        await kruise.wait()
        (pod,), status = await kruise.pods(), (await kruise.get()).status
        short = status.update_revision.removeprefix("web-")
        labels = pod.metadata.labels
        assert (labels["controller-revision-hash"], labels["pod-template-hash"]) == (short, short)
        full = {"metadata": {"labels": {"controller-revision-hash": status.update_revision}}}
        await kruise.client.patch(Pod, pod.metadata.name or "", full, "default")
        await kruise.wait()
        assert (await kruise.get()).status.updated_replicas == 1  # pods of before keep their label
        await kruise.change("web:2")
        await kruise.wait(60)
        (after,), status = await kruise.pods(), (await kruise.get()).status
        assert after.metadata.uid == pod.metadata.uid
        short = status.update_revision.removeprefix("web-")
        assert after.metadata.labels["controller-revision-hash"] == short
