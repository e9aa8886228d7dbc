"""Laws of resources: what a node grants never exceeds what it has, in any order of lives and resizes."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from podling.api.core_v1 import Node, Pod
from podling.client.base import PatchType
from podling.machinery.errors import ApiError
from podling.machinery.quantity import parse
from podling.sim import loop
from podling.testing import memory_cluster
from tests.support.kubelet_node import NODE, SimNode, pod, sim_node

ENDED = ("Succeeded", "Failed")
WHAT = st.sampled_from(["create", "create", "job", "resize", "resize", "resize", "delete", "restart", "wait"])
STEPS = st.tuples(WHAT, st.sampled_from(["a", "b", "c"]), st.sampled_from(["500m", "1500m", "3"]))


def sized(cpu: str) -> list[dict[str, Any]]:
    return [{"name": "app", "image": "app:1", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}]


@given(st.lists(STEPS, max_size=14))
@example([("create", "a", "500m"), ("create", "b", "3"), ("resize", "a", "1500m")])
@example([("create", "a", "1500m"), ("create", "b", "1500m"), ("create", "c", "1500m")])
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_granted_requests_never_exceed_allocatable(steps: list[tuple[str, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        loop.run(play(steps, Path(directory)))


async def play(steps: list[tuple[str, str, str]], root: Path) -> None:
    async with memory_cluster() as plane, sim_node(plane, root) as node:
        for what, name, cpu in steps:
            await step(node, what, name, cpu)
            for _ in range(3):
                await node.pass_time(0.5)
                await check(node)


async def step(node: SimNode, what: str, name: str, cpu: str) -> None:
    if what == "restart":
        await node.restart()
    elif what == "wait":
        await node.pass_time(200)
    elif what == "delete" and await node.exists(name):
        await node.delete(name)
    elif what == "resize" and await node.exists(name):
        change = {"spec": {"containers": sized(cpu)}}
        options: dict[str, Any] = {"patch_type": PatchType.STRATEGIC, "subresource": "resize"}
        try:
            await node.client.patch(Pod, name, change, "default", **options)
        except ApiError:
            return  # the pod has ended, or does not run yet
    elif what in ("create", "job") and not await node.exists(name):
        script = {"runs": [{"seconds": 20 if what == "job" else None}]}
        await node.create(pod(name, containers=sized(cpu), script=script, restartPolicy="Never"))


async def check(node: SimNode) -> None:
    """Compare the sum of what is allocated to pods that have not ended with the node's allocatable."""
    allocatable = (await node.client.get(Node, NODE)).status.allocatable
    total: Counter[str] = Counter()
    for found in (await node.client.list(Pod, "default")).items:
        if found.status.phase in ENDED:
            continue
        for status in found.status.container_statuses:
            for name, amount in status.allocated_resources.items():
                total[name] += parse(amount).milli_value
    for name, milli in total.items():
        assert milli <= parse(allocatable[name]).milli_value, f"{name} is granted twice"
