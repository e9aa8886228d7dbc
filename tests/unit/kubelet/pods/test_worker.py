"""Pod workers on a simulated node: rejections, deadlines, and the kubelet's own decisions."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta
from podling.kubelet.status.status import Verdict
from tests.support.kubelet_node import SimNode, pod


async def test_a_pod_that_does_not_fit_is_rejected(node: SimNode) -> None:
    for name in ("first", "second"):
        big = [{"name": "app", "image": "app:1", "resources": {"requests": {"cpu": "3"}}}]
        await node.create(pod(name, containers=big))
        await node.pass_time(1)
    assert (await node.get("first")).status.phase == "Running"
    found = await node.get("second")
    assert (found.status.phase, found.status.reason) == ("Failed", "OutOfcpu")
    text = "Node didn't have enough resource: cpu, requested: 3000, used: 3000, capacity: 4000"
    assert found.status.message == f"Pod was rejected: {text}"
    assert f"OutOfcpu: {text}" in await node.events("second")
    assert await node.runtime.list_sandboxes() != ()
    await node.delete("second")
    await node.pass_time(1)
    assert not await node.exists("second")


async def test_resources_are_free_when_a_pod_is_over(node: SimNode) -> None:
    big = [{"name": "app", "image": "app:1", "resources": {"requests": {"cpu": "3"}}}]
    await node.create(pod("first", containers=big, restartPolicy="Never", script={"runs": [{"seconds": 1}]}))
    await node.pass_time(3)
    await node.create(pod("second", containers=big))
    await node.pass_time(1)
    assert (await node.get("second")).status.phase == "Running"


async def test_pod_deleted_by_force_frees_its_resources_at_once(node: SimNode) -> None:
    """The API may have bound the next pod already, as it does when a victim has no grace period."""
    big = [{"name": "app", "image": "app:1", "resources": {"requests": {"cpu": "3"}}}]
    await node.create(pod("first", containers=big, script={"ignoresSignals": True}))
    await node.pass_time(1)
    await node.delete("first", grace_seconds=0)
    await node.create(pod("second", containers=big))
    await node.pass_time(1)
    assert (await node.get("second")).status.phase == "Running"


async def test_node_selector_is_checked_by_the_node(node: SimNode) -> None:
    await node.create(pod(nodeSelector={"disk": "ssd"}))
    await node.pass_time(1)
    found = await node.get()
    assert (found.status.phase, found.status.reason) == ("Failed", "NodeAffinity")


async def test_an_active_deadline_ends_the_pod(node: SimNode) -> None:
    await node.create(pod(activeDeadlineSeconds=30))
    await node.pass_time(29)
    assert (await node.get()).status.phase == "Running"
    await node.pass_time(3)
    found = await node.get()
    assert (found.status.phase, found.status.reason) == ("Failed", "DeadlineExceeded")
    assert found.status.message == "Pod was active on the node longer than the specified deadline"
    (status,) = found.status.container_statuses
    assert status.state.terminated is not None
    assert status.state.terminated.exit_code == 143


async def test_the_kubelet_itself_may_end_a_pod(node: SimNode) -> None:
    await node.create(pod(script={"ignoresSignals": True}))
    await node.pass_time(1)
    uid = (await node.get()).metadata.uid or ""
    node.kubelet.kill_pod(uid, Verdict("Evicted", "The node was low on resource: memory."), 1)
    await node.pass_time(4)
    found = await node.get()
    assert (found.status.phase, found.status.reason) == ("Failed", "Evicted")
    (status,) = found.status.container_statuses
    assert status.state.terminated is not None
    assert status.state.terminated.exit_code == 137


GENTLE = {"stopExitCode": 0, "stopSeconds": 3}
EVICTED = Verdict("Evicted", "The node was low on resource: memory.")


@pytest.mark.parametrize(
    ("other", "ends", "expected"),
    [
        (GENTLE, {}, ("Succeeded", "", "")),
        ({"stopExitCode": 3}, {}, ("Failed", "Evicted", EVICTED.message)),
        ({"startSeconds": 100}, {}, ("Failed", "Evicted", EVICTED.message)),
        (GENTLE, {"restartPolicy": "Never"}, ("Succeeded", "", "")),
        (
            GENTLE,
            {"activeDeadlineSeconds": 6},
            ("Failed", "DeadlineExceeded", "Pod was active on the node longer than the specified deadline"),
        ),
    ],
    ids=["all end well", "one fails", "one has not started", "none may restart", "past its deadline"],
)
async def test_phase_of_an_evicted_pod_follows_from_its_containers(
    node: SimNode, other: dict[str, Any], ends: dict[str, Any], expected: tuple[str, str, str]
) -> None:
    """The status of a pod whose containers have ended is generated anew (``SyncTerminatingPod``)."""
    containers = [{"name": "app", "image": "app:1"}, {"name": "other", "image": "app:1"}]
    await node.create(pod(containers=containers, scripts={"app": GENTLE, "other": other}, **ends))
    await node.pass_time(5)
    node.kubelet.kill_pod((await node.get()).metadata.uid or "", EVICTED, 10)
    await node.pass_time(1)
    assert (await node.get()).status.phase in ("Pending", "Running"), "containers run"
    await node.pass_time(5)
    found = (await node.get()).status
    assert (found.phase, found.reason or "", found.message or "") == expected


async def test_container_that_waits_for_its_configuration_counts_no_restart(node: SimNode) -> None:
    source = {"configMapKeyRef": {"name": "settings", "key": "mode"}}
    app = {"name": "app", "image": "app:1", "env": [{"name": "MODE", "valueFrom": source}]}
    await node.create(pod(containers=[app]))
    await node.pass_time(60)
    metadata = ObjectMeta(name="settings", namespace="default")
    await node.client.create(ConfigMap(metadata=metadata, data={"mode": "fast"}))
    await node.pass_time(30)
    (status,) = (await node.get()).status.container_statuses
    assert status.state.running is not None
    assert status.restart_count == 0
