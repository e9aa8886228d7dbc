"""``kill -9`` of the whole process at any moment of its pods' lives, and a start after it: nobody notices.

Each run begins a few short lives, kills the process at a moment drawn from the run's number, and starts it
again. What the containers themselves wrote down is the judge: how often they ran, and until when.

``PODLING_KILLS`` says how many runs there are (20; a night's work is 200), ``PODLING_KILLS_SEED`` with which
run they begin, so that one that failed is played again alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from podling import clock
from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import RealCluster
from tests.support.remains import remains

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.slow]

Plain = dict[str, Any]

FIRST = int(os.environ.get("PODLING_KILLS_SEED", "0"))
RUNS = range(FIRST, FIRST + int(os.environ.get("PODLING_KILLS", "20")))
LATEST_KILL_SECONDS = 2.0
"""The lives last about so long."""
GRACE_SECONDS = 2

NOTE = 'note() { echo "$1 $(date +%s.%N)" >>/notes/$NAME; }; note start; '
BEAT = "trap '' TERM; while :; do note beat; sleep 0.1; done"
ONCE = "sleep 0.7; note end"
TWICE = "[ $(grep -c start /notes/$NAME) -gt 1 ] || { sleep 0.4; note end; exit 1; }; sleep 0.4; note end"
SERVE = "trap 'note end; exit 0' TERM; while :; do sleep 0.1; done"


def container(run: str, name: str, script: str, **more: Any) -> Plain:
    return {
        "name": name,
        "image": "podling.local/host",
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", NOTE + script],
        "env": [{"name": "NAME", "value": f"{run}-{name}"}],
        "volumeMounts": [{"name": "notes", "mountPath": "/notes"}],
        **more,
    }


@dataclass(frozen=True)
class Lives:
    """The pods of one run: their manifests by name."""

    run: str
    notes: Path

    def pod(self, name: str, policy: str, *containers: Plain, **spec: Any) -> Plain:
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{self.run}-{name}", "labels": {"run": self.run}},
            "spec": {
                "restartPolicy": policy,
                "terminationGracePeriodSeconds": GRACE_SECONDS,
                "volumes": [{"name": "notes", "hostPath": {"path": str(self.notes)}}],
                "containers": list(containers),
                **spec,
            },
        }

    def leaving(self) -> Plain:
        """Runs when its run begins, is deleted then, and does not listen."""
        return self.pod("leaving", "Always", container(self.run, "leaving", BEAT))

    def begin(self) -> Plain:
        probe = {"exec": {"command": ["true"]}, "periodSeconds": 1}
        first = container(self.run, "first", "sleep 0.3; note end")
        second = container(self.run, "second", "sleep 0.3; note end")
        serving = container(self.run, "serving", SERVE, readinessProbe=probe)
        items = [
            self.pod("once", "Never", container(self.run, "once", ONCE)),
            self.pod("twice", "OnFailure", container(self.run, "twice", TWICE)),
            self.pod("serving", "Always", serving, initContainers=[first, second]),
        ]
        return {"apiVersion": "v1", "kind": "List", "items": items}

    def noted(self, name: str) -> list[tuple[str, float]]:
        """What a container wrote down: words with their moments."""
        path = self.notes / f"{self.run}-{name}"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(word, float(at)) for word, at in (line.split() for line in lines)]

    def words(self, name: str) -> list[str]:
        return [word for word, _ in self.noted(name)]


def status_of(pod: Plain) -> Plain:
    status: Plain = pod["status"]["containerStatuses"][0]
    return status


def status_of_any(pod: Plain) -> Plain:
    """The container's status, empty while there is none."""
    return status_of(pod) if pod.get("status", {}).get("containerStatuses") else {}


def ready_since(pod: Plain) -> tuple[str, str]:
    found = next(item for item in pod["status"].get("conditions", ()) if item["type"] == "Ready")
    return found["status"], found["lastTransitionTime"]


@dataclass(frozen=True)
class Fault:
    """When ``leaving`` was deleted, when the process was back, and what was shown of ``serving`` before."""

    deleted: float
    again: float
    serving: Plain | None


