"""Volumes that cannot be set up: when they are tried again, and the FailedMount events about them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from podling import clock
from podling.api.core_v1 import ConfigMap, Event, Pod, Secret
from podling.api.meta_v1 import ObjectMeta
from podling.client.events import GATHER_SECONDS
from podling.client.informer import Informer
from podling.kubelet.config import KubeletConfig
from podling.runtime.sim import Scenario
from podling.testing import ControlPlane
from tests.support.kubelet_node import SimNode, pod, sim_node, unmount_volumes

TRIES = [0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 63.5, 127.5, 249.5, 371.5]
"""The seconds from the first failure to each one: waits of 500 ms, doubled each time up to 122 s."""

MISSING = 'MountVolume.SetUp failed for volume "{}" : configmap "{}" not found'


@pytest.fixture(params=[True, False], ids=["files", "simulated"])
async def node(
    request: pytest.FixtureRequest, cluster: ControlPlane, tmp_path: Path
) -> AsyncIterator[SimNode]:
    """A node that writes files and follows their sources, and one that does neither."""
    config = KubeletConfig(
        node_addresses=("192.168.0.10",), cluster_dns=("10.96.0.10",), write_files=request.param
    )
    async with sim_node(cluster, tmp_path, Scenario(), config) as found:
        yield found
    unmount_volumes(tmp_path)


class FailedMounts:
    """Every occurrence of a FailedMount event in the namespace, with the second in which it happened."""

    def __init__(self, node: SimNode) -> None:
        self._began: float | None = None
        self.found: list[tuple[float, str]] = []
        self._informer = Informer(node.client, Event, "default")
        self._informer.add_handler(self._note, lambda old, new: self._note(new), lambda old: None)
        self._task = asyncio.create_task(self._informer.run())

    def _note(self, event: Event) -> None:
        if event.reason == "FailedMount":
            now = clock.monotonic() - GATHER_SECONDS
            self._began = now if self._began is None else self._began
            self.found.append((round(now - self._began, 1), event.message or ""))

    def times(self, message: str) -> list[float]:
        return [seconds for seconds, text in self.found if text == message]

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


@pytest.fixture
async def failed(node: SimNode) -> AsyncIterator[FailedMounts]:
    found = FailedMounts(node)
    yield found
    await found.close()


def user_of(*config_maps: str, **spec: Any) -> Pod:
    """Return a pod with a volume for each of these ConfigMaps, with the name of the ConfigMap."""
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in config_maps]
    volumes = [{"name": name, "configMap": {"name": name}} for name in config_maps]
    return pod(
        containers=[{"name": "app", "image": "app:1", "volumeMounts": mounts}], volumes=volumes, **spec
    )


async def create(node: SimNode, name: str, **data: str) -> ConfigMap:
    metadata = ObjectMeta(name=name, namespace="default")
    return await node.client.create(ConfigMap(metadata=metadata, data=data))


async def test_missing_config_map_is_reported_once_for_each_wait(node: SimNode, failed: FailedMounts) -> None:
    await node.create(user_of("settings"))
    await node.pass_time(400)
    assert failed.found == [(seconds, MISSING.format("settings", "settings")) for seconds in TRIES]
    (event,) = [
        found for found in (await node.client.list(Event, "default")).items if found.reason == "FailedMount"
    ]
    assert (event.count, event.type, event.source.component) == (len(TRIES), "Warning", "kubelet")


async def test_passes_of_the_pod_shorten_no_wait(node: SimNode, failed: FailedMounts) -> None:
    """A change of the pod is synced at once; the volume is tried when its wait is over."""
    await node.create(user_of("settings"))
    for number in range(100):
        await node.pass_time(0.1)
        patch = {"metadata": {"labels": {"number": str(number)}}}
        await node.client.patch(Pod, "web", patch, "default")
    assert [seconds for seconds, _ in failed.found] == TRIES[:5]


async def test_passes_of_the_pod_try_no_volume_before_its_wait_is_over(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    """No watch reports a directory of the node: the pod finds it at its next try."""
    config = KubeletConfig(node_addresses=("192.168.0.10",), write_files=True)
    directory = tmp_path / "late"
    async with sim_node(cluster, tmp_path / "node", Scenario(), config) as node:
        volume = {"name": "late", "hostPath": {"path": str(directory), "type": "Directory"}}
        await node.create(pod(containers=[_plain(user_of("late"))], volumes=[volume]))
        await node.pass_time(4)
        directory.mkdir()
        for number in range(34):  # the fifth try is made after 7.5 s
            await node.pass_time(0.1)
            patch = {"metadata": {"labels": {"number": str(number)}}}
            await node.client.patch(Pod, "web", patch, "default")
        assert (await node.get()).status.phase == "Pending"
        await node.pass_time(0.4)
        assert (await node.get()).status.phase == "Running"


async def test_each_volume_has_a_back_off_of_its_own(node: SimNode, failed: FailedMounts) -> None:
    """The second volume is set up in the meantime, which neither delays nor speeds up the first one."""
    await node.create(user_of("one", "two"))
    await node.pass_time(10)
    assert failed.times(MISSING.format("one", "one")) == TRIES[:5]
    assert failed.times(MISSING.format("two", "two")) == TRIES[:5]
    await create(node, "two", key="value")
    await node.pass_time(20)
    assert failed.times(MISSING.format("one", "one")) == TRIES[:6], "not sooner for the other's sake"
    assert failed.times(MISSING.format("two", "two")) == TRIES[:5]
    await create(node, "one", key="value")
    await node.pass_time(0.5)
    assert (await node.get()).status.phase == "Running"
    await node.pass_time(200)
    assert len(failed.found) == 11


@pytest.mark.parametrize("waited", [0.2, 1.0, 5.0, 20.0, 100.0, 200.0, 600.0])
async def test_config_map_that_appears_starts_the_waiting_pod(node: SimNode, waited: float) -> None:
    await node.create(user_of("settings"))
    await node.pass_time(waited)
    assert (await node.get()).status.phase == "Pending"
    await create(node, "settings", key="value")
    await node.pass_time(0.5)
    assert (await node.get()).status.phase == "Running"


async def test_changes_of_a_source_that_still_lacks_the_key_are_no_further_events(
    node: SimNode, failed: FailedMounts
) -> None:
    """The first change has another reason for the failure, so it is reported; the others are not."""
    items = [{"key": "password", "path": "password"}]
    subject = user_of("login")
    volume = {"name": "login", "secret": {"secretName": "login", "items": items}}
    await node.create(pod(containers=[_plain(subject)], volumes=[volume]))
    await node.pass_time(5)
    head = 'MountVolume.SetUp failed for volume "login" : '
    assert failed.times(f'{head}secret "login" not found') == TRIES[:4]
    metadata = ObjectMeta(name="login", namespace="default")
    secret = await node.client.create(Secret(metadata=metadata, data={"user": ""}))
    for number in range(50):
        await node.pass_time(0.1)
        secret = await node.client.update(structs.replace(secret, data={"user": "", f"n{number}": ""}))
    text = f"{head}references non-existent secret key: password"
    (seconds,) = failed.times(text)
    assert seconds < 5.5
    await node.pass_time(5)
    assert len(failed.times(text)) == 2, "8 s after the first one"
    await node.client.update(structs.replace(secret, data={"password": ""}))
    await node.pass_time(0.5)
    assert (await node.get()).status.phase == "Running"


def _plain(subject: Pod) -> dict[str, Any]:
    (container,) = subject.spec.containers
    mounts = [{"name": mount.name, "mountPath": mount.mount_path} for mount in container.volume_mounts]
    return {"name": container.name, "image": container.image, "volumeMounts": mounts}


async def test_back_off_begins_anew_after_the_volume_was_set_up(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    """The ConfigMap of a running pod is deleted, comes again, and is deleted again."""
    config = KubeletConfig(node_addresses=("192.168.0.10",), write_files=True)
    async with sim_node(cluster, tmp_path, Scenario(), config) as node:
        failed = FailedMounts(node)
        await create(node, "settings", key="value")
        await node.create(user_of("settings"))
        await node.pass_time(1)
        assert failed.found == []
        for round_ in (1, 2):
            await node.client.delete(ConfigMap, "settings", "default")
            await node.pass_time(20)
            assert len(failed.found) == 6 * round_
            assert (await node.get()).status.phase == "Running"
            await create(node, "settings", key="value")
            await node.pass_time(1)
        first, second = failed.found[:6], failed.found[6:]
        assert [seconds - first[0][0] for seconds, _ in first] == TRIES[:6]
        assert [round(seconds - second[0][0], 1) for seconds, _ in second] == TRIES[:6]
        await failed.close()
