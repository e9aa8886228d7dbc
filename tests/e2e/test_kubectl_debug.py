"""``kubectl debug``: containers added to a running pod, copies of pods, and a look at the node itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.clusters import RealCluster

pytestmark = [pytest.mark.e2e, pytest.mark.root]

IMAGE = "--image=podling.local/host"
WORK = "trap 'exit 0' TERM; while true; do sleep {}; done"
LOOK = "ps ax -o args; id -u; grep CapEff /proc/self/status; echo done"


@pytest.fixture(scope="module", autouse=True)
def target(cluster: RealCluster) -> Iterator[str]:
    """A pod with two containers whose processes have different names."""
    containers = [
        {"name": name, "image": "podling.local/host", "command": ["sh", "-c", WORK.format(seconds)]}
        for name, seconds in (("app", "0.11"), ("other", "0.12"))
    ]
    cluster.apply(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "target"},
            "spec": {"terminationGracePeriodSeconds": 1, "containers": containers},
        }
    )
    cluster.wait_ready("target")
    yield "target"
    cluster.kubectl("delete", "pod", "target", "--now")


def said(cluster: RealCluster, pod: str, container: str) -> str:
    """Return the log of a debugging container, once it has ended."""
    state = f'{{.status.ephemeralContainerStatuses[?(@.name=="{container}")].state.terminated.reason}}'
    cluster.kubectl("wait", f"pod/{pod}", f"--for=jsonpath={state}=Completed", "--timeout=20s")
    return cluster.kubectl("logs", pod, "-c", container)


def ephemeral(cluster: RealCluster, container: str) -> dict[str, Any]:
    statuses = cluster.get("pod", "target")["status"]["ephemeralContainerStatuses"]
    found: dict[str, Any] = next(status for status in statuses if status["name"] == container)
    return found


def test_a_container_beside_the_others_sees_only_itself(cluster: RealCluster) -> None:
    cluster.kubectl("debug", "target", IMAGE, "-c", "beside", "--profile=general", "--", "sh", "-c", LOOK)
    output = said(cluster, "target", "beside")
    assert "do sleep 0.1" not in output
    status = ephemeral(cluster, "beside")
    assert (status["ready"], status["restartCount"], status["lastState"]) == (False, 0, {})
    assert status["state"]["terminated"]["exitCode"] == 0
    assert cluster.get("pod", "target")["status"]["phase"] == "Running"


def test_a_container_with_a_target_sees_the_targets_processes(cluster: RealCluster) -> None:
    command = ("--profile=netadmin", "--", "sh", "-c", LOOK)
    cluster.kubectl("debug", "target", IMAGE, "-c", "inside", "--target=app", *command)
    output = said(cluster, "target", "inside")
    assert "do sleep 0.11; done" in output
    assert "do sleep 0.12; done" not in output
    granted = int(output.split("CapEff:")[1].split()[0], 16)
    assert granted & 1 << 12, "the profile gives CAP_NET_ADMIN"


def test_a_profile_may_forbid_what_the_image_does(cluster: RealCluster) -> None:
    cluster.kubectl("debug", "target", IMAGE, "-c", "meek", "--profile=restricted", "--", "true")
    state = '{.status.ephemeralContainerStatuses[?(@.name=="meek")].state.waiting.reason}'
    wanted = f"--for=jsonpath={state}=CreateContainerConfigError"
    cluster.kubectl("wait", "pod/target", wanted, "--timeout=20s")
    assert "image will run as root" in ephemeral(cluster, "meek")["state"]["waiting"]["message"]


def test_a_copy_is_another_pod_with_one_container_more(cluster: RealCluster) -> None:
    options = ("--copy-to=copy", "--share-processes", "-c", "added", "--profile=general")
    cluster.kubectl("debug", "target", IMAGE, *options, "--", "sh", "-c", WORK.format(0.1))
    try:
        cluster.wait_ready("copy")
        output = cluster.kubectl("exec", "copy", "-c", "added", "--", "ps", "ax", "-o", "args")
        assert "do sleep 0.11; done" in output
        assert "do sleep 0.12; done" in output
        assert "target" in cluster.kubectl("get", "pods")
    finally:
        cluster.kubectl("delete", "pod", "copy", "--now")


def test_a_node_is_looked_at_from_a_pod_with_all_its_namespaces(cluster: RealCluster) -> None:
    (node,) = cluster.get("nodes")["items"]
    name = node["metadata"]["name"]
    look = "test -d /host/proc/1 && ps ax -o args; echo done"
    options = ("--profile=sysadmin", "--", "sh", "-c", look)
    made = cluster.kubectl("debug", f"node/{name}", IMAGE, *options)
    pod = next(word for word in made.split() if word.startswith("node-debugger-"))
    try:
        cluster.kubectl("wait", f"pod/{pod}", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=20s")
        output = cluster.kubectl("logs", pod)
        assert "podling" in output, "the processes of the node are seen"
        assert output.endswith("done\n")
    finally:
        cluster.kubectl("delete", "pod", pod, "--now")
