"""A full disk: reads go on, writes fail with the reason, and everything recovers without a restart."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.clusters import RealCluster
from tests.support.disks import fill
from tests.support.oci_node import missing

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing()), reason=missing()),
]

NEW = b'{"metadata": {"name": "new"}}'
FULL = "the write was not saved: database or disk is full"


def pod(name: str, script: str, **spec: Any) -> dict[str, Any]:
    """Return a pod whose container is probed and runs ``script``."""
    container = {
        "name": "app",
        "image": "podling.local/host",
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", script],
        "readinessProbe": {"exec": {"command": ["test", "!", "-e", "/unready"]}, "periodSeconds": 1},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 1, **spec},
    }


def quiet(name: str = "quiet") -> dict[str, Any]:
    """Return a pod that node pressure never evicts."""
    script = "while :; do date; sleep 1; done"
    return pod(name, script, priorityClassName="system-node-critical")


@pytest.fixture
def small(tmp_path: Path) -> Iterator[RealCluster]:
    """A cluster whose data directory is a file system of 80 MB."""
    directory = tmp_path / "data"
    directory.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=80m", "tmpfs", str(directory)], check=True)
    cluster = RealCluster(directory, "oci", "--port", "0")
    try:
        cluster.up()
        yield cluster
    finally:
        (directory / "ballast").unlink(missing_ok=True)
        cluster.down()
        subprocess.run(["umount", str(directory)], check=True)


def wait(cluster: RealCluster, target: str, condition: str) -> None:
    """Wait for a condition as long as a recovery may take."""
    every = ["--all"] if "/" not in target else []
    cluster.kubectl("wait", f"--for=condition={condition}", target, *every, "--timeout=15s")


def container_of(cluster: RealCluster, name: str) -> tuple[str, int]:
    """Return the container that a pod runs, and its restarts."""
    (status,) = cluster.get("pod", name)["status"]["containerStatuses"]
    return status["containerID"], status["restartCount"]


def test_disk_filled_from_outside(small: RealCluster) -> None:
    small.apply(quiet())
    small.wait_ready("quiet")
    before, pid = container_of(small, "quiet"), small.pid
    small.kubectl("create", "configmap", "kept", "--from-literal=a=b")
    assert small.token
    fill(small.directory)
    refused = small.try_kubectl("create", "configmap", "refused")
    assert FULL in refused.err
    code, status, _ = small.request("POST", "/api/v1/namespaces/default/configmaps", NEW)
    assert (code, status["message"], status.get("reason")) == (500, FULL, None)
    assert small.get("configmap", "kept")["data"] == {"a": "b"}
    assert "UTC" in small.kubectl("logs", "quiet", "--tail=1")
    assert small.kubectl("exec", "quiet", "--", "echo", "hello") == "hello\n"
    (small.directory / "ballast").unlink()
    small.kubectl("create", "configmap", "after")
    wait(small, "node", "Ready")
    wait(small, "pod/quiet", "Ready")
    assert (container_of(small, "quiet"), small.pid) == (before, pid)


def test_pod_that_fills_the_disk_is_evicted(small: RealCluster) -> None:
    small.apply(quiet())
    small.wait_ready("quiet")
    before, pid = container_of(small, "quiet"), small.pid
    small.apply(pod("filler", "sleep 2; dd if=/dev/zero of=/fill bs=1M; sleep 1000"))
    small.wait_ready("filler")
    small.kubectl("wait", "--for=jsonpath={.status.reason}=Evicted", "pod/filler", "--timeout=60s")
    message = small.get("pod", "filler")["status"]["message"]
    assert message.startswith("The node was low on resource: ephemeral-storage.")
    small.kubectl("create", "configmap", "after")
    wait(small, "node", "DiskPressure")
    wait(small, "node", "Ready")
    assert (container_of(small, "quiet"), small.pid) == (before, pid)


def test_cluster_starts_on_a_full_disk(small: RealCluster) -> None:
    small.apply(quiet())
    small.wait_ready("quiet")
    before = container_of(small, "quiet")
    small.kill()
    assert not (small.directory / "store.db-shm").exists(), "the index of the log needs no space"
    fill(small.directory)
    small.options = ()
    started = small.up()
    assert "not every node is Ready yet" in started.out
    assert container_of(small, "quiet") == before
    assert small.kubectl("exec", "quiet", "--", "echo", "hello") == "hello\n"
    assert FULL in small.try_kubectl("create", "configmap", "refused").err
    (small.directory / "ballast").unlink()
    small.kubectl("create", "configmap", "after")
    wait(small, "node", "Ready")
    wait(small, "pod/quiet", "Ready")
    assert container_of(small, "quiet") == before


def test_new_cluster_on_a_full_disk_is_refused_in_one_line(tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path)], check=True)
    try:
        fill(tmp_path)
        done = RealCluster(tmp_path / "data", "sim").podling(
            "up", "--detach", "--runtime", "sim", "--port", "0"
        )
        assert done.code == 1
        assert "No space left on device" in done.err
        assert "Traceback" not in done.err
        assert len(done.err.strip().splitlines()) == 1
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
