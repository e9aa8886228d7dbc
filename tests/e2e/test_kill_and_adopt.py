"""``kill -9`` of the whole process: containers go on, and the next start adopts them."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.support.clusters import RealCluster, shell_pod

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.slow]

SERVE = "while true; do sleep 0.1; done"


def container_of(pod: dict[str, Any]) -> dict[str, Any]:
    status: dict[str, Any] = pod["status"]["containerStatuses"][0]
    return status


def ready_since(pod: dict[str, Any]) -> tuple[str, str]:
    condition = next(item for item in pod["status"]["conditions"] if item["type"] == "Ready")
    return condition["status"], condition["lastTransitionTime"]


def test_containers_outlive_the_process_and_are_adopted(own_cluster: RealCluster) -> None:
    own_cluster.up()
    probe = {"exec": {"command": ["true"]}, "periodSeconds": 1}
    own_cluster.apply(shell_pod("steady", SERVE, container={"readinessProbe": probe}))
    own_cluster.wait_ready("steady")
    before = own_cluster.get("pod", "steady")
    process = int(own_cluster.kubectl("exec", "steady", "--", "sh", "-c", "cat /proc/sys/kernel/ns_last_pid"))
    assert process > 0

    for _ in range(3):
        own_cluster.kill()
        own_cluster.up()
        own_cluster.kubectl("exec", "steady", "--", "true")
        after = own_cluster.get("pod", "steady")
        assert container_of(after)["containerID"] == container_of(before)["containerID"]
        assert container_of(after)["restartCount"] == 0
        assert container_of(after)["state"] == container_of(before)["state"]
        assert ready_since(after) == ready_since(before), "Ready never flipped"


def test_pod_that_ended_during_downtime_is_noticed(own_cluster: RealCluster) -> None:
    own_cluster.up()
    own_cluster.apply(shell_pod("brief", "sleep 2; exit 3", restartPolicy="Never"))
    own_cluster.kubectl(
        "wait", "--for=jsonpath={.status.containerStatuses[0].containerID}", "pod/brief", "--timeout=30s"
    )
    own_cluster.kill()
    own_cluster.up()
    own_cluster.kubectl("wait", "--for=jsonpath={.status.phase}=Failed", "pod/brief", "--timeout=30s")
    terminated = container_of(own_cluster.get("pod", "brief"))["state"]["terminated"]
    assert (terminated["exitCode"], terminated["reason"]) == (3, "Error")


def test_pod_deleted_during_downtime_is_removed(own_cluster: RealCluster) -> None:
    own_cluster.up()
    own_cluster.apply(shell_pod("leaving", "trap '' TERM; while true; do sleep 0.1; done"))
    own_cluster.wait_ready("leaving")
    own_cluster.kubectl("delete", "pod", "leaving", "--wait=false", "--grace-period=3")
    own_cluster.kill()
    own_cluster.up()
    own_cluster.kubectl("wait", "--for=delete", "pod/leaving", "--timeout=30s")


def test_down_leaves_nothing_behind(own_cluster: RealCluster) -> None:
    own_cluster.up()
    own_cluster.apply(shell_pod("gone", SERVE))
    own_cluster.wait_ready("gone")
    marker = str(own_cluster.directory)
    assert any(marker in line for line in mounts())
    assert own_cluster.down().code == 0
    assert [line for line in mounts() if marker in line] == []
    assert [name for name in processes() if marker in name] == []


def mounts() -> list[str]:
    with open("/proc/self/mountinfo") as file:
        return file.read().splitlines()


def processes() -> list[str]:
    """Return the command lines of all processes but our own."""
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                with open(f"/proc/{entry.name}/cmdline", "rb") as file:
                    found.append(file.read().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue
    return found
