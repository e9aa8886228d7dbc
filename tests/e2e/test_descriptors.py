"""A process whose descriptors run out: it goes on, and recovers without a restart."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support.clusters import PODLING, RealCluster, shell_pod
from tests.support.oci_node import missing

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing()), reason=missing()),
]

SOFT, HARD = 512, 1024
IDLE = 1100
ATTEMPTS = 4
"""Requests of two seconds while there are no descriptors; probes go on failing meanwhile."""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RealCluster]:
    """A cluster that may have no more than ``HARD`` files open."""
    running = RealCluster(tmp_path / "data", "oci", "--port", "0")
    running.program = ["prlimit", f"--nofile={SOFT}:{HARD}", *PODLING]
    try:
        running.up()
        yield running
    finally:
        running.remove()


@contextmanager
def many_files() -> Iterator[None]:
    """Let the test itself have many files open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2 * IDLE:
        pytest.skip(f"needs {2 * IDLE} files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * IDLE), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def restarts(cluster: RealCluster, pod: str) -> int:
    return int(cluster.get("pod", pod)["status"]["containerStatuses"][0]["restartCount"])


def probed(name: str) -> dict[str, object]:
    probe = {"exec": {"command": ["true"]}, "periodSeconds": 1}
    return shell_pod(name, "ulimit -Sn; ulimit -Hn; sleep 1d", container={"readinessProbe": probe})


def test_idle_connections_leave_descriptors_for_everything_else(cluster: RealCluster) -> None:
    """Containers get the limits that Podling was started with."""
    pid = cluster.pid
    assert resource.prlimit(pid, resource.RLIMIT_NOFILE) == (HARD, HARD)
    cluster.apply(probed("before"))
    cluster.wait_ready("before")
    server = cluster.kubectl("config", "view", "-o", "jsonpath={.clusters[0].cluster.server}")
    address = ("127.0.0.1", int(server.rpartition(":")[2]))
    with ExitStack() as stack, many_files():
        for _ in range(IDLE):
            stack.enter_context(socket.create_connection(address, timeout=10))
        cluster.apply(probed("during"))
        cluster.wait_ready("during")
        assert cluster.kubectl("exec", "during", "--", "echo", "here") == "here\n"
    assert cluster.kubectl("logs", "during") == f"{SOFT}\n{HARD}\n"
    assert (cluster.pid, restarts(cluster, "before")) == (pid, 0)


def test_process_without_descriptors_goes_on(cluster: RealCluster) -> None:
    pid = cluster.pid
    cluster.apply(probed("before"))
    cluster.wait_ready("before")
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (16, HARD))
    try:
        for _ in range(ATTEMPTS):
            assert cluster.try_kubectl("get", "nodes", "--request-timeout=2s").code != 0
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (HARD, HARD))
    cluster.apply(probed("after"))
    cluster.wait_ready("after")
    cluster.wait_ready("before")
    assert (cluster.pid, restarts(cluster, "before")) == (pid, 0)
