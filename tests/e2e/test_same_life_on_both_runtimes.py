"""The simulated runtime tells no other story than real containers: the same pods live the same lives on both.

Two clusters run the same manifests, one on ``oci`` and one on ``sim``, whose containers do by script what
the real ones do by shell. Compared is what an API client sees: the course of each part of the pod's status,
and the events. The scripts' times keep well apart what happens one after the other.
"""

from __future__ import annotations

import difflib
import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.e2e.conftest import missing_for_containers
from tests.support.clusters import RealCluster
from tests.support.pod_lives import Recorder, Shown, same_course, told

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.slow]

Plain = dict[str, Any]

IMAGE = "podling.local/host"
UNTIL_STOPPED = "trap 'exit 0' TERM; while :; do sleep 0.1; done"
STUBBORN = "trap '' TERM; while :; do sleep 0.1; done"
STOPS: Plain = {"stopExitCode": 0, "stopSeconds": 0.1}
DEADLINE_SECONDS = 100


def container(script: str, name: str = "main", **more: Any) -> Plain:
    return {
        "name": name,
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", script],
        **more,
    }


def status_of(pod: Plain, index: int = 0) -> Plain:
    found = pod.get("status", {}).get("containerStatuses", ())
    return found[index] if found else {"state": {}, "restartCount": 0, "ready": False}


def ready(pod: Plain) -> bool:
    return bool(status_of(pod)["ready"])


def over(pod: Plain) -> bool:
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def restarted(times: int) -> Callable[[Plain], bool]:
    return lambda pod: status_of(pod)["restartCount"] == times and "running" in status_of(pod)["state"]


def backing_off(pod: Plain) -> bool:
    waiting = status_of(pod)["state"].get("waiting", {})
    return bool(status_of(pod)["restartCount"] == 1 and waiting.get("reason") == "CrashLoopBackOff")


@dataclass(frozen=True)
class Story:
    """A pod, what its simulated containers do, and when it is deleted."""

    spec: Plain
    scripts: Plain
    until: Callable[[Plain], bool] = over
    annotations: Plain = field(default_factory=dict)

    def manifest(self, name: str) -> Plain:
        scripts = {"Pod": {"sandboxSeconds": 0.2}} | {
            of: {"startSeconds": 0.05} | script for of, script in self.scripts.items()
        }
        annotations = {f"sim.podling.dev/{of}": json.dumps(script) for of, script in scripts.items()}
        spec = {
            "terminationGracePeriodSeconds": 2,
            "automountServiceAccountToken": False,
            "dnsPolicy": "Default",
            **self.spec,
        }
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "annotations": annotations},
            "spec": spec,
        }


def probe(command: str, **more: Any) -> Plain:
    return {"exec": {"command": ["sh", "-c", command]}, "periodSeconds": 1, **more}


STORIES = {
    "completes": Story(
        {"restartPolicy": "Never", "containers": [container("sleep 1.5")]},
        {"main": {"runs": [{"seconds": 1.5}]}},
    ),
    "fails": Story(
        {"restartPolicy": "Never", "containers": [container("sleep 1.5; exit 3")]},
        {"main": {"runs": [{"seconds": 1.5, "exitCode": 3}]}},
    ),
    "crashes": Story(
        {"containers": [container("trap 'exit 7' TERM; sleep 1.5 & wait; exit 1")]},
        {"main": {"runs": [{"seconds": 1.5, "exitCode": 1}], "stopExitCode": 7}},
        restarted(2),
    ),
    "init": Story(
        {
            "initContainers": [container("sleep 1", "first"), container("sleep 1", "second")],
            "containers": [container(UNTIL_STOPPED)],
        },
        {"first": {"runs": [{"seconds": 1}]}, "second": {"runs": [{"seconds": 1}]}, "main": STOPS},
        ready,
    ),
    "sidecar": Story(
        {
            "restartPolicy": "Never",
            "initContainers": [
                container(
                    f"sleep 1; touch /tmp/up; {UNTIL_STOPPED}",
                    "side",
                    restartPolicy="Always",
                    startupProbe=probe("test -e /tmp/up", initialDelaySeconds=2),
                )
            ],
            "containers": [container("sleep 2")],
        },
        {"side": STOPS, "main": {"runs": [{"seconds": 2}]}},
    ),
    "becomes-ready": Story(
        {
            "containers": [
                container(
                    f"sleep 2.5; touch /tmp/ready; {UNTIL_STOPPED}",
                    readinessProbe=probe("test -e /tmp/ready || { echo not yet; exit 1; }"),
                )
            ]
        },
        {"main": STOPS | {"exec": [{"exitCode": 1, "stdout": "not yet\n"}, {"after": 2.5}]}},
        ready,
    ),
    "loses-health": Story(
        {
            "containers": [
                container(
                    f"touch /tmp/healthy; sleep 2.5; rm /tmp/healthy; {STUBBORN}",
                    livenessProbe=probe(
                        "test -e /tmp/healthy || { echo ill; exit 1; }",
                        failureThreshold=2,
                        initialDelaySeconds=1,
                    ),
                )
            ]
        },
        {
            "main": {
                "ignoresSignals": True,
                "exec": [{}, {"after": 2.5, "exitCode": 1, "stdout": "ill\n"}],
            }
        },
        restarted(1),
    ),
    "hook-fails": Story(
        {
            "containers": [
                container(
                    UNTIL_STOPPED,
                    lifecycle={"postStart": {"exec": {"command": ["sh", "-c", "sleep 1; exit 4"]}}},
                )
            ]
        },
        {"main": STOPS | {"exec": [{"seconds": 1, "exitCode": 4}]}},
        backing_off,
    ),
    "says-goodbye": Story(
        {
            "terminationGracePeriodSeconds": 10,
            "containers": [
                container(
                    UNTIL_STOPPED, lifecycle={"preStop": {"exec": {"command": ["sh", "-c", "sleep 1.5"]}}}
                )
            ],
        },
        {"main": STOPS | {"exec": [{"seconds": 1.5}]}},
        ready,
    ),
    "ignores-the-signal": Story(
        {"containers": [container(STUBBORN)]}, {"main": {"ignoresSignals": True}}, ready
    ),
}


