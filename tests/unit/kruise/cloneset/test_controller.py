"""CloneSets from their creation to their end: numbers of pods, claims, hooks, revisions and status."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import Pod
from podling.machinery.conditions import find
from podling.machinery.pods import is_ready
from podling.runtime.sim import ImageScript, Scenario
from podling_kruise.cloneset.types import CloneSet
from podling_kruise.names import LIFECYCLE_STATE
from tests.support.clone_sets import Kruise, kruise_cluster, manifest, template

IF_POSSIBLE = {"type": "InPlaceIfPossible"}


IMAGES = Scenario(images={"*slow:*": ImageScript(pull_seconds=3), "*absent:*": ImageScript(missing=True)})


@pytest.fixture
async def kruise(tmp_path: Path) -> AsyncIterator[Kruise]:
    async with kruise_cluster(tmp_path, IMAGES) as found:
        yield found


async def uids(kruise: Kruise) -> set[str]:
    return {pod.metadata.uid or "" for pod in await kruise.pods()}


async def test_number_of_pods_follows_the_scale(kruise: Kruise) -> None:
    await kruise.create(manifest())
    await kruise.wait()
    status = (await kruise.get()).status
    assert (status.replicas, status.ready_replicas, status.available_replicas) == (3, 3, 3)
    resource = CloneSet.custom_resource
    scale = await kruise.client.get_scale(resource, "web", "default")
    assert (scale.spec.replicas, scale.status.replicas, scale.status.selector) == (3, 3, "app=web")
    for number in (5, 1, 0):
        scale = await kruise.client.get_scale(resource, "web", "default")
        await kruise.patch(replicas=number)
        await kruise.wait(120)
        assert len(await kruise.pods()) == number


async def test_pod_that_is_deleted_is_replaced(kruise: Kruise) -> None:
    await kruise.create(manifest())
    await kruise.wait()
    before = await kruise.pods()
    await kruise.client.delete(Pod, before[0].metadata.name or "", "default", grace_seconds=0)
    await kruise.wait()
    assert len(await uids(kruise) & {pod.metadata.uid for pod in before}) == 2
    assert len(await kruise.pods()) == 3


HOOK = {"labelsHandler": {"example.com/hold": "true"}}


async def release(kruise: Kruise, pod: Pod) -> None:
    patch = {"metadata": {"labels": {"example.com/hold": None}}}
    await kruise.client.patch(Pod, pod.metadata.name or "", patch, "default")


def held(**spec: Any) -> dict[str, Any]:
    made = template()
    made["metadata"]["labels"]["example.com/hold"] = "true"
    return manifest(template=made, **spec)


async def test_hook_holds_a_pod_before_it_is_deleted(kruise: Kruise) -> None:
    await kruise.create(held(lifecycle={"preDelete": HOOK}))
    await kruise.wait()
    await kruise.patch(replicas=2)
    await kruise.wait(60)
    pods = await kruise.pods()
    states = sorted(pod.metadata.labels[LIFECYCLE_STATE] for pod in pods)
    assert states == ["Normal", "Normal", "PreparingDelete"]
    doomed = next(pod for pod in pods if pod.metadata.labels[LIFECYCLE_STATE] == "PreparingDelete")
    await release(kruise, doomed)
    await kruise.wait(60)
    assert doomed.metadata.uid not in await uids(kruise)
    assert len(await kruise.pods()) == 2


async def test_pod_that_prepares_for_deletion_lives_on_when_it_is_needed_again(kruise: Kruise) -> None:
    await kruise.create(held(lifecycle={"preDelete": HOOK}))
    await kruise.wait()
    before = await uids(kruise)
    await kruise.patch(replicas=2)
    await kruise.wait(60)
    await kruise.patch(replicas=3)
    await kruise.wait(60)
    assert await uids(kruise) == before
    assert {pod.metadata.labels[LIFECYCLE_STATE] for pod in await kruise.pods()} == {"Normal"}


async def test_hook_holds_a_pod_before_and_after_it_is_updated(kruise: Kruise) -> None:
    await kruise.create(held(replicas=1, updateStrategy=IF_POSSIBLE, lifecycle={"inPlaceUpdate": HOOK}))
    await kruise.wait()
    changed = template("web:2")
    changed["metadata"]["labels"]["example.com/hold"] = "true"
    await kruise.patch(template=changed)
    await kruise.wait()
    (pod,) = await kruise.pods()
    assert (pod.metadata.labels[LIFECYCLE_STATE], pod.spec.containers[0].image) == (
        "PreparingUpdate",
        "web:1",
    )
    await release(kruise, pod)
    await kruise.wait()
    (pod,) = await kruise.pods()
    assert (pod.metadata.labels[LIFECYCLE_STATE], pod.spec.containers[0].image) == ("Updated", "web:2")
    assert (await kruise.get()).status.available_replicas == 0
    label = {"metadata": {"labels": {"example.com/hold": "true"}}}
    await kruise.client.patch(Pod, pod.metadata.name or "", label, "default")
    await kruise.wait()
    assert (await kruise.pods())[0].metadata.labels[LIFECYCLE_STATE] == "Normal"
    assert (await kruise.get()).status.available_replicas == 1


async def test_new_pod_waits_for_its_whole_hook(kruise: Kruise) -> None:
    await kruise.create(manifest(replicas=1, lifecycle={"preNormal": HOOK}))
    await kruise.wait()
    (pod,) = await kruise.pods()
    assert (pod.metadata.labels[LIFECYCLE_STATE], is_ready(pod)) == ("PreparingNormal", True)
    assert (await kruise.get()).status.available_replicas == 0
    label = {"metadata": {"labels": {"example.com/hold": "true"}}}
    await kruise.client.patch(Pod, pod.metadata.name or "", label, "default")
    await kruise.wait()
    assert (await kruise.get()).status.available_replicas == 1


async def test_history_keeps_revisions_up_to_its_limit(kruise: Kruise) -> None:
    await kruise.create(manifest(replicas=1, updateStrategy=IF_POSSIBLE, revisionHistoryLimit=2))
    await kruise.wait()
    for number in range(2, 7):
        await kruise.change(f"web:{number}")
        await kruise.wait()
    found = (await kruise.client.list(ControllerRevision, "default")).items
    assert sorted(each.revision for each in found) == [4, 5, 6]
    await kruise.change("web:5")
    await kruise.wait()
    found = (await kruise.client.list(ControllerRevision, "default")).items
    assert sorted(each.revision for each in found) == [4, 6, 7]


async def test_progress_of_an_update_is_a_condition(kruise: Kruise) -> None:
    await kruise.create(manifest(updateStrategy=IF_POSSIBLE, progressDeadlineSeconds=60))
    await kruise.wait()
    assert await progress(kruise) == ("True", "CloneSetAvailable")
    await kruise.patch(updateStrategy={"partition": 2})
    await kruise.change("web:2")
    await kruise.wait()
    assert await progress(kruise) == ("True", "ProgressPartitionAvailable")
    await kruise.patch(updateStrategy={"paused": True})
    await kruise.wait()
    assert await progress(kruise) == ("True", "CloneSetPaused")
    await kruise.patch(template=template("absent:3"), updateStrategy={"paused": False, "partition": 0})
    await kruise.wait(50)
    assert await progress(kruise) == ("True", "CloneSetUpdated")
    await kruise.wait(30)
    assert await progress(kruise) == ("False", "ProgressDeadlineExceeded")


async def progress(kruise: Kruise) -> tuple[str, str]:
    found = find((await kruise.get()).status.conditions, "Progressing")
    assert found is not None
    return found.status, found.reason


async def test_priorities_decide_which_pods_are_updated_first(kruise: Kruise) -> None:
    order = {"orderPriority": [{"orderedKey": "rank"}]}
    strategy = {**IF_POSSIBLE, "partition": 2, "priorityStrategy": order}
    await kruise.create(manifest(updateStrategy=strategy))
    await kruise.wait()
    for rank, pod in enumerate(await kruise.pods()):
        label = {"metadata": {"labels": {"rank": f"r-{rank}"}}}
        await kruise.client.patch(Pod, pod.metadata.name or "", label, "default")
    await kruise.change("web:2")
    await kruise.wait(60)
    assert [pod.spec.containers[0].image for pod in await kruise.pods()] == ["web:1", "web:1", "web:2"]


async def test_pods_of_a_deleted_clone_set_are_not_replaced(kruise: Kruise) -> None:
    await kruise.create(manifest())
    await kruise.wait()
    pod = (await kruise.pods())[0]
    await kruise.client.delete(CloneSet, "web", "default", propagation="Orphan")
    await kruise.wait()
    await kruise.client.delete(Pod, pod.metadata.name or "", "default", grace_seconds=0)
    await kruise.wait()
    assert len(await kruise.pods()) == 2


async def test_orphans_are_not_adopted(kruise: Kruise) -> None:
    plain = {
        "metadata": {"name": "lone", "namespace": "default", "labels": {"app": "web"}},
        "spec": template()["spec"],
    }
    await kruise.client.create(msgspec.convert(plain, Pod))
    await kruise.create(manifest(replicas=1))
    await kruise.wait()
    lone = await kruise.client.get(Pod, "lone", "default")
    assert lone.metadata.owner_references == ()
    assert len(await kruise.pods()) == 2
