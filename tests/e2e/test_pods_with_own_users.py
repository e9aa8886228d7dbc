"""A pod with ``hostUsers: false`` on a real cluster: volumes, groups, messages, streams, restarts.

Statements of the page "User Namespaces" on what the kubelet makes for such a pod.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from podling.kubelet.config import KubeletConfig
from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import RealCluster, namespace, shell_pod
from tests.support.pod_processes import kill_process_namespace
from tests.support.real_kubelet import real_node

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.skipif(bool(missing_for_containers()), reason=missing_for_containers() or "can run"),
]

WHERE = ("-n", "own-users")
TOKEN = {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}}
VOLUMES: dict[str, dict[str, Any]] = {
    "config": {"configMap": {"name": "config"}},
    "secret": {"secret": {"secretName": "secret", "defaultMode": 0o400}},
    "downward": {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    "projected": {"projected": {"sources": [TOKEN, {"configMap": {"name": "config"}}]}},
    "disk": {"emptyDir": {}},
    "memory": {"emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
}
RUN = """
echo made > /v/disk/made; echo part > /v/disk/part
(while :; do sleep 1; done) & trap 'echo over > /dev/termination-log; exit 3' TERM; wait
"""


def manifest() -> dict[str, Any]:
    mounts = [{"name": name, "mountPath": f"/v/{name}"} for name in VOLUMES]
    volumes = [{"name": name, **source} for name, source in VOLUMES.items()]
    part = [{"name": "disk", "mountPath": "/part", "subPath": "part"}]
    group = {"fsGroup": 3000}
    pod = shell_pod(
        "many",
        RUN,
        container={"volumeMounts": mounts},
        hostUsers=False,
        volumes=volumes,
        securityContext=group,
    )
    pod["metadata"]["namespace"] = WHERE[1]
    (main,) = pod["spec"]["containers"]
    main["readinessProbe"] = {"exec": {"command": ["test", "-e", "/v/disk/part"]}, "periodSeconds": 1}
    user = {"runAsUser": 1000, "runAsGroup": 2000}
    keep = ["sh", "-c", "until [ -s /v/disk/part ]; do sleep 0.1; done; exec sleep 3600"]
    plain = {
        **main,
        "name": "user",
        "command": keep,
        "securityContext": user,
        "ports": [{"containerPort": 80}],
    }
    pod["spec"]["containers"].append(plain)
    setup = {**main, "name": "setup", "command": ["sh", "-c", "id -u > /v/disk/setup; touch /v/disk/part"]}
    del setup["readinessProbe"]
    pod["spec"]["initContainers"] = [setup]
    main["volumeMounts"] = [*mounts, *part]
    return pod


@pytest.fixture(scope="module")
def many(cluster: RealCluster) -> Iterator[RealCluster]:
    """The shared cluster with a pod that has volumes of many kinds."""
    with namespace(cluster, WHERE[1]):
        cluster.kubectl("create", "configmap", "config", "--from-literal=key=value", *WHERE)
        cluster.kubectl("create", "secret", "generic", "secret", "--from-literal=key=hidden", *WHERE)
        cluster.apply(manifest())
        cluster.kubectl("wait", "pod/many", "--for=condition=Ready", "--timeout=60s", *WHERE)
        yield cluster


def run(cluster: RealCluster, script: str, container: str = "main") -> str:
    return cluster.kubectl("exec", "many", "-c", container, *WHERE, "--", "sh", "-c", f"exec 2>&1; {script}")


def test_no_warning_is_given_and_the_pod_is_ready(many: RealCluster) -> None:
    said = many.try_kubectl("apply", "--dry-run=server", "-f", "-", stdin=json.dumps(manifest()))
    assert "not honoured" not in said.err
    outside = run(many, "cat /proc/self/uid_map").split()
    assert (outside[0], outside[2]) == ("0", "65536")
    assert int(outside[1]) >= 65536


def test_volumes_of_each_kind_are_owned_and_read_inside(many: RealCluster) -> None:
    read = "cat /v/config/key /v/secret/key /v/downward/name /v/projected/key; echo"
    values, *owners = run(many, f"{read}; stat -Lc '%u %g' /v/*/key").splitlines()
    assert values == "valuehiddenmanyvalue"
    assert owners == ["0 3000"] * 3
    assert run(many, "wc -c < /v/projected/token", "user").strip().isdigit(), "by the group"
    assert run(many, "cat /v/secret/key; id -u; id -G", "user").split() == ["hidden1000", "2000", "3000"]


def test_scratch_volumes_are_written_with_the_ids_inside(many: RealCluster) -> None:
    assert run(many, "cat /v/disk/setup /part").split() == ["0", "part"]
    made = "touch /v/disk/by-user /v/memory/by-user; stat -c '%u %g' /v/disk/by-user /v/memory/by-user"
    assert run(many, made, "user").splitlines() == ["1000 3000", "1000 3000"]
    uid = many.get("pod", "many", *WHERE)["metadata"]["uid"]
    (disk,) = many.directory.glob(f"**/pods/{uid}/volumes/kubernetes.io~empty-dir/disk")
    owners = {(disk / name).stat().st_uid for name in ("made", "part", "setup")}
    assert owners == {0}, "on the disk as inside"
    assert (disk / "by-user").stat().st_uid == 1000


def test_files_of_the_kubelet_can_be_written_by_root_inside(many: RealCluster) -> None:
    assert run(many, "stat -c %u /etc/hosts /etc/resolv.conf /dev/termination-log").split() == ["0"] * 3
    assert "many" in run(many, "echo '# mine' >> /etc/hosts; cat /etc/hosts")


def test_debugging_joins_the_users(many: RealCluster) -> None:
    debug = ("debug", "many", "--image=podling.local/host", "--target=main", "-c", "looks", *WHERE)
    many.kubectl(*debug, "--", "sh", "-c", "cat /proc/self/uid_map; id -u; sleep 3600")
    running = "--for=jsonpath={.status.ephemeralContainerStatuses[0].state.running}"
    many.kubectl("wait", "pod/many", running, "--timeout=60s", *WHERE)
    assert run(many, "cat /proc/self/uid_map").split() == run(many, "cat /proc/self/uid_map", "looks").split()
    assert "sleep 1" in run(many, "ps -ef || cat /proc/[0-9]*/cmdline | tr '\\0' ' '", "looks")


def test_restarted_container_has_the_same_users_and_its_message_is_known(many: RealCluster) -> None:
    before = run(many, "cat /proc/self/uid_map")
    many.try_kubectl("exec", "many", "-c", "main", *WHERE, "--", "kill", "-TERM", "1")  # it may end first
    status = "{.status.containerStatuses[?(@.name=='main')].lastState.terminated.message}"
    many.kubectl("wait", "pod/many", f"--for=jsonpath={status}=over\n", "--timeout=60s", *WHERE)
    many.kubectl("wait", "pod/many", "--for=condition=Ready", "--timeout=60s", *WHERE)
    assert run(many, "cat /proc/self/uid_map") == before


def test_new_sandbox_has_the_same_users_and_finds_its_files(cluster: RealCluster) -> None:
    """The namespace of users goes with the sandbox; the IDs of the node belong to the pod."""
    script = "cat /proc/self/uid_map /work/file; echo mine > /work/file; exec sleep 3600"
    mounts = {"volumeMounts": [{"name": "work", "mountPath": "/work"}]}
    volumes = [{"name": "work", "emptyDir": {}}]
    cluster.apply(
        shell_pod(
            "renewed",
            script,
            container=mounts,
            hostUsers=False,
            shareProcessNamespace=True,
            volumes=volumes,
        )
    )
    try:
        cluster.wait_ready("renewed")
        before = cluster.kubectl("logs", "renewed").split()
        space = cluster.kubectl("exec", "renewed", "--", "readlink", "/proc/self/ns/user")
        kill_process_namespace(cluster.get("pod", "renewed")["metadata"]["uid"])
        again = "--for=jsonpath={.status.containerStatuses[0].restartCount}=1"
        cluster.kubectl("wait", "pod/renewed", again, "--timeout=60s")
        cluster.wait_ready("renewed")
        assert cluster.kubectl("exec", "renewed", "--", "readlink", "/proc/self/ns/user") != space
        after = cluster.kubectl("logs", "renewed").split()
        assert (before[0], before[2], after[3]) == ("0", "65536", "mine")
        assert after[:3] == before[:3]
    finally:
        cluster.kubectl("delete", "pod", "renewed", "--grace-period=1")


def test_user_outside_of_the_range_is_an_error_of_the_container(cluster: RealCluster) -> None:
    context = {"runAsUser": 65536}
    cluster.apply(shell_pod("far-user", "true", hostUsers=False, securityContext=context))
    try:
        waiting = "--for=jsonpath={.status.containerStatuses[0].state.waiting.reason}=CreateContainerError"
        cluster.kubectl("wait", "pod/far-user", waiting, "--timeout=60s")
        (status,) = cluster.get("pod", "far-user")["status"]["containerStatuses"]
        assert (
            "must be in the range 0-65535 when `hostUsers` is false" in status["state"]["waiting"]["message"]
        )
    finally:
        cluster.kubectl("delete", "pod", "far-user")


async def test_users_are_of_the_range_that_the_kubelet_was_given(tmp_path: Path) -> None:
    """As if ``getsubids`` showed it. A kubelet that starts without a range lets pods keep what they have."""
    given = "0: kubelet 458752 8388608\n"
    async with real_node(tmp_path, KubeletConfig(eviction_hard={})) as node:
        deps = node.deps
        for read in ((given, given), None):
            await node.stop()
            node.deps = replace(deps, read_subordinate_ids=lambda read=read: read)
            await node.start()
            if read:
                await node.run("given", {"name": "main"}, hostUsers=False)
            pod = await node.phase("given", "Running")
            for ids in ("uid_map", "gid_map"):
                said = await node.exec(pod, "main", "cat", f"/proc/self/{ids}")
                assert said.out.split() == ["0", "458752", "65536"]
