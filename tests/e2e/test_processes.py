"""A cluster in several processes: any of them is killed or stopped at random, under load.

No acknowledged write is lost, no container is started again or twice, not even one that begins in the moment
of a fault, and everything is Ready soon after each fault. ``PODLING_PART_KILLS`` says how many rounds there
are (12; a night's work is 300), ``PODLING_PART_KILLS_SEED`` the seed they are drawn from,
``PODLING_PART_KILLS_RUNTIME`` the runtime.
"""

from __future__ import annotations

import http.client
import json
import os
import select
import signal
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random  # noqa: TID251
from typing import Any

import pytest

from podling import clock
from podling.cluster.processes.state_file import read_states
from podling.files.locks import is_alive
from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import RealCluster
from tests.support.killed_parts import Parts, wait
from tests.support.written_ledger import Connection, Writer, values

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(7200)]

ROUNDS = int(os.environ.get("PODLING_PART_KILLS", "12"))
SEED = os.environ.get("PODLING_PART_KILLS_SEED", "0")
RUNTIME = os.environ.get("PODLING_PART_KILLS_RUNTIME", "process")
READY_SECONDS = 5.0
RESTART_SECONDS = 1.0
"""On a quiet machine. Other tests may keep it from that."""
NOTICED_SECONDS = 3.5
BUSY = 3.0
"""The factor of all deadlines, because other tests run at the same time."""
STEADY = 4
WRITERS = 3
PODS = "/api/v1/namespaces/default/pods"


def pod(name: str, notes: Path, **container: Any) -> dict[str, Any]:
    """Return a pod that notes each start of its container in a file, and runs on."""
    main = {
        "name": "main",
        "image": "podling.local/host",
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", f"echo started >> {notes}/{name}; while :; do sleep 0.2; done"],
        **container,
    }
    spec: dict[str, Any] = {"containers": [main], "terminationGracePeriodSeconds": 0}
    if RUNTIME == "oci":
        main["volumeMounts"] = [{"name": "notes", "mountPath": str(notes)}]
        spec["volumes"] = [{"name": "notes", "hostPath": {"path": str(notes)}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"set": name.partition("-")[0]}},
        "spec": spec,
    }


class Ground:
    """One cluster in several processes, with pods that exist through all rounds."""

    def __init__(self, cluster: RealCluster, notes: Path) -> None:
        self.cluster, self.notes = cluster, notes
        cluster.up("--processes", "several")
        self.parts = Parts(cluster)
        for number in range(STEADY):
            probe = {"readinessProbe": {"exec": {"command": ["true"]}, "periodSeconds": 1}}
            cluster.apply(pod(f"steady-{number}", notes, **(probe if number % 2 else {})))
        cluster.kubectl("wait", "--for=condition=Ready", "pods", "-l", "set=steady", "--timeout=60s")
        self.before = self.containers()

    def containers(self) -> dict[str, tuple[str, int]]:
        """Return the container and the restarts of each steady pod."""
        return {
            found["metadata"]["name"]: (status["containerID"], status["restartCount"])
            for found in self.cluster.get("pods", "-l", "set=steady")["items"]
            for status in found["status"]["containerStatuses"]
        }

    def starts(self) -> dict[str, int]:
        """Return how often the container of each pod began."""
        return {file.name: len(file.read_text().splitlines()) for file in sorted(self.notes.iterdir())}


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    if RUNTIME == "oci" and (reason := missing_for_containers()):
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("parts")
    notes = folder / "notes"
    notes.mkdir()
    cluster = RealCluster(folder / "data", RUNTIME, "--port", "0")
    try:
        yield Ground(cluster, notes)
    finally:
        cluster.remove()