class Ground:
    """One cluster through all runs, with a pod that stays through all of them."""

    def __init__(self, cluster: RealCluster, notes: Path) -> None:
        self.cluster = cluster
        self.notes = notes
        cluster.up()
        probe = {"exec": {"command": ["true"]}, "periodSeconds": 1}
        lives = Lives("always", notes)
        cluster.apply(
            lives.pod("steady", "Always", container("always", "steady", SERVE, readinessProbe=probe))
        )
        cluster.apply(self.lives(RUNS[0]).leaving())
        cluster.wait_ready("always-steady")
        self.steady = cluster.get("pod", "always-steady")

    def lives(self, number: int) -> Lives:
        return Lives(f"run{number}", self.notes)

    def kill_after(self, seconds: float, lives: Lives) -> Fault:
        """Begin the lives, kill after ``seconds``, start again."""
        cluster = self.cluster
        names = ["pod", f"{lives.run}-leaving", "--wait=false"]
        starting = [
            subprocess.Popen(cluster.kubectl_command("delete", *names), stdout=subprocess.DEVNULL),
            subprocess.Popen(
                cluster.kubectl_command("apply", "-f", "-"),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            ),
        ]
        stdin = starting[1].stdin
        assert stdin is not None
        stdin.write(json.dumps(lives.begin()).encode())
        stdin.close()
        starting[0].wait(20)
        deleted = clock.now().timestamp()
        threading.Event().wait(seconds)  # the moment of the fault is the one thing that real time decides
        shown = cluster.try_kubectl("get", "pod", f"{lives.run}-serving", "-o", "json")
        cluster.kill()
        starting[1].wait(20)
        cluster.up()
        again = clock.now().timestamp()
        cluster.apply(lives.begin())
        return Fault(deleted, again, json.loads(shown.out) if shown.code == 0 else None)


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
    lives = ground.lives(number)
    cluster.wait_ready(f"{lives.run}-leaving")
    moment = random_moment(number)
    fault = ground.kill_after(moment, lives)
    cluster.apply(ground.lives(number + 1).leaving())
    ended = [f"pod/{lives.run}-{name}" for name in ("once", "twice")]
    cluster.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", *ended, "--timeout=30s")
    cluster.wait_ready(f"{lives.run}-serving")
    cluster.kubectl("wait", "--for=delete", f"pod/{lives.run}-leaving", "--timeout=30s")
    pods = {pod["metadata"]["name"]: pod for pod in cluster.get("pods")["items"]}

    serving = pods[f"{lives.run}-serving"]
    first, second = serving["status"]["initContainerStatuses"]
    check_runs(lives, "once", ["start", "end"], status_of(pods[f"{lives.run}-once"]))
    check_runs(lives, "twice", ["start", "end"] * 2, status_of(pods[f"{lives.run}-twice"]))
    check_runs(lives, "first", ["start", "end"], first)
    check_runs(lives, "second", ["start", "end"], second)
    check_runs(lives, "serving", ["start"], status_of(serving))
    before = fault.serving
    if before is not None and status_of_any(before).get("ready"):
        assert ready_since(before) == ready_since(serving), "Ready flapped"

    check_grace(lives, fault)
    steady = pods["always-steady"]
    assert steady["status"]["containerStatuses"] == ground.steady["status"]["containerStatuses"]
    assert ready_since(steady) == ready_since(ground.steady)
    cluster.kubectl("delete", "pods", "-l", f"run={lives.run}", "--wait=false")


def random_moment(number: int) -> float:
    """When the process is killed, in seconds after the lives began."""
    drawn = int.from_bytes(hashlib.sha256(str(number).encode()).digest()[:4])
    return drawn / 2**32 * LATEST_KILL_SECONDS


def check_runs(lives: Lives, name: str, words: list[str], status: Plain) -> None:
    """The container ran as often as its life says, one run after the other, and its status counts that.

    A container that was made and not yet started when the process died is an attempt too, as it is in
    Kubernetes: it counts, though nothing of it ever ran.
    """
    assert lives.words(name) == words, f"{name} of {lives.run}"
    restarts = words.count("start") - 1
    assert status["restartCount"] in (restarts, restarts + 1), f"{name} of {lives.run}: {status}"
    if status["restartCount"] > restarts:
        assert "exitCode" not in status["lastState"].get("terminated", {}) or never_ran(status), status


def never_ran(status: Plain) -> bool:
    """Whether the status says of the attempt before that it never ran."""
    return bool(status["lastState"]["terminated"]["reason"] in ("StartError", "ContainerStatusUnknown"))


def check_grace(lives: Lives, fault: Fault) -> None:
    """A pod that does not listen is left its grace period; a restart meanwhile gives it no new one.

    Nobody is given less than two seconds between signal and kill, the start after the fault included.
    """
    noted = lives.noted("leaving")
    assert [word for word, _ in noted].count("start") == 1
    _, last = noted[-1]
    assert last >= fault.deleted + GRACE_SECONDS - 0.5, "killed before its grace period was over"
    latest = max(fault.deleted + GRACE_SECONDS, fault.again) + 2
    assert last <= latest + 1, "it was given more than its grace period"


def test_nothing_is_left_of_any_of_them(ground: Ground) -> None:
    """All pods deleted, the machine shows nothing of any: no process, mount, cgroup, namespace, directory."""
    cluster = ground.cluster
    cluster.kubectl("delete", "pods", "--all", "--timeout=30s")
    deadline = clock.monotonic() + 20
    while (left := remains(cluster.directory)) and clock.monotonic() < deadline:
        threading.Event().wait(0.5)  # the kubelet looks for what is left every two seconds
    assert left == []
