"""Pods with users of their own on a simulated node: their IDs stay, damage to a file harms no other pod."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from podling.api.meta_v1 import ObjectMeta
from podling.api.node_v1 import RuntimeClass
from podling.kubelet.config import KubeletConfig
from podling.kubelet.containers.user_ids import mapping_text
from podling.kubelet.directories import Directories
from podling.runtime.base import IdRange, RuntimeHandler, RuntimeStatus
from podling.runtime.sim import SimRuntime
from podling.testing import ControlPlane
from tests.support.kubelet_node import SimNode, pod, sim_node

COUNT = 65536
CONFIG = KubeletConfig(
    node_addresses=("192.168.0.10",),
    capacity={"cpu": "4", "memory": "8Gi", "ephemeral-storage": "100Gi"},
)


@pytest.fixture
async def node(cluster: ControlPlane, tmp_path: Path) -> AsyncIterator[SimNode]:
    """A node that writes the files of pods, as a real one does."""
    async with sim_node(cluster, tmp_path, config=CONFIG) as one:
        yield one


async def started(node: SimNode, *names: str) -> dict[str, IdRange]:
    """Create pods with users of their own; return the users of all sandboxes by the pods' names."""
    for name in names:
        await node.create(pod(name, hostUsers=False))
    await node.pass_time(5)
    return await users(node)


async def users(node: SimNode) -> dict[str, IdRange]:
    sandboxes = await node.runtime.list_sandboxes()
    return {each.pod_name: each.users for each in sandboxes if each.users is not None and each.ready}


async def file_of(node: SimNode, name: str) -> Path:
    return Directories(node.deps.root_dir).user_namespace((await node.get(name)).metadata.uid or "")


async def test_each_pod_gets_other_users(node: SimNode) -> None:
    await node.create(pod("plain"))
    found = await started(node, "a", "b", "c")
    assert found == {name: IdRange(first=n * COUNT) for n, name in enumerate("abc", 1)}


async def test_users_stay_over_restarts_of_kubelet_and_sandbox(node: SimNode) -> None:
    before = await started(node, "a", "b")
    await node.restart()
    (sandbox,) = (each for each in await node.runtime.list_sandboxes() if each.pod_name == "a")
    await node.runtime.stop_sandbox(sandbox.id)
    await node.pass_time(30)
    assert await users(node) == before
    later = await started(node, "c")
    assert later == {**before, "c": IdRange(first=3 * COUNT)}


async def test_users_of_a_deleted_pod_are_free_again(node: SimNode) -> None:
    before = await started(node, "a", "b")
    path = await file_of(node, "b")
    await node.delete("b")
    await node.pass_time(60)
    assert not path.exists()
    await node.restart()
    assert await started(node, "c") == {"a": before["a"], "c": IdRange(first=2 * COUNT)}


async def test_damaged_file_is_reported_and_written_anew(
    node: SimNode, caplog: pytest.LogCaptureFixture
) -> None:
    before = await started(node, "a", "b")
    path = await file_of(node, "a")
    await node.stop()
    path.write_bytes(b"{")
    await node.restart()
    with caplog.at_level(logging.WARNING):
        later = await started(node, "c")
    assert later == {**before, "c": IdRange(first=3 * COUNT)}
    assert "invalid user namespace mappings file" in caplog.text
    assert path.read_bytes() == mapping_text(before["a"])


async def test_file_that_claims_the_users_of_another_pod_has_no_effect(
    node: SimNode, caplog: pytest.LogCaptureFixture
) -> None:
    before = await started(node, "a", "b")
    path = await file_of(node, "a")
    await node.stop()
    path.write_bytes(mapping_text(before["b"]))
    await node.restart()
    with caplog.at_level(logging.WARNING):
        later = await started(node, "c")
    assert later == {**before, "c": IdRange(first=3 * COUNT)}
    assert "different user namespace range already used by pod" in caplog.text


async def test_runtime_without_user_namespaces_refuses_the_pod(
    node: SimNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def without(_: SimRuntime) -> RuntimeStatus:
        handler = RuntimeHandler(why_no_user_namespaces="the kernel is too old")
        return RuntimeStatus(name="old", version="1", handlers=(handler,))

    monkeypatch.setattr(SimRuntime, "status", without)
    assert await started(node, "web") == {}
    assert (await node.get()).status.phase == "Pending"
    refused = (
        "FailedCreatePodSandBox: Failed to create pod sandbox: can't set `spec.hostUsers: false`, "
        "runtime does not support user namespaces: the kernel is too old"
    )
    assert any(refused in recorded for recorded in await node.events())


async def test_users_depend_on_the_handler_of_the_runtime_class(
    node: SimNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def two(_: SimRuntime) -> RuntimeStatus:
        handlers = (RuntimeHandler(user_namespaces=True), RuntimeHandler(name="old"))
        return RuntimeStatus(name="sim", version="1", handlers=handlers)

    monkeypatch.setattr(SimRuntime, "status", two)
    await node.client.create(RuntimeClass(metadata=ObjectMeta(name="old"), handler="old"))
    await node.create(pod("refused", runtimeClassName="old", hostUsers=False))
    assert await started(node, "a") == {"a": IdRange(first=COUNT)}
    text = 'can\'t set `spec.hostUsers: false`, RuntimeClass handler "old" does not support user namespaces'
    assert any(recorded.endswith(text) for recorded in await node.events("refused"))
