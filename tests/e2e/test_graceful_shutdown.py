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

KUBELET = """
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
shutdownGracePeriod: 7s
shutdownGracePeriodCriticalPods: 4s
"""
DEAF = "trap '' TERM; echo running; while :; do sleep 0.2; done"
POLITE = "trap 'sleep 1; exit 0' TERM; echo running; while :; do sleep 0.1; done"


def status(cluster: RealCluster, pod: str) -> dict[str, Any]:
    found: dict[str, Any] = cluster.get("pod", pod)["status"]
    return found


async def shut_down(cluster: RealCluster, logind: BusLogind) -> None:
    await logind.locked()
    for pod, script, spec in (
        ("deaf", DEAF, {"terminationGracePeriodSeconds": 60}),
        ("critical", POLITE, {"priorityClassName": "system-node-critical"}),
    ):
        await asyncio.to_thread(cluster.apply, shell_pod(pod, script, **spec))
        await asyncio.to_thread(cluster.wait_ready, pod)
    loop = asyncio.get_running_loop()
    began = loop.time()
    logind.shut_down()
    await logind.released(30)
    took = loop.time() - began
    assert took >= 3, "the deaf pod had its three seconds"

    deaf, critical = status(cluster, "deaf"), status(cluster, "critical")
    for found in (deaf, critical):
        assert (found["phase"], found["reason"]) == ("Failed", "Terminated")
        assert found["message"] == "Pod was terminated in response to imminent node shutdown."
        (target,) = (each for each in found["conditions"] if each["type"] == "DisruptionTarget")
        assert (target["status"], target["reason"]) == ("True", "TerminationByKubelet")
    ends = [found["containerStatuses"][0]["state"]["terminated"] for found in (deaf, critical)]
    assert [end["exitCode"] for end in ends] == [137, 0]
    assert ends[0]["finishedAt"] <= ends[1]["finishedAt"], "regular pods end first"

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


@pytest.mark.parametrize("runtime", ["process", "oci"])
def test_pods_end_in_two_phases_before_the_machine(
    runtime: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regular pods have three seconds, critical ones the last four; then the lock is released."""
    if runtime == "oci" and (reason := missing_for_containers()):
        pytest.skip(reason)
    kubelet = tmp_path / "kubelet.yaml"
    kubelet.write_text(KUBELET)
    cluster = RealCluster(tmp_path / "cluster", runtime, "--port", "0", "--kubelet-config", str(kubelet))

    async def story(address: str) -> None:
        async with bus_logind(address, tmp_path / "logind.conf.d", delay_seconds=60) as logind:
            try:
                await asyncio.to_thread(cluster.up)
                await shut_down(cluster, logind)
            finally:
                await asyncio.to_thread(cluster.remove)

    with private_bus(tmp_path) as address:
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", address)
        asyncio.run(story(address))
