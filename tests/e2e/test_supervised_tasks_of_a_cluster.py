"""Each background task that only a real cluster has fails once, and the cluster goes on.

The others are in ``tests/unit/test_supervised_tasks.py``. The cluster runs in this process, with real
containers, as ``podling up`` runs it.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from podling import clock
from podling.cli.starting.detached import Progress
from podling.cli.up import _serve
from podling.cluster.cluster import Cluster
from podling.cluster.cluster_settings import ClusterSettings
from podling.cluster.directory import DataDirectory
from podling.cluster.local_nodes import end_all_containers
from podling.cluster.relocation import settle
from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import RealCluster, shell_pod
from tests.support.failing_tasks import FailingTasks, sites
from tests.unit.test_supervised_tasks import NEEDS_REAL_CLUSTER

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.slow,
    pytest.mark.usefixtures("failures_expected"),
    pytest.mark.skipif(bool(missing_for_containers()), reason=missing_for_containers()),
]

SHORT_LIVED = {
    "kubelet/status",
    "apiserver/feed",
    "kubelet/probe",
    "kubelet/pod",
    "runtime/container-end",
    "kubeconfig",
}
POLICY = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "open"},
    "spec": {"podSelector": {}, "ingress": [{}]},
}
"""With it the node's policies read pods and namespaces."""

FAULTS = [RecursionError("maximum recursion depth exceeded"), OSError(errno.EMFILE, "Too many open files")]


@asynccontextmanager
async def serving(path: Path) -> AsyncIterator[RealCluster]:
    """Run a cluster in this process. Its second kubeconfig cannot be written; the cluster tries again."""
    directory = DataDirectory(path / "data")
    directory.create()
    with directory.locked():
        await settle(directory)
        cluster = Cluster(directory, ClusterSettings(runtime="oci"), lambda *_: None)
        served = asyncio.create_task(_serve(cluster, Path("/proc/podling/config"), Progress(-1)))
        try:
            while not directory.kubeconfig.exists():
                assert not served.done(), served.exception()
                await asyncio.sleep(0.05)  # noqa: TID251 (the start is over when the file is there)
            yield RealCluster(directory.path, "oci")
            assert not served.done(), served.exception()
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.gather(served, return_exceptions=True)
            await end_all_containers(directory, 1)


def assert_works(cluster: RealCluster, name: str, tasks: FailingTasks) -> None:
    """Assert that a container runs, ends and runs again."""
    deadline = clock.monotonic() + 30
    while not cluster.get("nodes")["items"]:
        assert clock.monotonic() < deadline, "the node did not register"
        threading.Event().wait(0.2)
    cluster.kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=30s")
    script = "test -e /x/once && exec sleep 1000; touch /x/once; exit 1"
    volumes = [{"name": "x", "emptyDir": {}}]
    mounts = {"volumeMounts": [{"name": "x", "mountPath": "/x"}]}
    cluster.apply(shell_pod(name, script, container=mounts, volumes=volumes))
    # Without a watch, whose end may be among the failures.
    deadline = clock.monotonic() + 90
    while not restarted(cluster.get("pod", name)):
        assert clock.monotonic() < deadline, f"{cluster.get('pod', name)['status']}\n{tasks.places()}"
        threading.Event().wait(0.2)
    cluster.wait_ready(name)
    cluster.kubectl("delete", "pod", name, "--timeout=30s")


def restarted(pod: dict[str, Any]) -> bool:
    return any(status["restartCount"] for status in pod["status"].get("containerStatuses", ()))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
async def test_every_task_of_a_cluster_may_fail_once(
    fault: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = FailingTasks(monkeypatch, fault)
    async with serving(tmp_path) as cluster:
        await asyncio.to_thread(cluster.apply, POLICY)
        await asyncio.to_thread(assert_works, cluster, "first-runs-failed", tasks)
        before = {task for task in tasks.long_lived() if task[0] not in SHORT_LIVED}
        for name, subject in sorted(before):
            tasks.fail(name, subject)
        await asyncio.to_thread(assert_works, cluster, "all-failed-once", tasks)
        after = {task for task in tasks.long_lived() if task[0] not in SHORT_LIVED}
        assert before - after == set()
    wanted = {site for site in sites() if site[0] in NEEDS_REAL_CLUSTER}
    assert wanted - tasks.sites == set(), "these tasks are not run here, so their failure is not tried"
