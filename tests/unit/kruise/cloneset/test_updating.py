"""CloneSets whose pods are updated in place, on a simulated node."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from podling.api.core_v1 import Pod
from podling.client.base import WatchEventType
from podling.machinery.pods import is_ready
from podling.runtime.sim import ImageScript, Scenario
from podling_kruise.names import LIFECYCLE_STATE, UPDATE_STATE
from tests.support.clone_sets import Kruise, gate, kruise_cluster, manifest, template

IF_POSSIBLE = {"type": "InPlaceIfPossible"}


@pytest.fixture
async def kruise(tmp_path: Path) -> AsyncIterator[Kruise]:
    async with kruise_cluster(tmp_path) as found:
        yield found


async def test_image_changes_in_the_living_pod(kruise: Kruise) -> None:
    await kruise.create(manifest(updateStrategy=IF_POSSIBLE))
    await kruise.wait()
    before = await kruise.pods()
    assert [gate_status(pod) for pod in before] == ["True"] * 3
    await kruise.change("web:2")
    await kruise.wait(60)
    after = await kruise.pods()
    assert [pod.metadata.uid for pod in after] == [pod.metadata.uid for pod in before]
    assert [pod.status.pod_ip for pod in after] == [pod.status.pod_ip for pod in before]
    for old, new in zip(before, after, strict=True):
        assert new.spec.containers[0].image == "web:2"
        (was,), (status,) = old.status.container_statuses, new.status.container_statuses
        assert (status.restart_count, status.image_id != was.image_id) == (1, True)
        assert (gate_status(new), is_ready(new)) == ("True", True)
        assert new.metadata.labels[LIFECYCLE_STATE] == "Normal"
        assert UPDATE_STATE in new.metadata.annotations
    found = (await kruise.get()).status
    assert (found.updated_available_replicas, found.current_revision) == (3, found.update_revision)
    assert (await kruise.events()).count("SuccessfulUpdatePodInPlace") == 3


def gate_status(pod: Pod) -> str:
    condition = gate(pod)
    return condition.status if condition is not None else ""


async def test_gate_is_closed_before_the_image_changes_and_opens_after(kruise: Kruise) -> None:
    await kruise.create(manifest(replicas=1, updateStrategy=IF_POSSIBLE))
    await kruise.wait()
    (pod,) = await kruise.pods()
    seen: list[tuple[str, str, bool]] = []
    stream = kruise.plane.client.watch(Pod, "default", resource_version=pod.metadata.resource_version or "")
    await kruise.change("web:2")
    await kruise.wait()
    last = (await kruise.pods())[0].metadata.resource_version
    async for event in stream:
        assert event.type is WatchEventType.MODIFIED
        step = (event.object.spec.containers[0].image, gate_status(event.object), is_ready(event.object))
        if not seen or seen[-1] != step:
            seen.append(step)
        if event.object.metadata.resource_version == last:
            break
    assert seen[:2] == [("web:1", "False", False), ("web:2", "False", False)]
    assert seen[-1] == ("web:2", "True", True)
    assert [step for step in seen if step[2] and step[1] != "True"] == [], seen


async def test_other_changes_recreate_pods_where_in_place_is_not_possible(kruise: Kruise) -> None:
    await kruise.create(manifest(updateStrategy=IF_POSSIBLE))
    await kruise.wait()
    before = {pod.metadata.uid for pod in await kruise.pods()}
    changed = template("web:1")
    changed["spec"]["containers"][0]["env"] = [{"name": "A", "value": "b"}]
    await kruise.patch(template=changed)
    await kruise.wait(240)
    after = await kruise.pods()
    assert len(after) == 3
    assert before.isdisjoint(pod.metadata.uid for pod in after)
    assert "SuccessfulUpdatePodReCreate" in await kruise.events()


async def test_recreate_is_the_default(kruise: Kruise) -> None:
    await kruise.create(manifest())
    await kruise.wait()
    before = {pod.metadata.uid for pod in await kruise.pods()}
    await kruise.change("web:2")
    await kruise.wait(240)
    assert await kruise.images() == {"web:2": 3}
    assert before.isdisjoint(pod.metadata.uid for pod in await kruise.pods())


@pytest.mark.parametrize(("partition", "old"), [(2, 2), ("50%", 2), ("100%", 3)])
async def test_partition_keeps_pods_of_the_old_revision(
    kruise: Kruise, partition: int | str, old: int
) -> None:
    await kruise.create(manifest(updateStrategy={**IF_POSSIBLE, "partition": partition}))
    await kruise.wait()
    await kruise.change("web:2")
    await kruise.wait(60)
    expected = {"web:1": old, "web:2": 3 - old}
    assert await kruise.images() == {image: count for image, count in expected.items() if count}
    await kruise.patch(updateStrategy={"partition": 0})
    await kruise.wait(60)
    assert await kruise.images() == {"web:2": 3}


async def test_scaling_up_under_a_partition_creates_pods_of_the_old_revision(kruise: Kruise) -> None:
    await kruise.create(manifest(updateStrategy={**IF_POSSIBLE, "partition": "50%"}))
    await kruise.wait()
    await kruise.change("web:2")
    await kruise.wait(60)
    await kruise.patch(replicas=6)
    await kruise.wait(60)
    assert await kruise.images() == {"web:1": 3, "web:2": 3}


async def test_paused_update_stands_still(kruise: Kruise) -> None:
    await kruise.create(manifest(updateStrategy={**IF_POSSIBLE, "paused": True}))
    await kruise.wait()
    await kruise.change("web:2")
    await kruise.wait(60)
    assert await kruise.images() == {"web:1": 3}
    await kruise.patch(updateStrategy={"paused": False})
    await kruise.wait(60)
    assert await kruise.images() == {"web:2": 3}


async def test_rolling_back_half_way_brings_the_old_image_back(kruise: Kruise) -> None:
    await kruise.create(manifest(replicas=4, updateStrategy={**IF_POSSIBLE, "partition": 2}))
    await kruise.wait()
    before = {pod.metadata.uid for pod in await kruise.pods()}
    await kruise.change("web:2")
    await kruise.wait(60)
    assert await kruise.images() == {"web:1": 2, "web:2": 2}
    await kruise.patch(template=template("web:1"), updateStrategy={"partition": 0})
    await kruise.wait(60)
    assert await kruise.images() == {"web:1": 4}
    assert {pod.metadata.uid for pod in await kruise.pods()} == before
    assert [gate_status(pod) for pod in await kruise.pods()] == ["True"] * 4


async def test_labels_change_without_a_restart(kruise: Kruise) -> None:
    await kruise.create(manifest(updateStrategy=IF_POSSIBLE))
    await kruise.wait()
    changed = template()
    changed["metadata"]["labels"]["tier"] = "front"
    await kruise.patch(template=changed)
    await kruise.wait(60)
    for pod in await kruise.pods():
        assert (pod.metadata.labels["tier"], pod.status.container_statuses[0].restart_count) == ("front", 0)


async def test_at_most_max_unavailable_pods_change_at_the_same_time(tmp_path: Path) -> None:
    slow = Scenario(images={"*web:2": ImageScript(pull_seconds=3)})
    async with kruise_cluster(tmp_path, slow) as kruise:
        await kruise.create(manifest(replicas=6, updateStrategy={**IF_POSSIBLE, "maxUnavailable": 2}))
        await kruise.wait()
        await kruise.change("web:2")
        least = 6
        for _ in range(30):
            await kruise.wait(1)
            least = min(least, sum(is_ready(pod) for pod in await kruise.pods()))
        assert least == 4
        assert await kruise.images() == {"web:2": 6}


async def test_image_that_cannot_be_pulled_stops_the_update_and_can_be_replaced(tmp_path: Path) -> None:
    absent = Scenario(images={"*web:2": ImageScript(missing=True)})
    async with kruise_cluster(tmp_path, absent) as kruise:
        await kruise.create(manifest(replicas=4, updateStrategy={**IF_POSSIBLE, "maxUnavailable": 1}))
        await kruise.wait()
        await kruise.change("web:2")
        await kruise.wait(120)
        assert await kruise.images() == {"web:1": 3, "web:2": 1}
        assert sum(is_ready(pod) for pod in await kruise.pods()) == 3
        await kruise.change("web:1")
        await kruise.wait(400)
        assert await kruise.images() == {"web:1": 4}
        assert sum(is_ready(pod) for pod in await kruise.pods()) == 4
