"""Mounts as containers see them: propagation, mounts below read-only volumes, a read-only root."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podling.runtime.oci import linux
from podling.runtime.oci.rootfs import unmount_everything_under
from tests.support.clusters import RealCluster, shell_pod

pytestmark = [pytest.mark.e2e, pytest.mark.root]

UNTIL_STOPPED = "trap 'exit 0' TERM; while :; do sleep 0.1; done"
MS_SHARED = 0x100000
BELOW = {"disabled": "Disabled", "if-possible": "IfPossible", "enabled": "Enabled"}
"""Mounts of one volume that is read-only, by what they say about the mounts below it."""

Plain = dict[str, Any]


def mounts() -> list[Plain]:
    plain: Plain = {"name": "shared", "readOnly": True}
    return [
        {"name": "shared", "mountPath": "/none"},
        {"name": "shared", "mountPath": "/from-host", "mountPropagation": "HostToContainer"},
        *({**plain, "mountPath": f"/{name}", "recursiveReadOnly": mode} for name, mode in BELOW.items()),
    ]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory of the node that is a shared mount, with a file system mounted inside."""
    place = tmp_path_factory.mktemp("shared")
    linux.mount(str(place), place, flags=linux.MS_BIND)
    try:
        linux.mount("none", place, flags=MS_SHARED)
        for name in ("inner", "late", "by-container"):
            (place / name).mkdir()
        linux.mount("inner", place / "inner", "tmpfs")
        yield place
    finally:
        unmount_everything_under(place)
        linux.unmount(place)


@pytest.fixture(scope="module")
def pods(cluster: RealCluster, shared: Path) -> Iterator[RealCluster]:
    """The cluster with a plain pod and a privileged one over the shared directory."""
    volumes = [{"name": "shared", "hostPath": {"path": str(shared), "type": "Directory"}}]
    volumes.append({"name": "scratch", "emptyDir": {}})
    scratch = {"name": "scratch", "mountPath": "/scratch"}
    plain = shell_pod(
        "plain",
        UNTIL_STOPPED,
        container={
            "volumeMounts": [*mounts(), scratch],
            "securityContext": {"readOnlyRootFilesystem": True},
        },
        volumes=volumes,
    )
    both_ways = {"name": "shared", "mountPath": "/shared", "mountPropagation": "Bidirectional"}
    privileged = shell_pod(
        "privileged",
        UNTIL_STOPPED,
        container={"volumeMounts": [both_ways], "securityContext": {"privileged": True}},
        volumes=volumes,
    )
    try:
        for pod in (plain, privileged):
            cluster.apply(pod)
            cluster.wait_ready(pod["metadata"]["name"])
        yield cluster
    finally:
        cluster.kubectl("delete", "pod/plain", "pod/privileged", "--ignore-not-found", "--grace-period=1")


def inside(cluster: RealCluster, pod: str, script: str) -> tuple[str, str]:
    done = cluster.try_kubectl("exec", pod, "--", "sh", "-c", script)
    return done.out.strip(), done.err


def test_mount_of_the_node_reaches_the_containers_that_want_it(pods: RealCluster, shared: Path) -> None:
    linux.mount("late", shared / "late", "tmpfs")
    (shared / "late" / "file").touch()
    assert inside(pods, "plain", "ls /from-host/late")[0] == "file"
    assert inside(pods, "privileged", "ls /shared/late")[0] == "file"
    assert inside(pods, "plain", "ls /none/late")[0] == ""


def test_mount_of_a_privileged_container_reaches_the_node(pods: RealCluster, shared: Path) -> None:
    script = "mount -t tmpfs x /shared/by-container && touch /shared/by-container/file"
    assert inside(pods, "privileged", script) == ("", "")
    assert os.listdir(shared / "by-container") == ["file"]
    assert inside(pods, "plain", "ls /from-host/by-container")[0] == "file"
    assert inside(pods, "plain", "ls /none/by-container")[0] == ""


def test_propagation_to_the_node_needs_privileges(pods: RealCluster) -> None:
    mount = {"name": "v", "mountPath": "/v", "mountPropagation": "Bidirectional"}
    pod = shell_pod("plain", "", container={"volumeMounts": [mount]}, volumes=[{"name": "v", "emptyDir": {}}])
    refused = pods.try_kubectl("create", "--dry-run=server", "-f", "-", stdin=str(pod).replace("'", '"'))
    assert "Bidirectional mount propagation is available only to privileged containers" in refused.err


def test_recursive_read_only_mounts_include_what_is_mounted_below(pods: RealCluster) -> None:
    for name, mode in BELOW.items():
        assert "Read-only file system" in inside(pods, "plain", f"touch /{name}/file")[1]
        error = inside(pods, "plain", f"touch /{name}/inner/file")[1]
        assert ("Read-only file system" in error) == (mode != "Disabled"), name
    (status,) = pods.get("pod", "plain")["status"]["containerStatuses"]
    shown = {mount["mountPath"]: mount.get("recursiveReadOnly") for mount in status["volumeMounts"]}
    assert shown["/disabled"] == "Disabled"
    assert shown["/if-possible"] == shown["/enabled"] == "Enabled", "the status shows what has been done"
    handlers = pods.get("nodes")["items"][0]["status"]["runtimeHandlers"]
    assert all(handler["features"]["recursiveReadOnlyMounts"] for handler in handlers)


def test_read_only_root_leaves_volumes_writable(pods: RealCluster) -> None:
    for path in ("/file", "/etc/file", "/tmp/file"):
        assert "Read-only file system" in inside(pods, "plain", f"touch {path}")[1]
    assert inside(pods, "plain", "touch /scratch/file /dev/shm/file && ls /scratch")[0] == "file"
