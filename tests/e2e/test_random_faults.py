"""Faults of file systems, descriptors and the pod network, at random and under load.

The process never exits, no acknowledged write is lost, no container restarts, and everything is Ready soon
after the last fault. ``PODLING_FAULT_ROUNDS`` says how many rounds there are (20; a night's work is 200),
``PODLING_FAULTS_SEED`` the seed they are drawn from.
"""

from __future__ import annotations

import http.client
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random  # noqa: TID251
from typing import Any

import pytest

from podling import clock
from tests.e2e.conftest import missing_for_containers
from tests.support import small_disks
from tests.support.clusters import RealCluster, command
from tests.support.random_faults import FaultyNode, drawn, faulty_node
from tests.support.written_ledger import Connection, Writer, values

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(7200)]

ROUNDS = int(os.environ.get("PODLING_FAULT_ROUNDS", "20"))
SEED = os.environ.get("PODLING_FAULTS_SEED", "0")
RECOVERY_SECONDS = 15
FAULT_SECONDS_MAX = 2.0
BETWEEN_SECONDS_MAX = 0.5
STEADY = 6
WRITERS = 3
SERVE = "mkdir /w; echo well > /w/index.html; busybox httpd -p 8080 -h /w; while :; do date; sleep 0.2; done"


def pod(name: str, **container: Any) -> dict[str, Any]:
    """Return a pod that node pressure never evicts; it writes to its log and serves a page."""
    main = {
        "name": "main",
        "image": "podling.local/host",
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", SERVE],
        **container,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"set": name.partition("-")[0]}},
        "spec": {
            "containers": [main],
            "priorityClassName": "system-node-critical",
            "terminationGracePeriodSeconds": 1,
            "tolerations": [{"operator": "Exists"}],  # the taint of disk pressure lasts minutes
        },
    }


def steady_pod(number: int) -> dict[str, Any]:
    """Return a pod with probes of two kinds, whose container must not notice a fault.

    The liveness probe has Kubernetes' default numbers: while a bridge is gone, pods are really out of reach.
    """
    page = {"httpGet": {"path": "/", "port": 8080}}
    file = {"exec": {"command": ["test", "-e", "/w/index.html"]}}
    ready, alive = (page, file) if number % 2 else (file, page)
    return pod(f"steady-{number}", readinessProbe={**ready, "periodSeconds": 1}, livenessProbe=alive)


def restarts(cluster: RealCluster) -> dict[str, tuple[str, int]]:
    """Return the container and the restarts of each steady pod."""
    return {
        found["metadata"]["name"]: (status["containerID"], status["restartCount"])
        for found in cluster.get("pods", "-l", "set=steady")["items"]
        for status in found["status"]["containerStatuses"]
    }


class Churn(threading.Thread):
    """Creates and deletes short-lived pods until ``stop``; failed requests are tried again."""

    def __init__(self, connection: Connection, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self._connection, self._stop_now = connection, stop

    def run(self) -> None:
        number = 0
        while not self._stop_now.wait(0.5):
            number += 1
            pods = "/api/v1/namespaces/default/pods"
            with suppress(OSError, http.client.HTTPException):
                self._connection.request("POST", pods, pod(f"churn-{number}"))
            if number > 3:
                with suppress(OSError, http.client.HTTPException):
                    self._connection.request("DELETE", f"{pods}?labelSelector=set%3Dchurn")
        self._connection.close()


@contextmanager
def load(node: FaultyNode) -> Iterator[list[Writer]]:
    """Run writers and short-lived pods as long as the block lasts."""
    cluster, stop = node.cluster, threading.Event()
    writers = [
        Writer(f"w{number}", Connection(cluster.kubeconfig, cluster.token), stop) for number in range(WRITERS)
    ]
    threads = [*writers, Churn(Connection(cluster.kubeconfig, cluster.token), stop)]
    for thread in threads:
        thread.start()
    try:
        yield writers
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def wait(seconds: float) -> None:
    """Let a fault last: the one thing that real time decides."""
    threading.Event().wait(seconds)


def recover(cluster: RealCluster) -> float:
    """Wait until nodes and pods are Ready; return the seconds that took."""
    began = clock.monotonic()
    for target in (("node", "--all"), ("pods", "-l", "set=steady")):
        left = max(RECOVERY_SECONDS - (clock.monotonic() - began), 0)
        done = cluster.try_kubectl("wait", "--for=condition=Ready", *target, f"--timeout={left}s")
        assert done.code == 0, f"{done.err}\n{describe_cluster(cluster)}"
    return clock.monotonic() - began


def describe_cluster(cluster: RealCluster) -> str:
    """Return the objects to read when a pod or node is not Ready."""
    shown = [
        cluster.try_kubectl("describe", "nodes").out,
        cluster.try_kubectl("get", "pods", "-o", "wide").out,
        cluster.try_kubectl("get", "pods", "-l", "set=steady", "-o", "jsonpath={.items[*].status}").out,
        *(command(line.split()).out for line in ("ip route", "bridge link", "bridge fdb", "ip neigh")),
        cluster.try_kubectl("get", "events", "--sort-by=.lastTimestamp").out[-5000:],
        cluster.log(),
    ]
    return "\n".join(shown)


@pytest.mark.skipif(bool(small_disks.missing()), reason=small_disks.missing())
def test_cluster_survives_random_faults(tmp_path: Path) -> None:
    if reason := missing_for_containers():
        pytest.skip(reason)
    random = Random(SEED)
    with faulty_node(tmp_path) as node:
        cluster = node.cluster
        for number in range(STEADY):
            cluster.apply(steady_pod(number))
        recover(cluster)
        before, pid = restarts(cluster), cluster.pid
        faults, recoveries = node.faults(), []
        with load(node) as writers:
            for number in range(ROUNDS):
                names = drawn(random, faults)
                print(f"round {number}: {', '.join(names)}", flush=True)
                for name in names:
                    faults[name][0]()
                wait(random.uniform(0, FAULT_SECONDS_MAX))
                for name in names:
                    faults[name][1]()
                assert os.path.exists(f"/proc/{pid}"), f"the process ended: {cluster.log()}"
                if number % 10 == 9:
                    recoveries.append(recover(cluster))
                else:
                    wait(random.uniform(0, BETWEEN_SECONDS_MAX))
        recoveries.append(recover(cluster))
        connection = Connection(cluster.kubeconfig, cluster.token)
        found = values(connection)
        connection.close()
        assert [line for writer in writers for line in writer.lost(found)] == []
        assert sum(writer.results["lost"] for writer in writers) == 0
        after = restarts(cluster)
        assert (after, cluster.pid) == (before, pid), cluster.kubectl(
            "get", "events", "--field-selector=type=Warning"
        )
        for name in before:
            assert cluster.kubectl("logs", name, "--since=5s"), "containers can write to their logs again"
            assert cluster.kubectl("exec", name, "--", "cat", "/w/index.html") == "well\n"
        cluster.apply(pod("last"))
        cluster.kubectl("wait", "--for=condition=Ready", "pod/last", f"--timeout={RECOVERY_SECONDS}s")
        cluster.kubectl("delete", "pods", "-l", "set=churn", f"--timeout={RECOVERY_SECONDS}s")
        cluster.kill()
        cluster.up()
        connection = Connection(cluster.kubeconfig, cluster.token)
        assert values(connection) == found
        connection.close()
        print("recoveries:", [f"{seconds:.1f}" for seconds in recoveries])
        for writer in writers:
            print(json.dumps(dict(writer.results)))
