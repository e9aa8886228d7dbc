"""API workers and their writer, killed at random under load.

Every acknowledged write is there at once for clients of any worker, and no event of a watch is lost or comes
twice, though its client goes on at another process. ``PODLING_WORKER_KILLS`` says how many rounds there are
(8), and ``PODLING_WORKER_KILLS_SEED`` the seed.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from random import Random  # noqa: TID251 (seeded)

import pytest

from tests.support.clusters import RealCluster
from tests.support.killed_parts import Parts, wait
from tests.support.written_ledger import MAPS, Connection

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1800)]

ROUNDS = int(os.environ.get("PODLING_WORKER_KILLS", "8"))
SEED = os.environ.get("PODLING_WORKER_KILLS_SEED", "0")
WORKERS, WRITERS = 2, 3
RESTART_SECONDS = 40.0
"""A bound for a busy machine, and for the back-off of a part that is killed many times in a row."""
ROOT = "kube-root-ca.crt"
"""The ConfigMap that every namespace has."""
BROKEN = (OSError, http.client.HTTPException)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    options = ("--port", "0", "--nodes", "0", "--processes", "several", "--api-workers", str(WORKERS))
    running = RealCluster(tmp_path_factory.mktemp("workers") / "data", "sim", *options)
    try:
        running.up()
        yield running
    finally:
        running.remove()


class Writer(threading.Thread):
    """Creates objects over one connection, and reads each over another one: mostly at another process."""

    def __init__(self, cluster: RealCluster, name: str, stop: threading.Event) -> None:
        super().__init__(name=name, daemon=True)
        self.acknowledged: list[str] = []
        self.missing: list[str] = []
        self.results: Counter[str] = Counter()
        self._stop_now = stop
        self._connections = [Connection(cluster.kubeconfig, cluster.token) for _ in range(2)]

    def run(self) -> None:
        number = 0
        while not self._stop_now.wait(0.01):
            number += 1
            self._step(f"{self.name}-{number}")
        for each in self._connections:
            each.close()

    def _step(self, name: str) -> None:
        self._connections.reverse()
        writing, reading = self._connections
        try:
            code, answer = writing.request("POST", MAPS, {"metadata": {"name": name}, "data": {"n": "1"}})
        except BROKEN as error:
            self.results[type(error).__name__] += 1
            return
        self.results["201" if code == 201 else f"{code} {answer.get('message')}"] += 1
        if code != 201:
            return
        self.acknowledged.append(name)
        while not self._stop_now.is_set():
            try:
                code, _ = reading.request("GET", f"{MAPS}/{name}")
            except BROKEN:
                continue
            if code == 404:
                self.missing.append(name)
            if code in (200, 404):
                return


class Watcher(threading.Thread):
    """Watches all objects, and goes on from the last revision on a new connection whenever one breaks."""

    def __init__(self, cluster: RealCluster, revision: str, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self._cluster, self._stop_now = cluster, stop
        self.revision = revision
        self.seen: list[tuple[int, str]] = []
        self.connections = 0
        self.faults: list[str] = []

    def run(self) -> None:
        while not self._stop_now.is_set():
            connection = Connection(self._cluster.kubeconfig, self._cluster.token)
            try:
                self._follow(connection)
            except (*BROKEN, ValueError):
                continue
            finally:
                connection.close()

    def _follow(self, connection: Connection) -> None:
        query = f"watch=true&resourceVersion={self.revision}&timeoutSeconds=2"
        for line in connection.lines(f"{MAPS}?{query}"):
            event = json.loads(line)
            metadata = event["object"].get("metadata", {})
            if event["type"] != "ADDED":
                self.faults.append(f"{event}")
                return
            self.revision = metadata["resourceVersion"]
            if metadata["name"] != ROOT:
                self.seen.append((int(self.revision), metadata["name"]))
        self.connections += 1


def names_of(connection: Connection) -> list[str]:
    code, answer = connection.request("GET", MAPS)
    assert code == 200, answer
    names = (each["metadata"]["name"] for each in answer["items"])
    return sorted(name for name in names if name != ROOT)


def test_api_processes_are_killed_at_random(cluster: RealCluster) -> None:
    random, parts, stop, done = Random(SEED), Parts(cluster), threading.Event(), threading.Event()
    names = ["api", *(f"api-worker-{number + 1}" for number in range(WORKERS))]
    connection = Connection(cluster.kubeconfig, cluster.token)
    start = connection.request("GET", MAPS)[1]["metadata"]["resourceVersion"]
    writers = [Writer(cluster, f"w{number}", stop) for number in range(WRITERS)]
    watchers = [Watcher(cluster, start, done) for _ in range(2)]
    for thread in (*writers, *watchers):
        thread.start()
    for number in range(ROUNDS):
        threading.Event().wait(random.uniform(0.2, 0.8))
        name = random.choice(names)
        before = parts.signal(name, signal.SIGKILL)
        seconds = parts.wait_restarted(name, before, RESTART_SECONDS)
        print(f"round {number}: {name} serves after {seconds:.2f} s", flush=True)
    threading.Event().wait(0.5)
    stop.set()
    for writer in writers:
        writer.join()
    fresh = Connection(cluster.kubeconfig, cluster.token)
    found = names_of(fresh)
    acknowledged = {name for writer in writers for name in writer.acknowledged}
    assert acknowledged - set(found) == set(), "acknowledged writes that were lost"
    assert [name for writer in writers for name in writer.missing] == [], "writes that a reader did not see"
    assert len(acknowledged) > ROUNDS
    wait(
        lambda: all(len(each.seen) >= len(found) for each in watchers),
        20,
        lambda: f"{[len(each.seen) for each in watchers]} of {len(found)} events",
    )
    done.set()
    for watcher in watchers:
        watcher.join()
        assert watcher.faults == []
        assert sorted(name for _, name in watcher.seen) == found
        assert watcher.seen == sorted(watcher.seen), "events came out of order"
    fresh.close()
    connection.close()
    for writer in writers:
        print(json.dumps(dict(writer.results)))


def stop_writer(parts: Parts, connection: Connection) -> int:
    """Stop the writer at a moment at which its workers have all that it wrote; return its process.

    At another moment no worker may answer: it does not know the newest revision. An answer before the stop
    says that the worker is up to date, which a writer that was stopped before needs a while for.
    """
    for _ in range(5):
        connection.request("GET", f"{MAPS}/before")
        pid = parts.signal("api", signal.SIGSTOP)
        try:
            connection.request("GET", f"{MAPS}/before")
        except TimeoutError:
            os.kill(pid, signal.SIGCONT)
        else:
            return pid
    raise AssertionError("the workers are always behind their writer")


def test_stopped_writer_is_named_by_workers_and_reads_go_on(cluster: RealCluster) -> None:
    parts = Parts(cluster)
    connection = Connection(cluster.kubeconfig, cluster.token)
    connection.request("POST", MAPS, {"metadata": {"name": "before"}})
    pid = stop_writer(parts, connection)
    try:
        assert connection.request("GET", f"{MAPS}/before")[0] == 200
        assert connection.request("GET", f"{MAPS}?resourceVersion=0")[0] == 200
        wait(
            lambda: "the writer has sent nothing" in cluster.try_kubectl("get", "--raw", "/readyz/etcd").err,
            30,
            lambda: cluster.try_kubectl("get", "--raw", "/readyz?verbose").err,
        )
    finally:
        os.kill(pid, signal.SIGCONT)
    wait(lambda: cluster.try_kubectl("get", "--raw", "/readyz").out == "ok", 20, cluster.log)
    assert connection.request("POST", MAPS, {"metadata": {"name": "after"}})[0] == 201
    connection.close()
