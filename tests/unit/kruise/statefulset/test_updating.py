"""Advanced StatefulSets whose pods are updated, on a simulated node."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from podling.api.core_v1 import Pod
from podling.machinery.pods import is_ready
from podling_kruise.names import LIFECYCLE_STATE
from tests.support.advanced_sets import GATE, StatefulSets, rolling, stateful
from tests.support.clone_sets import cluster_of, gate, template


@pytest.fixture
async def sets(tmp_path: Path) -> AsyncIterator[StatefulSets]:
    async with cluster_of(StatefulSets, tmp_path) as found:
        yield found


def gated(policy: str = "InPlaceIfPossible", *, parallel: bool = False, **fields: Any) -> dict[str, Any]:
    """Return a set whose pods have the readiness gate; ``fields`` are those of its rolling update."""
    management = "Parallel" if parallel else "OrderedReady"
    strategy = rolling(policy, **fields)
    return stateful(template=template(**GATE), updateStrategy=strategy, podManagementPolicy=management)


async def test_image_changes_in_the_living_pod(sets: StatefulSets) -> None:
    await sets.create(gated())
    await sets.wait(60)
    before = await sets.pods()
    assert [pod.metadata.name for pod in before] == ["web-0", "web-1", "web-2"]
    await sets.change("web:2", **GATE)
    await sets.wait(60)
    after = await sets.pods()
    assert [pod.metadata.uid for pod in after] == [pod.metadata.uid for pod in before]
    for old, new in zip(before, after, strict=True):
        assert new.spec.containers[0].image == "web:2"
        assert new.status.pod_ip == old.status.pod_ip
        assert new.status.container_statuses[0].restart_count == 1
        condition = gate(new)
        assert (condition is not None and condition.status, is_ready(new)) == ("True", True)
        assert new.metadata.labels[LIFECYCLE_STATE] == "Normal"
    status = (await sets.stored()).status
    assert new.metadata.labels["controller-revision-hash"] == status.update_revision
    assert (status.updated_available_replicas, status.current_revision) == (3, status.update_revision)
    assert (await sets.events()).count("SuccessfulUpdatePodInPlace") == 3


async def test_ordered_update_goes_from_the_highest_ordinal_down(sets: StatefulSets) -> None:
    await sets.create(gated())
    await sets.wait(60)
    first = (await sets.pods())[0].metadata.resource_version or ""
    stream = sets.client.watch(Pod, "default", resource_version=first)
    await sets.change("web:2", **GATE)
    await sets.wait(60)
    last = max(int(pod.metadata.resource_version or "0") for pod in await sets.pods())
    seen: list[str] = []
    ready = {"web-0", "web-1", "web-2"}
    async for event in stream:
        pod, name = event.object, event.object.metadata.name or ""
        if pod.spec.containers[0].image == "web:2" and name not in seen:
            assert ready >= {"web-0", "web-1", "web-2"} - {name}, "the pod before is ready again"
            seen.append(name)
        ready = ready | {name} if is_ready(pod) else ready - {name}
        if int(pod.metadata.resource_version or "0") >= last:
            break
    assert seen == ["web-2", "web-1", "web-0"]


async def test_other_changes_recreate_pods_where_in_place_is_not_possible(sets: StatefulSets) -> None:
    await sets.create(gated(parallel=True, maxUnavailable=3))
    await sets.wait(60)
    before = {pod.metadata.uid for pod in await sets.pods()}
    changed = template("web:1", **GATE)
    changed["spec"]["containers"][0]["env"] = [{"name": "A", "value": "b"}]
    await sets.patch("v1beta1", template=changed)
    await sets.wait(240)
    after = await sets.pods()
    assert [pod.metadata.name for pod in after] == ["web-0", "web-1", "web-2"]
    assert before.isdisjoint(pod.metadata.uid for pod in after)
    assert "SuccessfulUpdatePodInPlace" not in await sets.events()


async def test_recreate_is_the_default(sets: StatefulSets) -> None:
    await sets.create(stateful())
    await sets.wait(60)
    before = {pod.metadata.uid for pod in await sets.pods()}
    await sets.change("web:2")
    await sets.wait(300)
    assert await sets.images() == {"web:2": 3}
    assert before.isdisjoint(pod.metadata.uid for pod in await sets.pods())


async def test_partition_and_pause_keep_pods_of_the_old_revision(sets: StatefulSets) -> None:
    await sets.create(gated(partition=2))
    await sets.wait(60)
    await sets.change("web:2", **GATE)
    await sets.wait(60)
    assert {pod.metadata.name: pod.spec.containers[0].image for pod in await sets.pods()} == {
        "web-0": "web:1",
        "web-1": "web:1",
        "web-2": "web:2",
    }
    await sets.patch("v1beta1", updateStrategy={"rollingUpdate": {"partition": 0, "paused": True}})
    await sets.wait(60)
    assert await sets.images() == {"web:1": 2, "web:2": 1}
    await sets.patch("v1beta1", updateStrategy={"rollingUpdate": {"paused": False}})
    await sets.wait(60)
    assert await sets.images() == {"web:2": 3}


async def test_half_an_update_can_be_rolled_back_in_place(sets: StatefulSets) -> None:
    await sets.create(gated(partition=1))
    await sets.wait(60)
    before = {pod.metadata.uid for pod in await sets.pods()}
    await sets.change("web:2", **GATE)
    await sets.wait(60)
    await sets.change("web:1", **GATE)
    await sets.wait(60)
    assert await sets.images() == {"web:1": 3}
    assert {pod.metadata.uid for pod in await sets.pods()} == before
    status = (await sets.stored()).status
    assert (status.updated_replicas, status.current_revision) == (3, status.update_revision)


async def test_update_in_any_order_follows_priorities(sets: StatefulSets) -> None:
    first = {"weight": 100, "matchSelector": {"matchLabels": {"apps.kubernetes.io/pod-index": "1"}}}
    unordered = {"priorityStrategy": {"weightPriority": [first]}}
    await sets.create(gated(parallel=True, partition=2, unorderedUpdate=unordered))
    await sets.wait()
    await sets.change("web:2", **GATE)
    await sets.wait(60)
    assert [pod.spec.containers[0].image for pod in await sets.pods()] == ["web:1", "web:2", "web:1"]


async def test_hook_holds_a_pod_before_it_is_updated(sets: StatefulSets) -> None:
    made = template(**GATE)
    made["metadata"]["labels"]["example.com/hold"] = "true"
    hook = {"inPlaceUpdate": {"labelsHandler": {"example.com/hold": "true"}}}
    await sets.create({**gated(), "spec": {**gated()["spec"], "template": made, "lifecycle": hook}})
    await sets.wait(60)
    made["spec"]["containers"][0]["image"] = "web:2"
    await sets.patch("v1beta1", template=made)
    await sets.wait(60)
    pod = (await sets.pods())[2]
    assert (pod.metadata.labels[LIFECYCLE_STATE], pod.spec.containers[0].image) == (
        "PreparingUpdate",
        "web:1",
    )
    release = {"metadata": {"labels": {"example.com/hold": None}}}
    await sets.client.patch(Pod, "web-2", release, "default")
    await sets.wait(60)
    pod = (await sets.pods())[2]
    assert (pod.metadata.labels[LIFECYCLE_STATE], pod.spec.containers[0].image) == ("Updated", "web:2")
    await sets.client.patch(Pod, "web-2", {"metadata": {"labels": {"example.com/hold": "true"}}}, "default")
    await sets.wait()
    pods = await sets.pods()
    assert pods[2].metadata.labels[LIFECYCLE_STATE] == "Normal"
    assert pods[1].metadata.labels[LIFECYCLE_STATE] == "PreparingUpdate"


async def test_grace_period_delays_the_change(sets: StatefulSets) -> None:
    await sets.create(gated(partition=2, inPlaceUpdateStrategy={"gracePeriodSeconds": 30}))
    await sets.wait(60)
    await sets.change("web:2", **GATE)
    await sets.wait(20)
    pod = (await sets.pods())[2]
    assert (pod.spec.containers[0].image, is_ready(pod)) == ("web:1", False)
    await sets.wait(30)
    pod = (await sets.pods())[2]
    assert (pod.spec.containers[0].image, is_ready(pod)) == ("web:2", True)


async def test_pod_that_cannot_be_updated_in_place_stays_under_in_place_only(sets: StatefulSets) -> None:
    plain = gated()
    await sets.create(plain)
    await sets.wait(60)
    before = {pod.metadata.uid for pod in await sets.pods()}
    changed = template("web:1", **GATE)
    changed["spec"]["containers"][0]["env"] = [{"name": "A", "value": "b"}]
    await sets.patch("v1beta1", template=changed, updateStrategy={"rollingUpdate": {"paused": True}})
    only = {"rollingUpdate": {"podUpdatePolicy": "InPlaceOnly", "paused": False}}
    await sets.patch("v1beta1", updateStrategy=only)
    await sets.wait(60)
    assert {pod.metadata.uid for pod in await sets.pods()} == before


async def test_first_ordinal_is_updated_as_soon_as_one_of_the_others_is_ready(sets: StatefulSets) -> None:
    """The manual's example: five pods, of which three may be unavailable, and a canary before."""
    strategy = rolling("InPlaceIfPossible", maxUnavailable=3, partition=4)
    parallel = {"podManagementPolicy": "Parallel"}
    await sets.create(stateful(replicas=5, updateStrategy=strategy, template=template(**GATE), **parallel))
    await sets.wait(60)
    await sets.change("web:2", **GATE)
    await sets.wait(60)
    pods = await sets.pods()
    assert [pod.spec.containers[0].image for pod in pods] == ["web:1"] * 4 + ["web:2"]
    stream = sets.client.watch(
        Pod, "default", resource_version=max(pod.metadata.resource_version or "" for pod in pods)
    )
    await sets.patch("v1beta1", updateStrategy={"rollingUpdate": {"partition": 0}})
    await sets.wait(60)
    assert await sets.images() == {"web:2": 5}
    changed: list[str] = []
    async for event in stream:
        name = event.object.metadata.name or ""
        if event.object.spec.containers[0].image == "web:2" and name not in changed:
            changed.append(name)
        if len(changed) == 4:
            break
    assert (set(changed[:3]), changed[3]) == ({"web-1", "web-2", "web-3"}, "web-0")


async def test_resources_change_in_place_where_the_gate_says_so(tmp_path: Path) -> None:
    async with cluster_of(StatefulSets, tmp_path, InPlaceWorkloadVerticalScaling=True) as sets:

        def sized(cpu: str) -> dict[str, Any]:
            container = {"name": "main", "image": "web:1", "resources": {"requests": {"cpu": cpu}}}
            return template(containers=[container], **GATE)

        strategy = rolling("InPlaceIfPossible")
        await sets.create(stateful(replicas=1, updateStrategy=strategy, template=sized("100m")))
        await sets.wait(60)
        (before,) = await sets.pods()
        await sets.patch("v1beta1", template=sized("200m"))
        await sets.wait(60)
        (after,) = await sets.pods()
        assert after.metadata.uid == before.metadata.uid
        assert after.status.container_statuses[0].restart_count == 0
        assert after.spec.containers[0].resources.requests["cpu"] == "200m"
        assert is_ready(after)