class Stage:
    """One cluster with every story played to its end."""

    def __init__(self, cluster: RealCluster) -> None:
        self.cluster = cluster
        self._deletions: dict[str, subprocess.Popen[bytes]] = {}
        cluster.apply(
            Story({"restartPolicy": "Never", "containers": [container("true")]}, {}).manifest("first")
        )
        self.recorder = Recorder(cluster, self._act)
        for name, story in STORIES.items():
            cluster.apply(story.manifest(name))

    def _act(self, name: str, pod: Plain) -> None:
        """Delete a pod once its story has come so far."""
        story = STORIES.get(name)
        if story is not None and name not in self._deletions and story.until(pod):
            self._deletions[name] = subprocess.Popen(
                self.cluster.kubectl_command("delete", "pod", name, "--wait=false"),
                stdout=subprocess.DEVNULL,
            )

    def play(self) -> None:
        self.recorder.wait(lambda: STORIES.keys() <= self.recorder.gone, DEADLINE_SECONDS)
        self.recorder.finish()
        for deletion in self._deletions.values():
            deletion.wait(20)
        unfinished = sorted(STORIES.keys() - self.recorder.gone)
        lives = "\n".join(line for name in unfinished for line in [name, *self.recorder.life(name)])
        assert not unfinished, f"on {self.cluster.runtime}: {lives}"


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Stage, Stage]]:
    """The same stories on real containers and on the simulator, at the same time."""
    if reason := missing_for_containers():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("stages")
    clusters = [RealCluster(folder / runtime, runtime, "--port", "0") for runtime in ("oci", "sim")]
    try:
        for cluster in clusters:
            cluster.up()
        real, simulated = (Stage(cluster) for cluster in clusters)
        real.play()
        simulated.play()
        yield real, simulated
    finally:
        for cluster in clusters:
            cluster.remove()


def difference(real: list[str], simulated: list[str]) -> str:
    """A diff for people; empty when both are the same."""
    return "\n".join(difflib.unified_diff(real, simulated, "oci", "sim", lineterm="", n=99))


def both_lives(stages: tuple[Stage, Stage], story: str) -> str:
    """What was shown, status by status: where two courses differ this shows when."""
    lines = []
    for stage in stages:
        lines += ["", f"on {stage.cluster.runtime}:", *stage.recorder.life(story)]
    return "\n".join(lines)


def as_text(courses: dict[str, list[Shown]]) -> list[str]:
    return sorted(f"{about}: {' -> '.join(shown.text for shown in courses[about])}" for about in courses)


@pytest.mark.parametrize("story", STORIES)
def test_every_part_of_the_status_takes_the_same_course(stages: tuple[Stage, Stage], story: str) -> None:
    """What lasts is shown by both, in the same order; what passes in a moment may be missed."""
    real, simulated = (stage.recorder.courses(story) for stage in stages)
    about = real.keys() | simulated.keys()
    other = [each for each in about if not same_course(real.get(each, []), simulated.get(each, []))]
    changes = difference(as_text(real), as_text(simulated))
    assert not other, f"\n{changes}\ndiffers: {sorted(other)}\n{both_lives(stages, story)}"


@pytest.mark.parametrize("story", STORIES)
def test_the_same_events_are_told_in_the_same_order(stages: tuple[Stage, Stage], story: str) -> None:
    real, simulated = (told(stage.cluster, story) for stage in stages)
    assert real == simulated, f"\n{difference(real, simulated)}\n{both_lives(stages, story)}"
