"""Updates of sidecars in living pods on a simulated node, in virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import Pod
from podling.machinery.conditions import find
from podling.machinery.pods import is_ready
from podling.runtime.sim import ImageScript, Scenario
from podling_kruise.sidecarset.annotations import record_of
from podling_kruise.sidecarset.types import SidecarSet, SidecarSetStatus
from tests.support.clone_sets import Kruise, kruise_cluster
from tests.support.control_loops import told
from tests.support.kubelet_node import NODE
from tests.support.sidecar_sets import change_set, create, get_set, images, pod, run_pods, sidecar_set

SLOW = Scenario(images={"*slow:*": ImageScript(pull_seconds=30), "*absent:*": ImageScript(missing=True)})
HOT = {"upgradeType": "HotUpgrade", "hotUpgradeEmptyImage": "empty:1"}


@pytest.fixture
async def kruise(tmp_path: Path) -> AsyncIterator[Kruise]:
    async with kruise_cluster(tmp_path, SLOW) as found:
        yield found


def agent(image: str, **more: Any) -> list[dict[str, Any]]:
    return [{"name": "agent", "image": image, **more}]


def mesh(image: str) -> list[dict[str, Any]]:
    return [{"name": "mesh", "image": image, "upgradeStrategy": HOT}]


async def status_of(kruise: Kruise) -> SidecarSetStatus:
    return (await get_set(kruise)).status


def numbers(status: SidecarSetStatus) -> tuple[int, int, int, int]:
    return status.matched_pods, status.updated_pods, status.ready_pods, status.updated_ready_pods


async def updated(kruise: Kruise, image: str) -> list[str]:
    return [pod.metadata.name or "" for pod in await kruise.pods() if images(pod)["agent"] == image]


async def test_status_counts_matching_updated_and_ready_pods(kruise: Kruise) -> None:
    await create(kruise, sidecar_set())
    await run_pods(kruise, 3)
    status = await status_of(kruise)
    assert numbers(status) == (3, 3, 3, 3)
    assert status.observed_generation == 1
    revision = await kruise.client.get(ControllerRevision, status.latest_revision, "kruise-system")
    assert revision.data["spec"]["containers"][0]["image"] == "agent:1"


@pytest.mark.parametrize("kind", ["RollingUpdate", "InPlaceIfPossible", "InPlaceOnly"])
async def test_new_image_is_started_in_the_living_pods_one_after_the_other(kruise: Kruise, kind: str) -> None:
    await create(kruise, sidecar_set(updateStrategy={"type": kind}))
    before = await run_pods(kruise, 3)
    seen: list[int] = []
    stream = kruise.client.watch(
        Pod, "default", resource_version=max(each.metadata.resource_version or "" for each in before)
    )
    await change_set(kruise, containers=agent("agent:2"))
    in_update: dict[str | None, bool] = {}
    await kruise.wait(60)
    after = await kruise.pods()
    last = {each.metadata.uid: each.metadata.resource_version for each in after}
    left = set(last.values())
    async for event in stream:
        shown = {one.name: one.image for one in event.object.status.container_statuses}
        in_update[event.object.metadata.name] = images(event.object)["agent"] != shown["agent"]
        seen.append(sum(in_update.values()))
        left.discard(event.object.metadata.resource_version)
        if not left:
            break
    assert max(seen) == 1
    assert [each.metadata.uid for each in after] == [each.metadata.uid for each in before]
    for each in after:
        assert images(each) == {"agent": "agent:2", "main": "web:1"}
        counts = {one.name: one.restart_count for one in each.status.container_statuses}
        assert counts == {"agent": 1, "main": 0}
        condition = find(each.status.conditions, "SidecarSetUpgradable")
        assert condition is not None
        assert (condition.status, condition.reason) == ("True", "AllSidecarsetUpgradable")
        assert condition.message == '{"sidecars":true}'
    assert numbers(await status_of(kruise)) == (3, 3, 3, 3)


async def test_change_of_more_than_images_updates_no_pod_and_says_so(kruise: Kruise) -> None:
    await create(kruise, sidecar_set())
    await run_pods(kruise)
    await change_set(kruise, containers=agent("agent:2", args=["--verbose"]))
    await kruise.wait()
    (found,) = await kruise.pods()
    assert images(found)["agent"] == "agent:1"
    condition = find(found.status.conditions, "SidecarSetUpgradable")
    assert condition is not None
    assert (condition.status, condition.reason) == ("False", "UpdateImmutableField")
    said = [text for text in await told(kruise.client) if "NotUpgradablePods" in text]
    assert "detected 1 not upgradable pod(s) in this round, will skip them." in said[0]
    await change_set(kruise, containers=agent("agent:2", args=None))
    await kruise.wait(60)
    (found,) = await kruise.pods()
    assert images(found)["agent"] == "agent:2"
    condition = find(found.status.conditions, "SidecarSetUpgradable")
    assert condition is not None
    assert condition.status == "True"


@pytest.mark.parametrize("strategy", [{"type": "NotUpdate"}, {"type": "ReCreate"}, {"paused": True}])
async def test_pods_are_not_updated_where_the_strategy_says_so(
    kruise: Kruise, strategy: dict[str, Any]
) -> None:
    await create(kruise, sidecar_set(updateStrategy=strategy))
    await run_pods(kruise)
    await change_set(kruise, containers=agent("agent:2"))
    await kruise.wait(60)
    assert await updated(kruise, "agent:2") == []
    assert numbers(await status_of(kruise))[:2] == (1, 0)
    await kruise.client.create(pod("new", node=NODE))
    assert await updated(kruise, "agent:2") == ["new"]
    await change_set(kruise, updateStrategy={"type": "RollingUpdate", "paused": False})
    await kruise.wait(60)
    assert len(await updated(kruise, "agent:2")) == 2


async def test_partition_keeps_pods_at_the_old_revision(kruise: Kruise) -> None:
    await create(kruise, sidecar_set(updateStrategy={"partition": "50%", "maxUnavailable": 4}))
    await run_pods(kruise, 4)
    await change_set(kruise, containers=agent("agent:2"))
    await kruise.wait(60)
    assert len(await updated(kruise, "agent:2")) == 2
    await change_set(kruise, updateStrategy={"partition": 0})
    await kruise.wait(60)
    assert len(await updated(kruise, "agent:2")) == 4


async def test_selector_names_the_pods_to_update(kruise: Kruise) -> None:
    selector = {"matchLabels": {"canary": "true"}}
    await create(kruise, sidecar_set(updateStrategy={"selector": selector}))
    await run_pods(kruise, 2)
    await change_set(kruise, containers=agent("agent:2"))
    await kruise.wait(60)
    assert await updated(kruise, "agent:2") == []
    label = {"metadata": {"labels": {"canary": "true"}}}
    await kruise.client.patch(Pod, "web-1", label, "default")
    await kruise.wait(60)
    assert await updated(kruise, "agent:2") == ["web-1"]


async def test_image_that_cannot_be_pulled_stops_the_update_and_can_be_taken_back(kruise: Kruise) -> None:
    await create(kruise, sidecar_set())
    await run_pods(kruise, 3)
    await change_set(kruise, containers=agent("absent:1"))
    await kruise.wait(120)
    assert len(await updated(kruise, "absent:1")) == 1
    await change_set(kruise, containers=agent("agent:1"))
    await kruise.wait(120)
    assert len(await updated(kruise, "agent:1")) == 3
    assert numbers(await status_of(kruise)) == (3, 3, 3, 3)


async def test_hot_upgrade_starts_the_new_container_before_the_old_one_becomes_empty(kruise: Kruise) -> None:
    await create(kruise, sidecar_set(containers=mesh("mesh:1")))
    (before,) = await run_pods(kruise)
    assert images(before) == {"mesh-1": "mesh:1", "mesh-2": "empty:1", "main": "web:1"}
    await change_set(kruise, containers=mesh("slow:2"))
    await kruise.wait(10)
    (during,) = await kruise.pods()
    assert images(during) == {"mesh-1": "mesh:1", "mesh-2": "slow:2", "main": "web:1"}
    await kruise.wait(120)
    (after,) = await kruise.pods()
    assert after.metadata.uid == before.metadata.uid
    assert images(after) == {"mesh-1": "empty:1", "mesh-2": "slow:2", "main": "web:1"}
    assert after.metadata.annotations["kruise.io/sidecarset-working-hotupgrade-container"] == (
        '{"mesh":"mesh-2"}'
    )
    assert after.metadata.annotations["version.sidecarset.kruise.io/mesh-1"] == "0"
    assert after.metadata.annotations["version.sidecarset.kruise.io/mesh-2"] not in ("0", "1")
    assert is_ready(after)
    said = [text for text in await told(kruise.client) if "ResetContainerSucceed" in text]
    assert "reset sidecar container image empty successfully" in said[0]
    await change_set(kruise, containers=mesh("mesh:3"))
    await kruise.wait(60)
    (again,) = await kruise.pods()
    assert images(again) == {"mesh-1": "mesh:3", "mesh-2": "empty:1", "main": "web:1"}
    assert numbers(await status_of(kruise)) == (1, 1, 1, 1)


async def test_revision_to_inject_is_chosen_by_custom_version_or_name(kruise: Kruise) -> None:
    await create(kruise, sidecar_set(customVersion="one"))
    await kruise.wait(1)
    first = (await status_of(kruise)).latest_revision
    await change_set(kruise, customVersion="two", containers=agent("agent:2"))
    await kruise.wait(1)
    await change_set(kruise, injectionStrategy={"revision": {"customVersion": "one"}})
    made = await kruise.client.create(pod("a"))
    assert images(made)["agent"] == "agent:1"
    assert record_of(made, "sidecars").revision == first
    await change_set(kruise, injectionStrategy={"revision": {"customVersion": "two"}})
    assert images(await kruise.client.create(pod("b")))["agent"] == "agent:2"
    wanted = {"customVersion": None, "revisionName": first, "policy": "Partial"}
    selector = {"matchLabels": {"new": "true"}}
    await change_set(kruise, injectionStrategy={"revision": wanted}, updateStrategy={"selector": selector})
    assert images(await kruise.client.create(pod("c")))["agent"] == "agent:1"
    chosen = pod("d", labels={"app": "web", "new": "true"})
    assert images(await kruise.client.create(chosen))["agent"] == "agent:2"
    await change_set(kruise, updateStrategy={"selector": selector, "paused": True})
    paused = pod("e", labels={"app": "web", "new": "true"})
    assert images(await kruise.client.create(paused))["agent"] == "agent:1"


async def test_old_revisions_are_forgotten_but_not_those_of_pods(kruise: Kruise) -> None:
    strategy = {"type": "NotUpdate"}
    await create(kruise, sidecar_set(revisionHistoryLimit=2, updateStrategy=strategy))
    await kruise.wait(1)
    first = (await status_of(kruise)).latest_revision
    await run_pods(kruise)
    for number in range(2, 6):
        await change_set(kruise, containers=agent(f"agent:{number}"))
        await kruise.wait(1)
    found = (await kruise.client.list(ControllerRevision, "kruise-system")).items
    assert [each.data["spec"]["containers"][0]["image"] for each in sorted(found, key=_number)] == [
        "agent:1",
        "agent:5",
    ]
    assert first in {each.metadata.name for each in found}


def _number(revision: ControllerRevision) -> int:
    return revision.revision


async def test_sidecars_of_a_deleted_set_stay_in_their_pods(kruise: Kruise) -> None:
    await create(kruise, sidecar_set())
    await run_pods(kruise)
    await kruise.client.delete(SidecarSet, "sidecars")
    await kruise.wait()
    (found,) = await kruise.pods()
    assert images(found) == {"agent": "agent:1", "main": "web:1"}


async def test_annotations_change_with_the_image_by_the_policy_of_each_patch(tmp_path: Path) -> None:
    def patches(value: str) -> list[dict[str, Any]]:
        merged = f'{{"agent":{value}}}'
        return [
            {"annotations": {"retained": value}, "patchPolicy": "Retain"},
            {"annotations": {"overwritten": value}, "patchPolicy": "Overwrite"},
            {"annotations": {"merged": merged}, "patchPolicy": "MergePatchJson"},
        ]

    def shown(found: Pod) -> list[str]:
        return [found.metadata.annotations[key] for key in ("retained", "overwritten", "merged")]

    async with kruise_cluster(tmp_path, SidecarSetPatchPodMetadataDefaultsAllowed=True) as kruise:
        await create(kruise, sidecar_set(patchPodMetadata=patches("1")))
        await run_pods(kruise)
        note = {"metadata": {"annotations": {"merged": '{"agent":1,"main":2}'}}}
        await kruise.client.patch(Pod, "web-0", note, "default")
        await change_set(kruise, patchPodMetadata=patches("2"))
        await kruise.wait(60)
        (same,) = await kruise.pods()
        assert shown(same) == ["1", "1", '{"agent":1,"main":2}']  # annotations alone update nothing
        await change_set(kruise, containers=agent("agent:2"), patchPodMetadata=patches("3"))
        await kruise.wait(60)
        (after,) = await kruise.pods()
        assert images(after)["agent"] == "agent:2"
        assert shown(after) == ["1", "3", '{"agent":3,"main":2}']


@pytest.mark.parametrize(("partition", "least", "most"), [("0%", 40, 40), ("70%", 4, 20), ("100%", 0, 0)])
async def test_share_of_new_pods_gets_the_newest_sidecars(
    kruise: Kruise, partition: str, least: int, most: int
) -> None:
    await create(kruise, sidecar_set(updateStrategy={"partition": partition}))
    await kruise.wait(1)
    revision = {"revisionName": (await status_of(kruise)).latest_revision, "policy": "Partial"}
    await change_set(kruise, containers=agent("agent:2"), injectionStrategy={"revision": revision})
    await kruise.wait(1)
    made = [await kruise.client.create(pod(f"p-{number}")) for number in range(40)]
    new = sum(images(each)["agent"] == "agent:2" for each in made)
    assert least <= new <= most


async def test_native_sidecar_is_injected_and_is_not_updated(kruise: Kruise) -> None:
    native = {"name": "native", "image": "native:1", "restartPolicy": "Always"}
    await create(
        kruise, sidecar_set(containers=[], initContainers=[native], updateStrategy={"type": "NotUpdate"})
    )
    (before,) = await run_pods(kruise)
    (sidecar,) = before.spec.init_containers
    assert (sidecar.name, sidecar.restart_policy, is_ready(before)) == ("native", "Always", True)
    assert before.status.init_container_statuses[0].state.running is not None
    await change_set(kruise, initContainers=[{**native, "image": "native:2"}])
    await kruise.wait(60)
    (after,) = await kruise.pods()
    assert after.spec.init_containers[0].image == "native:1"
    new = await kruise.client.create(pod("new", node=NODE))
    assert new.spec.init_containers[0].image == "native:2"
