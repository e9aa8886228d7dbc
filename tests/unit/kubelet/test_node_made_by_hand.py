"""A Node that somebody made by hand: kept, and of no use until a kubelet of its name reports."""

from __future__ import annotations

import asyncio
from pathlib import Path

from msgspec import structs

from podling.api.core_v1 import Node
from podling.api.meta_v1 import ObjectMeta
from podling.cluster.components import run_components
from podling.controllers.volume_folders import NoFolders
from podling.testing import ControlPlane
from tests.support.kubelet_node import NODE, condition, pod, sim_node

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
