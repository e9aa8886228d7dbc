"""A kubelet and the lives of simple pods on a simulated node."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec import structs

from podling import clock
from podling.api.core_v1 import Event, Node, Pod
from podling.client.base import Client
from podling.kubelet.config import KubeletConfig
from podling.runtime.base import Sandbox
from podling.runtime.sim import ImageScript, Scenario, SimRuntime
from podling.testing import ControlPlane
from tests.support.kubelet_node import NODE, SimNode, condition, pod, sim_node


async def test_node_is_ready_at_once(node: SimNode) -> None:
    found = await node.client.get(Node, NODE)
    ready = next(held for held in found.status.conditions if held.type == "Ready")
    assert (ready.status, ready.reason) == ("True", "KubeletReady")
    assert found.status.capacity["cpu"] == "4"
    assert found.metadata.labels["kubernetes.io/hostname"] == NODE


async def test_pod_runs_with_status_and_events(node: SimNode) -> None:
    await node.create(pod())
    await node.pass_time(1)
    found = await node.get()
    assert found.status.phase == "Running"
    assert [condition(found, t) for t in ("PodScheduled", "Initialized", "ContainersReady", "Ready")] == [
        "True"
    ] * 4
    (status,) = found.status.container_statuses
    assert status.state.running is not None
    assert (status.ready, status.started, status.restart_count) == (True, True, 0)
    assert status.container_id != ""
    assert status.container_id.startswith("sim://")
    assert found.status.pod_ip == "10.244.0.2"
    assert [held.ip for held in found.status.pod_ips] == ["10.244.0.2"]
    assert found.status.host_ip == "192.168.0.10"
    assert found.status.start_time is not None
    assert [held.last_probe_time for held in found.status.conditions] == [None] * 5
    assert found.status.qos_class == "BestEffort"
    assert await node.events() == [
        "Created: Container created",
        'Pulled: Successfully pulled image "app:1" in 0s (0s including waiting). Image size: 10000000 bytes.',
        'Pulling: Pulling image "app:1"',
        "Started: Container started",
    ]


async def test_missing_cluster_dns_is_one_event(cluster: ControlPlane, tmp_path: Path) -> None:
    config = KubeletConfig(node_addresses=("192.168.0.10",), write_files=False)
    async with sim_node(cluster, tmp_path, config=config) as node:
        await node.create(pod(script={"runs": [{"seconds": 1, "exitCode": 1}]}))
        await node.pass_time(60)
        recorded = [
            e for e in (await node.client.list(Event, "default")).items if e.reason == "MissingClusterDNS"
        ]
        uid = (await node.get()).metadata.uid
        assert [(event.message, event.count or 1) for event in recorded] == [
            (
                f'pod: "web_default({uid})". kubelet does not have ClusterDNS IP configured and cannot '
                'create Pod using "ClusterFirst" policy. Falling back to "Default" policy.',
                1,
            )
        ]


async def test_a_name_too_long_for_the_kernel_keeps_the_pod_from_starting(node: SimNode) -> None:
    await node.create(pod(hostname="x" * 60, subdomain="sub", setHostnameAsFQDN=True))
    await node.pass_time(30)
    assert (await node.get()).status.phase == "Pending"
    (recorded,) = [text for text in await node.events() if text.startswith("FailedCreatePodSandBox")]
    assert recorded.endswith("is too long (64 characters is the max, 90 characters requested)")


async def test_a_job_like_pod_succeeds(node: SimNode) -> None:
    await node.create(pod(restartPolicy="Never", script={"runs": [{"seconds": 30, "exitCode": 0}]}))
    await node.pass_time(29)
    assert (await node.get()).status.phase == "Running"
    await node.pass_time(2)
    found = await node.get()
    assert found.status.phase == "Succeeded"
    assert condition(found, "Ready") == "False PodCompleted"
    terminated = found.status.container_statuses[0].state.terminated
    assert terminated is not None
    assert (terminated.exit_code, terminated.reason) == (0, "Completed")


async def test_pod_fails_with_its_container(node: SimNode) -> None:
    await node.create(pod(restartPolicy="Never", script={"runs": [{"seconds": 1, "exitCode": 3}]}))
    await node.pass_time(3)
    found = await node.get()
    assert found.status.phase == "Failed"
    assert condition(found, "Ready") == "False PodFailed"


async def test_a_crashing_container_backs_off(node: SimNode) -> None:
    await node.create(pod(script={"runs": [{"seconds": 0, "exitCode": 1}]}))
    restarts = []
    for _ in range(32):
        await node.pass_time(10)
        restarts.append((await node.get()).status.container_statuses[0].restart_count)
    # At 0, 10, 30, 70, 150 and 310 s after the first exit.
    assert [restarts.index(n) for n in (1, 2, 3, 4, 5)] == [0, 1, 3, 7, 15]
    found = await node.get()
    status = found.status.container_statuses[0]
    assert status.state.waiting is not None
    assert status.state.waiting.reason == "CrashLoopBackOff"
    assert status.state.waiting.message == (
        f"back-off 5m0s restarting failed container=app pod=web_default({found.metadata.uid})"
    )
    assert status.last_state.terminated is not None
    assert status.last_state.terminated.exit_code == 1
    assert found.status.phase == "Running"


async def test_deletion_gives_the_container_its_grace(node: SimNode) -> None:
    await node.create(pod(script={"stopSeconds": 5}, terminationGracePeriodSeconds=20))
    await node.pass_time(1)
    await node.delete()
    await node.pass_time(4)
    found = await node.get()
    assert found.metadata.deletion_timestamp is not None
    assert found.status.phase == "Running"
    await node.pass_time(2)
    assert not await node.exists()
    assert await node.runtime.list_containers() == ()
    assert await node.runtime.list_sandboxes() == ()
    assert "Killing: Stopping container app" in await node.events()


@pytest.mark.parametrize(
    ("image", "asked", "recorded", "exit_code"),
    [
        ("app:1", None, None, 143),
        ("quits:1", None, "SIGQUIT", 131),
        ("app:1", "SIGUSR1", "SIGUSR1", 138),
        ("quits:1", "SIGTERM", "SIGTERM", 143),
        ("app:1", "SIGRTMIN+3", "SIGRTMIN+3", 165),
    ],
)
async def test_stop_signal_ends_a_container(
    cluster: ControlPlane, tmp_path: Path, image: str, asked: str | None, recorded: str | None, exit_code: int
) -> None:
    images = {"docker.io/library/quits:1": ImageScript(stop_signal="3")}
    async with sim_node(cluster, tmp_path, Scenario(images=images)) as node:
        lifecycle = {"lifecycle": {"stopSignal": asked}} if asked else {}
        container = {"name": "app", "image": image, **lifecycle}
        await node.create(pod(containers=[container], os={"name": "linux"}, activeDeadlineSeconds=5))
        await node.pass_time(1)
        assert (await node.get()).status.container_statuses[0].stop_signal == recorded
        await node.pass_time(10)
        ended = (await node.get()).status.container_statuses[0].state.terminated
        assert ended is not None
        assert ended.exit_code == exit_code


async def test_a_deadline_may_be_set_and_moved_forward_while_the_pod_runs(node: SimNode) -> None:
    await node.create(pod())
    await node.pass_time(100)
    for seconds in (500, 150):
        found = await node.get()
        spec = structs.replace(found.spec, active_deadline_seconds=seconds)
        await node.client.update(structs.replace(found, spec=spec))
        await node.pass_time(20)
        assert (await node.get()).status.phase == "Running"
    await node.pass_time(20)
    found = await node.get()
    assert (found.status.phase, found.status.reason) == ("Failed", "DeadlineExceeded")
    assert found.status.observed_generation == found.metadata.generation == 3


class SlowToList(SimRuntime):
    """A runtime whose list of sandboxes takes a fifth of a second."""

    async def list_sandboxes(self, *, pod_uid: str = "") -> tuple[Sandbox, ...]:
        await clock.sleep(0.2)
        return await super().list_sandboxes(pod_uid=pod_uid)


async def test_deadline_that_passes_during_a_look_at_the_runtime_has_its_event(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    async with sim_node(cluster, tmp_path, runtime=SlowToList(Scenario())) as node:
        await node.create(pod(activeDeadlineSeconds=10))
        await node.pass_time(5)
        started = (await node.get()).status.start_time
        assert started is not None
        await node.pass_time((started - clock.now()).total_seconds() + 9.9)
        await node.client.patch(Pod, "web", {"metadata": {"labels": {"looked": "again"}}}, "default")
        await node.pass_time(5)
        found = await node.get()
        assert (found.status.phase, found.status.reason) == ("Failed", "DeadlineExceeded")
        text = "DeadlineExceeded: Pod was active on the node longer than the specified deadline"
        assert [each for each in await node.events() if each.startswith("Deadline")] == [text]


async def test_container_that_crashed_again_is_shown_in_its_back_off_at_once(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    """Its end and its back-off are one status, however long the pass lasts."""
    shown: list[str] = []

    async def follow(client: Client) -> None:
        async for event in client.watch(Pod, "default", resource_version="0"):
            for status in event.object.status.container_statuses:
                waiting = status.state.waiting
                text = waiting.reason if waiting else "ended" if status.state.terminated else "runs"
                if not shown or shown[-1] != text:
                    shown.append(text or "")

    async with sim_node(cluster, tmp_path, runtime=SlowToList(Scenario())) as node:
        watching = asyncio.create_task(follow(node.client))
        await node.create(pod(script={"runs": [{"seconds": 1, "exitCode": 1}]}))
        await node.pass_time(8)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    assert shown == ["ContainerCreating", "runs", "ended", "runs", "CrashLoopBackOff"]


async def test_container_is_killed_after_its_grace_period(node: SimNode) -> None:
    await node.create(pod(script={"ignoresSignals": True}, terminationGracePeriodSeconds=20))
    await node.pass_time(1)
    await node.delete()
    await node.pass_time(19)
    assert await node.exists()
    await node.pass_time(3)
    assert not await node.exists()


async def test_a_forced_deletion_leaves_nothing_behind(node: SimNode) -> None:
    await node.create(pod(script={"ignoresSignals": True}))
    await node.pass_time(1)
    await node.delete(grace_seconds=0)
    assert not await node.exists()
    await node.pass_time(5)
    assert await node.runtime.list_containers() == ()


async def test_back_off_event_repeats_about_once_a_minute(node: SimNode) -> None:
    """It does not depend on the number of passes: the pod's labels change all the time here."""
    await node.create(pod(script={"runs": [{"seconds": 0, "exitCode": 1}]}))
    for number in range(30):
        await node.pass_time(1)
        await node.client.patch(Pod, "web", {"metadata": {"labels": {"n": str(number)}}}, "default")
    (recorded,) = [
        event for event in (await node.client.list(Event, "default")).items if event.reason == "BackOff"
    ]
    assert recorded.count == 2, "the wait of 10 s and the one of 20 s"
