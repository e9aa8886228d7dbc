"""Real containers that are recreated by request, also by a kubelet that is stopped in the middle."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from podling import clock
from podling.api.core_v1 import Pod
from podling.client.typed_kinds import TypedClient
from podling.kubelet.config import KubeletConfig
from podling.machinery.pods import is_ready
from podling.testing import running
from podling_kruise.extension import KruiseExtension
from podling_kruise.recreate.types import ContainerRecreateRequest
from tests.support import oci_node
from tests.support.real_kubelet import RealNode, real_node
from tests.support.recreate_requests import recreate, states, statuses

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.skipif(bool(oci_node.missing()), reason=oci_node.missing()),
]

DEADLINE_SECONDS = 60.0
HOOK = {"preStop": {"exec": {"command": ["sh", "-c", "echo hook >> /data/hooks; sleep 2"]}}}


@asynccontextmanager
async def kruise_node(tmp_path: Path) -> AsyncIterator[RealNode]:
    """Run a node of real containers and OpenKruise's controllers."""
    extension = KruiseExtension()
    async with (
        real_node(tmp_path, KubeletConfig(eviction_hard={}, max_pods=10), extensions=[extension]) as node,
        running(node.client, *extension.controllers().values()),
    ):
        yield node


async def new_pod(node: RealNode) -> Pod:
    """Run a pod of two containers with a volume; the hook of ``app`` leaves a line there."""
    mounts = [{"name": "data", "mountPath": "/data"}]
    volumes = [{"name": "data", "emptyDir": {}}]
    app: dict[str, Any] = {"name": "app", "volumeMounts": mounts, "lifecycle": HOOK}
    beside = {"name": "beside", "volumeMounts": mounts}
    await node.run("web", app, beside, volumes=volumes, terminationGracePeriodSeconds=5)
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not is_ready(found := await node.client.get(Pod, "web", "default")):
            await clock.sleep(0.05)
    return found


async def ended(client: TypedClient) -> ContainerRecreateRequest:
    async with asyncio.timeout(DEADLINE_SECONDS):
        while True:
            found = await client.get(ContainerRecreateRequest, "again", "default")
            if found.status.completion_time is not None:
                return found
            await clock.sleep(0.05)


async def judge(node: RealNode, before: Pod, sandbox: str) -> None:
    """Check that the container is another one, once, and that all else of the pod is as it was."""
    request = await ended(TypedClient(node.client))
    after = await node.client.get(Pod, "web", "default")
    old, new = statuses(before), statuses(after)
    assert states(request) == {"app": ("Succeeded", True)}
    assert (request.status.phase, request.status.message) == ("Completed", "")
    assert (after.metadata.uid, after.status.pod_ip) == (before.metadata.uid, before.status.pod_ip)
    assert [each.id for each in await node.machine.runtime.list_sandboxes()] == [sandbox]
    assert (new["app"].restart_count, new["beside"].restart_count) == (1, 0)
    assert new["app"].container_id != old["app"].container_id
    assert new["beside"].container_id == old["beside"].container_id
    found = await node.machine.runtime.list_containers()
    living = sorted(each.name for each in found if each.state.value == "RUNNING")
    assert living == ["app", "beside"]


async def test_container_is_recreated_in_the_same_sandbox(tmp_path: Path) -> None:
    async with kruise_node(tmp_path) as node:
        before = await new_pod(node)
        (sandbox,) = await node.machine.runtime.list_sandboxes()
        await TypedClient(node.client).create(recreate())
        await judge(node, before, sandbox.id)
        assert (await node.exec(before, "beside", "cat", "/data/hooks")).out == "hook\n"


async def test_kubelet_that_is_stopped_during_the_hook_recreates_once_later(tmp_path: Path) -> None:
    async with kruise_node(tmp_path) as node:
        before = await new_pod(node)
        (sandbox,) = await node.machine.runtime.list_sandboxes()
        await TypedClient(node.client).create(recreate())
        async with asyncio.timeout(DEADLINE_SECONDS):
            while (await node.exec(before, "beside", "cat", "/data/hooks")).out != "hook\n":
                await clock.sleep(0.05)
        await node.stop()
        await node.start()
        await judge(node, before, sandbox.id)
