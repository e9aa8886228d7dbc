"""An image that is changed in a living pod: the new image comes first, then the old container ends."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from podling.api.core_v1 import ContainerStatus, Pod
from podling.client.base import PatchType
from podling.runtime.sim import Scenario
from podling.runtime.sim.script import ImageScript
from podling.testing import ControlPlane
from tests.support.kubelet_node import SimNode, condition, pod, sim_node

PENDING = "podling.dev/ImageChangePending"
IMAGES = {
    "docker.io/library/slow:*": ImageScript(pull_seconds=60),
    "docker.io/library/absent:*": ImageScript(missing=True),
}


@pytest.fixture
async def node(cluster: ControlPlane, tmp_path: Path) -> AsyncIterator[SimNode]:
    async with sim_node(cluster, tmp_path, Scenario(images=IMAGES)) as found:
        yield found


async def change(node: SimNode, image: str, name: str = "app") -> None:
    patch = {"spec": {"containers": [{"name": name, "image": image}]}}
    await node.client.patch(Pod, "web", patch, "default", patch_type=PatchType.STRATEGIC)


async def status(node: SimNode, name: str = "app") -> ContainerStatus:
    return next(each for each in (await node.get()).status.container_statuses if each.name == name)


def started(found: ContainerStatus) -> Any:
    return found.state.running.started_at if found.state.running is not None else None


async def test_old_container_runs_while_the_new_image_is_pulled(node: SimNode) -> None:
    await node.create(pod())
    await node.pass_time(5)
    before = await status(node)
    await change(node, "slow:2")
    await node.pass_time(50)
    assert (await status(node)).container_id == before.container_id
    assert condition(await node.get(), "Ready") == "True"
    await node.pass_time(15)
    after = await status(node)
    assert (after.image, after.restart_count) == ("slow:2", 1)
    assert after.image_id != before.image_id


async def test_old_container_stays_where_the_new_image_cannot_be_pulled(node: SimNode) -> None:
    await node.create(pod())
    await node.pass_time(5)
    before = await status(node)
    await change(node, "absent:2")
    await node.pass_time(120)
    found = await node.get()
    assert await status(node) == before
    assert condition(found, "Ready") == "True"
    assert condition(found, PENDING) == "True ImagePullBackOff"
    events = [each.split(":")[0] for each in await node.events()]
    assert {"Pulling", "Failed", "BackOff"} <= set(events)
    assert "Killing" not in events


async def test_condition_names_the_container_and_the_image(node: SimNode) -> None:
    await node.create(pod())
    await node.pass_time(5)
    await change(node, "absent:2")
    await node.pass_time(5)
    held = next(each for each in (await node.get()).status.conditions if each.type == PENDING)
    assert (held.message or "").startswith('container app: Back-off pulling image "absent:2": ErrImagePull:')


@pytest.mark.parametrize("image", ["absent:2", "slow:2"])
async def test_change_that_is_taken_back_restarts_nothing(node: SimNode, image: str) -> None:
    await node.create(pod())
    await node.pass_time(5)
    before = await status(node)
    await change(node, image)
    await node.pass_time(30)
    await change(node, "app:1")
    await node.pass_time(2)
    found = await node.get()
    assert await status(node) == before
    assert condition(found, PENDING) == "absent"
    assert found.status.observed_generation == found.metadata.generation
    await node.pass_time(120)
    assert (await status(node)).container_id == before.container_id


async def test_another_image_is_taken_at_once_in_place_of_one_that_is_pulled(node: SimNode) -> None:
    await node.create(pod())
    await node.pass_time(5)
    await change(node, "slow:2")
    await node.pass_time(10)
    await change(node, "app:3")
    await node.pass_time(5)
    assert (await status(node)).image == "app:3"


async def test_each_container_changes_for_itself(node: SimNode) -> None:
    names = [{"name": "app", "image": "app:1"}, {"name": "other", "image": "other:1"}]
    await node.create(pod(containers=names))
    await node.pass_time(5)
    patch = {
        "spec": {"containers": [{"name": "app", "image": "absent:2"}, {"name": "other", "image": "other:2"}]}
    }
    await node.client.patch(Pod, "web", patch, "default", patch_type=PatchType.STRATEGIC)
    await node.pass_time(30)
    assert (await status(node)).restart_count == 0
    assert (await status(node, "other")).restart_count == 1


async def test_old_container_that_ends_meanwhile_waits_for_the_image(node: SimNode) -> None:
    await node.create(pod(script={"runs": [{"seconds": 60, "exitCode": 1}]}))
    await node.pass_time(5)
    await change(node, "absent:2")
    await node.pass_time(120)
    waiting = (await status(node)).state.waiting
    assert waiting is not None
    assert waiting.reason in ("ErrImagePull", "ImagePullBackOff")
    assert condition(await node.get(), PENDING) == "absent"


async def test_images_in_turn_start_without_back_off(node: SimNode) -> None:
    await node.create(pod())
    await node.pass_time(5)
    for number in range(6):
        await change(node, f"app:{number % 2 + 2}")
        await node.pass_time(3)
        assert (await status(node)).restart_count == number + 1
        assert started(await status(node)) is not None
    assert not [each for each in await node.events() if each.startswith("BackOff")]


async def test_sidecar_stays_where_its_new_image_cannot_be_pulled(node: SimNode) -> None:
    side = {"name": "side", "image": "side:1", "restartPolicy": "Always"}
    await node.create(pod(initContainers=[side]))
    await node.pass_time(5)
    patch = {"spec": {"initContainers": [{"name": "side", "image": "absent:2"}]}}
    await node.client.patch(Pod, "web", patch, "default", patch_type=PatchType.STRATEGIC)
    await node.pass_time(60)
    found = await node.get()
    (held,) = found.status.init_container_statuses
    assert (held.restart_count, held.state.running is not None) == (0, True)
    assert condition(found, PENDING) == "True ImagePullBackOff"
