"""``kill -9`` of the whole process at any moment of its pods' lives, and a restart: no pod is affected.

Each run begins a few short lives, kills the process at a moment drawn from the run's number, and starts it
again. The containers' own records are the measure: how often they ran, and until when.

``PODLING_KILLS`` says how many runs there are (20; a night's work is 200), ``PODLING_KILLS_SEED`` with which
run they begin, so that one that failed is played again alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from podling import clock
from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import RealCluster
from tests.support.killed_lives import (
    ANSWERING,
    SERVE,
    Fault,
    Life,
    Plain,
    lives_of,
    ready_since,
)
from tests.support.remains import remains

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.slow]

FIRST = int(os.environ.get("PODLING_KILLS_SEED", "0"))
RUNS = range(FIRST, FIRST + int(os.environ.get("PODLING_KILLS", "20")))
LATEST_KILL_SECONDS = 2.5
"""The approximate length of the lives."""


class Steady(Life):
    """A pod that exists through all runs and is affected by none."""

    name = "steady"

    def before(self) -> list[Plain]:
        return [self.manifest("Always", self.container("steady", SERVE, readinessProbe=ANSWERING))]


class Ground:
    """One cluster through all runs, with a pod that exists through all of them."""

    def __init__(self, cluster: RealCluster, notes: Path) -> None:
        self.cluster = cluster
        self.notes = notes
        cluster.up()
        steady = Steady("always", notes)
        self.prepare([steady])
        self.prepare(lives_of(RUNS[0], notes))
        cluster.wait_ready(steady.pod)
        self.steady = cluster.get("pod", steady.pod)

    def prepare(self, lives: Sequence[Life]) -> None:
        """Apply the objects that a run starts with."""
        if manifests := [pod for life in lives for pod in life.before()]:
            self.cluster.apply(listed(manifests))

    def begin(self, lives: Sequence[Life]) -> list[subprocess.Popen[bytes]]:
        """Start all lives and return the commands that do it."""
        for life in lives:
            life.act(self.cluster)
        commands = [["apply", "-f", "-"], *(command for life in lives for command in life.commands())]
        started = [
            subprocess.Popen(
                self.cluster.kubectl_command(*command),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for command in commands
        ]
        for process in started:
            assert process.stdin is not None
            if process is started[0]:
                process.stdin.write(json.dumps(listed(begun(lives))).encode())
            process.stdin.close()
        return started

    def kill_after(self, seconds: float, lives: Sequence[Life]) -> Fault:
        """Begin the lives, kill after ``seconds``, start again."""
        cluster = self.cluster
        leaving = [f"pod/{life.pod}" for life in lives if life.leaves]
        cluster.kubectl("delete", *leaving, "--wait=false")
        deleted = clock.now().timestamp()
        started = self.begin(lives)
        threading.Event().wait(seconds)  # the moment of the fault is the one thing that real time decides
        shown = cluster.try_kubectl("get", "pods", "-l", f"run={lives[0].run}", "-o", "json")
        cluster.kill()
        for process in started:
            process.wait(20)
        cluster.up()
        again = clock.now().timestamp()
        cluster.apply(listed(begun(lives)))
        for command in (command for life in lives for command in life.commands()):
            cluster.try_kubectl(*command)
        return Fault(deleted, again, by_name(json.loads(shown.out)) if shown.code == 0 else {})

    def finish(self, lives: Sequence[Life]) -> dict[str, Plain]:
        """Wait for every life's end; returns the pods that are there then."""
        for life in lives:
            end = ["--for=delete", f"pod/{life.pod}"] if life.leaves else life.end()
            self.cluster.kubectl("wait", *end, "--timeout=30s")
        return by_name(self.cluster.get("pods"))

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Add the cluster's events to a failure."""
        try:
            yield
        except AssertionError as failure:
            failure.add_note(self.cluster.try_kubectl("events", "--all-namespaces").out)
            raise


def listed(manifests: Sequence[Plain]) -> Plain:
    return {"apiVersion": "v1", "kind": "List", "items": list(manifests)}


def begun(lives: Sequence[Life]) -> list[Plain]:
    return [pod for life in lives for pod in life.begun()]


def by_name(pods: Plain) -> dict[str, Plain]:
    return {pod["metadata"]["name"]: pod for pod in pods["items"]}


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    if reason := missing_for_containers():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("killed")
    notes = folder / "notes"
    notes.mkdir()
    cluster = RealCluster(folder / "data", "oci", "--port", "0")
    try:
        yield Ground(cluster, notes)
    finally:
        cluster.remove()


@pytest.mark.parametrize("number", RUNS)
def test_a_kill_at_any_moment_is_not_noticed(ground: Ground, number: int) -> None:
    cluster = ground.cluster
    lives = lives_of(number, ground.notes)
    ready = [f"pod/{life.pod}" for life in lives if life.before()]
    cluster.kubectl("wait", "--for=condition=Ready", *ready, "--timeout=30s")
    fault = ground.kill_after(random_moment(number), lives)
    ground.prepare(lives_of(number + 1, ground.notes))
    pods = ground.finish(lives)

    with ground.explained():
        for life in lives:
            life.check(pods.get(life.pod, {}), fault)
        steady = pods["always-steady"]
        assert steady["status"]["containerStatuses"] == ground.steady["status"]["containerStatuses"]
        assert ready_since(steady) == ready_since(ground.steady)
    cluster.kubectl("delete", "pods", "-l", f"run={lives[0].run}", "--wait=false")


def random_moment(number: int) -> float:
    """Draw the moment of the kill, in seconds after the start of the lives."""
    drawn = int.from_bytes(hashlib.sha256(str(number).encode()).digest()[:4])
    return drawn / 2**32 * LATEST_KILL_SECONDS


def test_nothing_is_left_of_any_of_them(ground: Ground) -> None:
    """All pods deleted, the machine shows nothing of any: no process, mount, cgroup, namespace, directory."""
    cluster = ground.cluster
    cluster.kubectl("delete", "pods", "--all", "--timeout=30s")
    deadline = clock.monotonic() + 20
    while (left := remains(cluster.directory)) and clock.monotonic() < deadline:
        threading.Event().wait(0.5)  # the kubelet looks for remains every two seconds
    assert left == []
