"""Nodes created by an administrator, and the fields that their kubelet writes (``--register-node``)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import structs
from msgspec.structs import replace

from podling.api.core_v1 import Node, NodeSpec, Taint
from podling.api.meta_v1 import ObjectMeta
from podling.cluster.components import run_components
from podling.controllers.volumes.volume_folders import NoFolders
from podling.kubelet.config import KubeletConfig
from podling.kubelet.kubelet import Kubelet
from podling.runtime.sim import SimRuntime
from podling.testing import ControlPlane
from tests.support.kubelet_node import NODE, SimNode, condition, pod, sim_node

LABEL = {"name": "my-first-k8s-node"}


async def test_a_node_made_by_hand_takes_pods_once_its_kubelet_reports(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    components = asyncio.create_task(run_components(cluster.client_for, "", NoFolders(tmp_path)))
    client = cluster.client
    await client.create(Node(metadata=ObjectMeta(name=NODE, labels=LABEL)))
    waiting = pod(nodeSelector=LABEL)
    await client.create(structs.replace(waiting, spec=structs.replace(waiting.spec, node_name="")))
    await cluster.advance(minutes=10)
    kept = await client.get(Node, NODE)
    assert [held.status for held in kept.status.conditions if held.type == "Ready"] == ["Unknown"]
    found = await client.get(type(waiting), "web", "default")
    assert condition(found, "PodScheduled") == "False Unschedulable"
    async with sim_node(cluster, tmp_path) as node:
        await node.pass_time(30)
        joined = await client.get(Node, NODE)
        assert (joined.metadata.uid, joined.metadata.labels["name"]) == (kept.metadata.uid, LABEL["name"])
        assert [held.status for held in joined.status.conditions if held.type == "Ready"] == ["True"]
        assert (await node.get()).status.phase == "Running"
    components.cancel()
    await asyncio.gather(components, return_exceptions=True)


REGISTERED_BY_HAND = KubeletConfig(
    register_node=False,
    node_labels={"disk": "ssd"},
    register_with_taints=(Taint(key="new", effect="NoSchedule"),),
    node_addresses=("192.168.0.10",),
    write_files=False,
)


@asynccontextmanager
async def kubelet_at_work(node: SimNode) -> AsyncIterator[None]:
    """The test does not wait for the kubelet: without its Node it never becomes ready."""
    task = asyncio.create_task(Kubelet(node.deps).run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_kubelet_that_does_not_register_waits_for_its_node(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    """It reports the status of the Node made for it, and leaves its labels, taints and spec alone."""
    runtime = SimRuntime()
    await runtime.start()
    node = SimNode(cluster, runtime, REGISTERED_BY_HAND, tmp_path)
    labels = {**LABEL, "kubernetes.io/hostname": "chosen-by-hand"}
    spec = NodeSpec(taints=(Taint(key="mine", effect="NoSchedule"),), unschedulable=True)
    async with kubelet_at_work(node):
        await cluster.advance(minutes=5)
        assert (await cluster.client.list(Node)).items == ()
    created = await cluster.client.create(Node(metadata=ObjectMeta(name=NODE, labels=labels), spec=spec))
    async with kubelet_at_work(node):
        await cluster.advance(minutes=1)
    found = await cluster.client.get(Node, NODE)
    assert (found.metadata.labels, found.spec) == (created.metadata.labels, created.spec)
    assert {held.type: held.status for held in found.status.conditions}["Ready"] == "True"
    await runtime.close()


async def test_kubelet_registers_its_labels_and_taints(cluster: ControlPlane, tmp_path: Path) -> None:
    config = replace(REGISTERED_BY_HAND, register_node=True)
    async with sim_node(cluster, tmp_path, config=config):
        found = await cluster.client.get(Node, NODE)
        assert found.metadata.labels["disk"] == "ssd"
        assert Taint(key="new", effect="NoSchedule") in found.spec.taints