class Churn(threading.Thread):
    """Creates and deletes pods until ``stop``; failed requests are tried again."""

    def __init__(self, ground: Ground, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self._connection = Connection(ground.cluster.kubeconfig, ground.cluster.token)
        self._notes, self._stop_now = ground.notes, stop

    def run(self) -> None:
        number = 0
        while not self._stop_now.wait(0.5):
            number += 1
            with suppress(OSError, http.client.HTTPException):
                self._connection.request("POST", PODS, pod(f"churn-{number}", self._notes))
                self._connection.request("DELETE", f"{PODS}/churn-{number - 3}")
        self._connection.close()


@contextmanager
def load(ground: Ground) -> Iterator[list[Writer]]:
    """Run writers and short-lived pods as long as the block lasts."""
    cluster, stop = ground.cluster, threading.Event()
    writers = [
        Writer(f"w{number}", Connection(cluster.kubeconfig, cluster.token), stop) for number in range(WRITERS)
    ]
    threads = [*writers, Churn(ground, stop)]
    for thread in threads:
        thread.start()
    try:
        yield writers
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def kill(ground: Ground, name: str) -> tuple[float, float]:
    """Kill a part; return the seconds until it served again, and until everything was Ready."""
    begun = clock.monotonic()
    again = ground.parts.wait_restarted(name, ground.parts.signal(name, signal.SIGKILL), 20)
    assert again < RESTART_SECONDS * BUSY, f"{name} served again after {again:.2f} s"
    wait_ready(ground, begun)
    return again, clock.monotonic() - begun


def wait_ready(ground: Ground, begun: float) -> None:
    """Wait until the cluster's checks pass and a new pod and all steady ones are Ready."""
    cluster = ground.cluster
    left = READY_SECONDS * BUSY - (clock.monotonic() - begun)
    wait(
        lambda: cluster.try_kubectl("get", "--raw", "/readyz").out == "ok",
        left,
        lambda: cluster.try_kubectl("get", "--raw", "/readyz?verbose").err + cluster.log(),
    )
    cluster.apply(pod("probe-new", ground.notes))
    for target in (("node", "--all"), ("pods", "-l", "set in (steady, probe)")):
        left = max(READY_SECONDS * BUSY - (clock.monotonic() - begun), 0)
        done = cluster.try_kubectl("wait", "--for=condition=Ready", *target, f"--timeout={left}s")
        assert done.code == 0, f"{done.err}{cluster.try_kubectl('get', 'pods').out}{cluster.log()}"
    cluster.kubectl("delete", "pod", "probe-new", "--now")


def stop(ground: Ground, name: str, random: Random) -> float:
    """Stop a part for a while; return the seconds until that was noticed."""
    pid = ground.parts.signal(name, signal.SIGSTOP)
    try:
        seconds = wait(
            lambda: ground.parts.problem(name).startswith("not responding since"),
            NOTICED_SECONDS * BUSY,
            lambda: f"{name} is stopped, and that was not noticed",
        )
        shown = ground.cluster.podling("status").out
        assert "stopped by a signal" in shown, shown
        threading.Event().wait(random.uniform(0, 1))
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_ready(ground, clock.monotonic())
    assert ground.parts.states()[name].pid == pid, "a part that was stopped is not killed"
    return seconds


def test_parts_are_killed_and_stopped_at_random(ground: Ground) -> None:
    random = Random(SEED)
    names = list(ground.parts.states())
    supervisor, seconds = ground.cluster.pid, []
    with load(ground) as writers:
        for number in range(ROUNDS):
            name = random.choice(names)
            threading.Event().wait(random.uniform(0, 1))
            if random.random() < 0.15:
                print(f"round {number}: {name} stopped, noticed after {stop(ground, name, random):.2f} s")
                continue
            again, ready = kill(ground, name)
            seconds.append((name, again, ready))
            print(
                f"round {number}: {name} serves after {again:.2f} s, all Ready after {ready:.2f} s",
                flush=True,
            )
            assert ground.containers() == ground.before
    connection = Connection(ground.cluster.kubeconfig, ground.cluster.token)
    found = values(connection)
    connection.close()
    assert [line for writer in writers for line in writer.lost(found)] == []
    assert sum(writer.results["lost"] for writer in writers) == 0
    assert sum(writer.results[code] for writer in writers for code in ("200", "201")) > ROUNDS
    assert ground.containers() == ground.before
    starts = ground.starts()
    del starts["probe-new"]  # a new pod in each round
    print(len(starts), "pods began")
    assert {name: count for name, count in starts.items() if count > 1} == {}
    assert ground.cluster.pid == supervisor
    for writer in writers:
        print(json.dumps(dict(writer.results)))
    for name in names:
        of_part = [each for each in seconds if each[0] == name]
        if of_part:
            describe(name, "serves again", [each[1] for each in of_part])
            describe(name, "all Ready", [each[2] for each in of_part])


def describe(name: str, what: str, seconds: Sequence[float]) -> None:
    ordered = sorted(seconds)
    middle = ordered[len(ordered) // 2]
    print(f"{name}, {len(ordered)} kills: {what} after {middle:.2f} s, at most {ordered[-1]:.2f} s")


def test_stopped_part_is_shown_everywhere(ground: Ground) -> None:
    cluster = ground.cluster
    pid = ground.parts.signal("control", signal.SIGSTOP)
    try:
        wait(lambda: bool(ground.parts.problem("control")), 20, lambda: "not noticed")
        cluster.apply(pod("waiting", ground.notes))
        verbose = cluster.try_kubectl("get", "--raw", "/readyz?verbose")
        assert verbose.code == 1
        assert "[-]part/control failed: reason withheld" in verbose.err
        assert cluster.kubectl("get", "--raw", "/livez") == "ok"
        reason = cluster.try_kubectl("get", "--raw", "/readyz/part/control").err
        assert "not responding since" in reason
        status = ("get", "componentstatuses", "scheduler")
        wait(lambda: "Unhealthy" in cluster.kubectl(*status), 20, lambda: cluster.kubectl(*status))
        why = cluster.podling("why", "waiting").out
        assert "The pod waits for the scheduler, whose process has a problem: not responding since" in why
        row = next(line for line in cluster.podling("status").out.splitlines() if " control " in line)
        assert f"process {pid}," in row
        assert "stopped by a signal" in row
    finally:
        os.kill(pid, signal.SIGCONT)
    cluster.wait_ready("waiting")
    cluster.kubectl("delete", "pod", "waiting", "--now")
    assert cluster.kubectl("get", "--raw", "/readyz") == "ok"


def test_crash_loop_is_shown_and_ends_once_its_cause_is_gone(ground: Ground) -> None:
    """The key of the API server's certificate is unreadable for a while."""
    cluster = ground.cluster
    key = cluster.directory / "pki" / "ca.key"
    content = key.read_bytes()
    key.write_text("damaged")
    try:
        ground.parts.signal("api", signal.SIGKILL)
        wait(
            lambda: ground.parts.problem("api").startswith("crash loop: exit code 3: "),
            20 * BUSY,
            lambda: f"no crash loop: {ground.parts.states()['api']}",
        )
        shown = cluster.podling("status")
        assert shown.code == 1
        assert "the cluster's authority is damaged" in shown.out
        why = cluster.podling("why", "steady-0")
        assert why.code == 3
        assert "the API server does not answer: crash loop" in why.err
    finally:
        key.write_bytes(content)
    wait(lambda: cluster.try_kubectl("get", "--raw", "/readyz").out == "ok", 40, cluster.log)
    assert ground.containers() == ground.before


def test_log_names_the_part(ground: Ground) -> None:
    assert "part api: " in (ground.cluster.directory / "podling.log").read_text()


def test_killed_supervisor_takes_its_parts_and_no_container(ground: Ground) -> None:
    cluster = ground.cluster
    processes = ground.parts.processes()
    cluster.kill()
    wait(lambda: not any(map(is_alive, processes)), 20, lambda: "some process lives")
    assert cluster.podling("status").code == 3
    started = cluster.up()  # the arrangement is remembered
    assert "control plane" in started.out
    assert len(ground.parts.states()) == 3
    assert ground.containers() == ground.before
    assert max(ground.starts().values()) <= max(1, ROUNDS + 1)


def test_orderly_stop_leaves_containers_and_nothing_else(ground: Ground) -> None:
    cluster = ground.cluster
    processes, pid = ground.parts.processes(), cluster.pid
    handle = os.pidfd_open(pid)
    os.kill(pid, signal.SIGTERM)
    assert select.select([handle], [], [], 30)[0]
    os.close(handle)
    wait(lambda: not any(map(is_alive, processes)), 5, lambda: "some process lives")
    assert read_states(cluster.directory) is None
    assert not list(cluster.directory.glob("podling.sock*"))
    cluster.up()
    assert ground.containers() == ground.before


def test_down_ends_every_container(ground: Ground) -> None:
    """Containers that no record names any more would go on."""
    ground.cluster.down()
    note = f"{ground.notes}/"
    wait(lambda: not commands_with(note), 5, lambda: f"left: {commands_with(note)}")
    ground.cluster.up()


def commands_with(text: str) -> list[str]:
    """Return the command lines of this machine that contain ``text``."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return [line for line in found if text in line]


@pytest.mark.parametrize("arrangement", ["one", "several"])
def test_port_in_use_ends_the_start_in_every_arrangement(tmp_path: Path, arrangement: str) -> None:
    cluster = RealCluster(tmp_path / "data", "sim")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        done = cluster.podling(
            "up", "--detach", "--runtime", "sim", "--port", port, "--processes", arrangement
        )
    assert done.code == 1
    assert done.err == (
        f"Error: port {port} is in use; choose another: podling up --port N (0 picks a free one)\n"
    )
    assert cluster.podling("status").code == 3


def test_arrangement_is_remembered_and_changed(tmp_path: Path) -> None:
    cluster = RealCluster(tmp_path / "data", "sim", "--port", "0", "--nodes", "3")
    try:
        cluster.up("--processes", "several")
        assert list(Parts(cluster).states()) == ["api", "nodes", "control"]
        cluster.down()
        cluster.up()
        assert read_states(cluster.directory) is not None
        cluster.down()
        cluster.up("--processes", "one")
        assert read_states(cluster.directory) is None
        assert len(cluster.get("nodes")["items"]) == 3
    finally:
        cluster.remove()
