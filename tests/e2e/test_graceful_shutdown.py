"""The machine's shutdown waits for the node's pods: a real cluster, with a login manager on a private bus."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from podling.node.machine import node_names
from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import RealCluster, shell_pod
from tests.support.private_bus import BusLogind, bus_logind, private_bus

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
PHASES = "shutdownGracePeriod: 7s\nshutdownGracePeriodCriticalPods: 4s\n"
PRIORITIES = """shutdownGracePeriodByPodPriority:
- {priority: 2000000000, shutdownGracePeriodSeconds: 4}
- {priority: 1000, shutdownGracePeriodSeconds: 2}
- {priority: 0, shutdownGracePeriodSeconds: 3}
"""
NOTES = "trap 'cat notes; echo TERM' TERM; echo running; while :; do sleep 0.2; done"
"""Shows what its hook noted when it gets TERM, and does not end."""
POLITE = "trap 'sleep 1; exit 0' TERM; echo running; while :; do sleep 0.1; done"
HOOK = "echo hook begins >notes; sleep 1; echo hook ends >>notes"


def status(cluster: RealCluster, pod: str) -> dict[str, Any]:
    found: dict[str, Any] = cluster.get("pod", pod)["status"]
    return found


def pods(middle: bool) -> list[dict[str, Any]]:
    """Return pods of increasing priority; the first one does not end by itself within its minute of grace."""
    deaf = shell_pod(
        "deaf",
        NOTES,
        container={"lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", HOOK]}}}},
        terminationGracePeriodSeconds=60,
    )
    critical = shell_pod("critical", POLITE, priorityClassName="system-node-critical")
    return [deaf, *([shell_pod("middle", POLITE, priorityClassName="middle")] if middle else []), critical]


async def shut_down(cluster: RealCluster, logind: BusLogind, middle: bool) -> None:
    await logind.locked()
    if middle:
        priority = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1000}
        await asyncio.to_thread(cluster.apply, {**priority, "metadata": {"name": "middle"}})
    made = pods(middle)
    names = [pod["metadata"]["name"] for pod in made]
    await asyncio.to_thread(cluster.apply, {"apiVersion": "v1", "kind": "List", "items": made})
    for name in names:
        await asyncio.to_thread(cluster.wait_ready, name)
    loop = asyncio.get_running_loop()
    began = loop.time()
    logind.shut_down()
    await logind.released(30)
    took = loop.time() - began
    assert took >= 3, "the deaf pod had its three seconds"

    statuses = [status(cluster, name) for name in names]
    assert (statuses[0]["phase"], statuses[0]["reason"]) == ("Failed", "Terminated")
    assert statuses[0]["message"] == "Pod was terminated in response to imminent node shutdown."
    assert {found["phase"] for found in statuses[1:]} == {"Succeeded"}, "the polite pods ended well"
    for found in statuses:
        (target,) = (each for each in found["conditions"] if each["type"] == "DisruptionTarget")
        assert (target["status"], target["reason"]) == ("True", "TerminationByKubelet")
    ends = [found["containerStatuses"][0]["state"]["terminated"] for found in statuses]
    assert [end["exitCode"] for end in ends] == [137, *(0 for _ in names[1:])]
    finished = [end["finishedAt"] for end in ends]
    assert finished == sorted(set(finished)), "pods of low priority end first, a second before the next"
    said = await asyncio.to_thread(cluster.kubectl, "logs", "deaf")
    assert said.splitlines() == ["running", "hook begins", "hook ends", "TERM"], "the hook, TERM, then KILL"

    (node,) = node_names(1)
    not_ready = "--for=condition=Ready=false"
    await asyncio.to_thread(cluster.kubectl, "wait", not_ready, f"node/{node}", "--timeout=30s")
    (ready,) = (each for each in cluster.get("node", node)["status"]["conditions"] if each["type"] == "Ready")
    assert ready["message"] == "node is shutting down"
    late = shell_pod("late", POLITE, nodeName=node)
    await asyncio.to_thread(cluster.apply, late)
    failed = "--for=jsonpath={.status.phase}=Failed"
    await asyncio.to_thread(cluster.kubectl, "wait", failed, "pod/late", "--timeout=30s")
    assert status(cluster, "late")["reason"] == "NodeShutdown"

    logind.shut_down(False)
    await logind.locked()
    await asyncio.to_thread(cluster.kubectl, "wait", "--for=condition=Ready", f"node/{node}", "--timeout=30s")
    await asyncio.to_thread(cluster.apply, shell_pod("later", POLITE))
    await asyncio.to_thread(cluster.wait_ready, "later")


@pytest.mark.parametrize(
    ("runtime", "periods"), [("oci", PHASES), ("process", PRIORITIES)], ids=["oci", "process"]
)
def test_pods_end_in_phases_before_the_machine(
    runtime: str, periods: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each phase has its seconds; within them a pod's hook runs, then it gets TERM, then KILL.

    The lock is released after the last phase.
    """
    if runtime == "oci" and (reason := missing_for_containers()):
        pytest.skip(reason)
    kubelet = tmp_path / "kubelet.yaml"
    kubelet.write_text(HEAD + periods)
    cluster = RealCluster(tmp_path / "cluster", runtime, "--port", "0", "--kubelet-config", str(kubelet))

    async def story(address: str) -> None:
        async with bus_logind(address, tmp_path / "logind.conf.d", delay_seconds=60) as logind:
            try:
                await asyncio.to_thread(cluster.up)
                await shut_down(cluster, logind, middle=periods == PRIORITIES)
            finally:
                await asyncio.to_thread(cluster.remove)

    with private_bus(tmp_path) as address:
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", address)
        asyncio.run(story(address))
