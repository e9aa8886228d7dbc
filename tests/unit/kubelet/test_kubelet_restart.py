"""Restarts of the kubelet, and changes on its node while it is stopped."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import EphemeralContainer, Node, Pod
from podling.client.base import PatchType
from tests.support.kubelet_node import NODE, SimNode, condition, pod

PROBE = {"httpGet": {"port": 80}, "periodSeconds": 10}


async def test_running_containers_are_taken_over_untouched(node: SimNode) -> None:
    containers = [{"name": "app", "image": "app:1", "readinessProbe": PROBE, "startupProbe": PROBE}]
    await node.create(pod(containers=containers))
    await node.pass_time(60)
    before = await node.get()
    assert condition(before, "Ready") == "True"
    await node.restart()
    await node.pass_time(120)
    after = await node.get()
    assert after.status.container_statuses == before.status.container_statuses
    assert after.metadata.resource_version == before.metadata.resource_version, "nothing was written"


async def test_containers_that_ended_meanwhile_are_noticed(node: SimNode) -> None:
    await node.create(pod(script={"runs": [{"seconds": 30, "exitCode": 2}, {}]}))
    await node.pass_time(5)
    await node.stop()
    await node.pass_time(60)
    await node.restart()
    await node.pass_time(2)
    (status,) = (await node.get()).status.container_statuses
    assert status.restart_count == 1
    assert status.state.running is not None
    assert status.last_state.terminated is not None
    assert status.last_state.terminated.exit_code == 2


async def test_termination_is_resumed_without_a_new_grace_period(node: SimNode) -> None:
    await node.create(pod(script={"ignoresSignals": True}, terminationGracePeriodSeconds=30))
    await node.pass_time(5)
    await node.delete()
    await node.pass_time(20)
    await node.restart()
    await node.pass_time(9)
    assert await node.exists()
    await node.pass_time(4)
    assert not await node.exists()


async def test_a_deleted_node_registers_again(node: SimNode) -> None:
    before = await node.client.get(Node, NODE)
    await node.client.delete(Node, NODE)
    await node.pass_time(2)
    after = await node.client.get(Node, NODE)
    assert after.metadata.uid != before.metadata.uid
    assert any(c.type == "Ready" and c.status == "True" for c in after.status.conditions)


async def test_idle_pod_costs_no_writes(node: SimNode) -> None:
    await node.create(pod())
    await node.pass_time(5)
    before = await node.get()
    await node.pass_time(600)
    assert (await node.get()).metadata.resource_version == before.metadata.resource_version


@pytest.mark.parametrize(
    ("life", "exit_code", "reason"),
    [({"runs": [{"seconds": 1}]}, 0, "Completed"), ({}, 137, "ContainerStatusUnknown")],
    ids=["ended", "running"],
)
async def test_an_ephemeral_container_of_which_no_trace_is_left_is_not_run_again(
    node: SimNode, life: dict[str, Any], exit_code: int, reason: str
) -> None:
    await node.create(pod(scripts={"debug": life}))
    await node.pass_time(1)
    found = await node.get()
    debug = EphemeralContainer(name="debug", image="x:1", termination_message_policy="File")
    spec = structs.replace(found.spec, ephemeral_containers=(debug,))
    await node.client.update(structs.replace(found, spec=spec), subresource="ephemeralcontainers")
    await node.pass_time(5)
    await node.stop()
    for sandbox in await node.runtime.list_sandboxes():
        await node.runtime.remove_sandbox(sandbox.id)
    await node.start()
    await node.pass_time(5)
    assert [container.name for container in await node.runtime.list_containers()] == ["app"]
    found = await node.get()
    (ephemeral,) = found.status.ephemeral_container_statuses
    assert ephemeral.state.terminated is not None
    assert (ephemeral.state.terminated.exit_code, ephemeral.state.terminated.reason) == (exit_code, reason)
    (status,) = found.status.container_statuses
    assert status.restart_count == 1
    assert found.status.pod_ip == (await node.runtime.list_sandboxes())[0].ips[0]


async def test_lost_sandbox_is_created_again(node: SimNode) -> None:
    await node.create(pod())
    await node.pass_time(5)
    (sandbox,), before = await node.runtime.list_sandboxes(), await node.get()
    await node.runtime.stop_sandbox(sandbox.id)
    await node.pass_time(5)
    found = await node.get()
    assert found.status.phase == "Running"
    assert condition(found, "Ready") == "True"
    (status,) = found.status.container_statuses
    assert status.restart_count == 1
    (newer,) = [each for each in await node.runtime.list_sandboxes() if each.ready]
    assert newer.id != sandbox.id
    assert (found.status.pod_ip,) == newer.ips, "the address of the new network"
    assert found.status.pod_ip != before.status.pod_ip
    started = await node.runtime.container_status((status.container_id or "").removeprefix("sim://"))
    assert started.sandbox_id == newer.id
    assert "SandboxChanged: Pod sandbox changed, it will be killed and re-created." in await node.events()


async def test_a_changed_image_restarts_the_container_in_place(node: SimNode) -> None:
    await node.create(pod(containers=[{"name": name, "image": "app:1"} for name in ("app", "other")]))
    await node.pass_time(5)
    before = await node.get()
    patch = {"spec": {"containers": [{"name": "app", "image": "app:2"}]}}
    await node.client.patch(Pod, "web", patch, "default", patch_type=PatchType.STRATEGIC)
    await node.pass_time(5)
    after = await node.get()
    status, other = after.status.container_statuses
    assert (status.image, status.restart_count) == ("app:2", 1)
    assert status.state.running is not None
    assert other == before.status.container_statuses[1], "it alone restarts"
    assert after.status.pod_ip == before.status.pod_ip
    assert after.status.observed_generation == 2
    assert "Killing: Container app definition changed, will be restarted" in await node.events()


async def test_a_pod_that_is_over_is_left_as_it_was(node: SimNode) -> None:
    await node.create(pod(script={"runs": [{"seconds": 5, "exitCode": 3}]}, restartPolicy="Never"))
    await node.pass_time(10)
    before = await node.get()
    assert before.status.phase == "Failed"
    await node.stop()
    for container in await node.runtime.list_containers():
        await node.runtime.remove_container(container.id)
    await node.restart()
    await node.pass_time(100)
    after = await node.get()
    assert after.metadata.resource_version == before.metadata.resource_version
    await node.delete()
    await node.pass_time(1)
    assert not await node.exists()
