"""Life cycles of pods during which the kubelet is killed, and the checks of each.

Every container records its actions with their times; the records show how often it ran and until when.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from podling.cluster.directory import DataDirectory
from podling.node.runtimes import STATE
from podling.runtime.oci.rootfs import unmount_all
from tests.support.cgroup_values import cgroup_of, shares, values
from tests.support.clusters import RealCluster

Plain = dict[str, Any]

GRACE_SECONDS = 2

NOTE = 'note() { echo "$1 $(date +%s.%N)" >>/notes/$NAME; }; '
BEAT = "trap '' TERM; while :; do note beat; sleep 0.1; done"
ONCE = "sleep 0.7; note end"
BRIEF = "sleep 0.3; note end"
TWICE = "[ $(grep -c start /notes/$NAME) -gt 1 ] || { sleep 0.4; note end; exit 1; }; sleep 0.4; note end"
SERVE = "trap 'note end; exit 0' TERM; while :; do sleep 0.1; done"
SICKENING = f"[ $(grep -c start /notes/$NAME) -gt 1 ] || {{ sleep 0.5; touch /sick; }}; {SERVE}"
PROBE = {"periodSeconds": 1, "timeoutSeconds": 20}
"""Seconds; long enough for a busy machine."""
ANSWERING = {"exec": {"command": ["true"]}, **PROBE}


@dataclass(frozen=True)
class Fault:
    """Times of the deletions and of the restart, and the pods' statuses before."""

    deleted: float
    again: float
    shown: dict[str, Plain]


@dataclass(frozen=True)
class Life:
    """One pod's life cycle in one run: the state before, the start, and the actions on it."""

    run: str
    notes: Path
    name: ClassVar[str] = ""
    leaves: ClassVar[bool] = False
    """True for a pod that exists when its run begins, and is deleted then."""

    @property
    def pod(self) -> str:
        return f"{self.run}-{self.name}"

    def before(self) -> list[Plain]:
        """Pods that are Ready when the run begins."""
        return []

    def begun(self) -> list[Plain]:
        """Pods that are created with the run."""
        return []

    def commands(self) -> list[list[str]]:
        """kubectl's arguments for what is done to the pod, given once the run begins and again after the
        fault: each does nothing the second time."""
        return []

    def act(self, cluster: RealCluster) -> None:
        """Act on the pod when the run begins, beyond ``commands``."""

    def end(self) -> list[str]:
        """Return the condition for ``kubectl wait``: the expected end of the life cycle."""
        return ["--for=condition=Ready", f"pod/{self.pod}"]

    def check(self, pod: Plain, fault: Fault) -> None:
        """Assert that the life cycle was the same as without a fault."""
        raise NotImplementedError

    # ---- manifests

    def container(self, name: str, script: str, **more: Any) -> Plain:
        return {
            "name": name,
            "image": "podling.local/host",
            "imagePullPolicy": "IfNotPresent",
            "command": ["sh", "-c", f"{NOTE}note start; {script}"],
            "env": [{"name": "NAME", "value": f"{self.run}-{name}"}],
            "volumeMounts": [{"name": "notes", "mountPath": "/notes"}],
            **more,
        }

    def manifest(self, policy: str, *containers: Plain, **spec: Any) -> Plain:
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": self.pod, "labels": {"run": self.run}},
            "spec": {
                "restartPolicy": policy,
                "terminationGracePeriodSeconds": GRACE_SECONDS,
                "volumes": [{"name": "notes", "hostPath": {"path": str(self.notes)}}],
                "containers": list(containers),
                **spec,
            },
        }

    def hook(self, script: str) -> Plain:
        return {"exec": {"command": ["sh", "-c", NOTE + script]}}

    # ---- checks

    def noted(self, name: str) -> list[tuple[str, float]]:
        """Return a container's records: words with their times."""
        path = self.notes / f"{self.run}-{name}"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(word, float(at)) for word, at in (line.split() for line in lines)]

    def words(self, name: str) -> list[str]:
        return [word for word, _ in self.noted(name)]

    def moment(self, name: str, word: str) -> float:
        """Return the time when a container last wrote a word."""
        return max(at for said, at in self.noted(name) if said == word)

    def check_runs(self, name: str, words: list[str], pod: Plain) -> None:
        """Assert that the container ran as often as expected, one run at a time, as its status counts.

        A container that was created but not started before the kill counts as an attempt, as it does in
        Kubernetes, though it never ran.
        """
        assert self.words(name) == words, f"{name} of {self.pod}"
        restarts = words.count("start") - 1
        status = status_of(pod, name)
        assert status["restartCount"] in (restarts, restarts + 1), f"{name} of {self.pod}: {status}"

    def check_ready(self, pod: Plain, fault: Fault) -> None:
        """Assert that a pod that was Ready before the fault is Ready since that moment."""
        before = fault.shown.get(self.pod)
        if before is not None and ready_since(before)[0] == "True":
            assert ready_since(pod) == ready_since(before), f"{self.pod}: Ready flapped"

    def check_end(self, name: str, fault: Fault) -> None:
        """Assert that a pod gets its grace period once; a restart does not renew it.

        No pod gets less than two seconds between signal and kill, the start after the fault included.
        """
        latest = max(fault.deleted + GRACE_SECONDS, fault.again) + 2
        assert self.noted(name)[-1][1] <= latest + 1, f"{self.pod} was given more than its grace period"


def status_of(pod: Plain, name: str) -> Plain:
    status = pod["status"]
    kinds = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
    return next(held for kind in kinds for held in status.get(kind, ()) if held["name"] == name)


def ready_since(pod: Plain) -> tuple[str, str]:
    conditions = pod.get("status", {}).get("conditions", ())
    found = [item for item in conditions if item["type"] == "Ready"]
    return (found[0]["status"], found[0]["lastTransitionTime"]) if found else ("", "")


class Once(Life):
    """Runs to its end a single time, under a policy that would take a second run for a failure."""

    name = "once"

    def begun(self) -> list[Plain]:
        return [self.manifest("Never", self.container("once", ONCE))]

    def end(self) -> list[str]:
        return ["--for=jsonpath={.status.phase}=Succeeded", f"pod/{self.pod}"]

    def check(self, pod: Plain, fault: Fault) -> None:
        self.check_runs("once", ["start", "end"], pod)


class Twice(Once):
    """Fails, is started again, and ends well."""

    name = "twice"

    def begun(self) -> list[Plain]:
        return [self.manifest("OnFailure", self.container("twice", TWICE))]

    def check(self, pod: Plain, fault: Fault) -> None:
        self.check_runs("twice", ["start", "end"] * 2, pod)


class Serving(Life):
    """Two init containers, then a server with all three probes."""

    name = "serving"

    def begun(self) -> list[Plain]:
        probes = {f"{kind}Probe": ANSWERING for kind in ("startup", "liveness", "readiness")}
        init = [self.container(name, BRIEF) for name in ("first", "second")]
        return [self.manifest("Always", self.container("serving", SERVE, **probes), initContainers=init)]

    def check(self, pod: Plain, fault: Fault) -> None:
        self.check_runs("first", ["start", "end"], pod)
        self.check_runs("second", ["start", "end"], pod)
        self.check_runs("serving", ["start"], pod)
        self.check_ready(pod, fault)


class Leaving(Life):
    """Is deleted, and ignores SIGTERM."""

    name = "leaving"
    leaves = True

    def before(self) -> list[Plain]:
        return [self.manifest("Always", self.container("leaving", BEAT))]

    def check(self, pod: Plain, fault: Fault) -> None:
        assert self.words("leaving").count("start") == 1
        last = self.noted("leaving")[-1][1]
        assert last >= fault.deleted + GRACE_SECONDS - 0.5, "killed before its grace period was over"
        self.check_end("leaving", fault)


class Hooked(Life):
    """Is deleted with a ``preStop`` hook; hooks are run at least once, and once more after a fault."""

    name = "hooked"
    leaves = True

    def before(self) -> list[Plain]:
        hooks = {"postStart": self.hook("note post"), "preStop": self.hook("note pre; sleep 0.6")}
        return [self.manifest("Always", self.container("hooked", SERVE, lifecycle=hooks))]

    def check(self, pod: Plain, fault: Fault) -> None:
        words = self.words("hooked")
        assert [words.count(word) for word in ("start", "post", "end")] == [1, 1, 1], words
        assert words.count("pre") in (1, 2), words
        assert words[-1] == "end", words
        self.check_end("hooked", fault)


class Sidecar(Once):
    """A sidecar, an init container after it, and work during which the sidecar is there."""

    name = "job"

    def begun(self) -> list[Plain]:
        side = self.container("side", SERVE, restartPolicy="Always", startupProbe=ANSWERING)
        init = [side, self.container("prepare", BRIEF)]
        return [self.manifest("Never", self.container("work", ONCE), initContainers=init)]

    def check(self, pod: Plain, fault: Fault) -> None:
        for name in ("side", "prepare", "work"):
            self.check_runs(name, ["start", "end"], pod)
        assert self.moment("side", "start") < self.moment("prepare", "start"), "the sidecar came late"
        assert self.moment("prepare", "end") < self.moment("work", "start"), "work came early"
        assert self.moment("work", "end") < self.moment("side", "end"), "the sidecar went early"


class Sickening(Life):
    """Fails its liveness probe in its first run, is killed and started again."""

    name = "sick"

    def begun(self) -> list[Plain]:
        probe = {"exec": {"command": ["test", "!", "-e", "/sick"]}, **PROBE, "failureThreshold": 1}
        return [self.manifest("Always", self.container("sick", SICKENING, livenessProbe=probe))]

    def end(self) -> list[str]:
        path = "{.status.containerStatuses[0].lastState.terminated.exitCode}"
        return [f"--for=jsonpath={path}=0", f"pod/{self.pod}"]

    def check(self, pod: Plain, fault: Fault) -> None:
        self.check_runs("sick", ["start", "end", "start"], pod)


class Grown(Life):
    """Is resized in place, and gets an ephemeral container, while it serves."""

    name = "grown"
    wanted: ClassVar = {"requests": {"cpu": "60m"}, "limits": {"cpu": "120m"}}

    def before(self) -> list[Plain]:
        resources = {"requests": {"cpu": "50m"}, "limits": {"cpu": "100m"}}
        grown = self.container("grown", SERVE, resources=resources, readinessProbe=ANSWERING)
        return [self.manifest("Always", grown)]

    def commands(self) -> list[list[str]]:
        change = [{"name": "grown", "resources": self.wanted}]
        patch = json.dumps({"spec": {"containers": change}})
        image = ["--image=podling.local/host", "--image-pull-policy=IfNotPresent"]
        script = f"NAME={self.run}-guest; {NOTE.replace('/notes', '/proc/1/root/notes')}note start; sleep 0.4"
        guest = ["--container=guest", "--target=grown", "--profile=general", *image]
        return [
            ["patch", "pod", self.pod, "--subresource=resize", f"--patch={patch}"],
            ["debug", self.pod, *guest, "--", "sh", "-c", f"{script}; note end"],
        ]

    def end(self) -> list[str]:
        path = "{.status.ephemeralContainerStatuses[0].state.terminated.exitCode}"
        return [f"--for=jsonpath={path}=0", f"pod/{self.pod}"]

    def check(self, pod: Plain, fault: Fault) -> None:
        self.check_runs("grown", ["start"], pod)
        self.check_runs("guest", ["start", "end"], pod)
        status = status_of(pod, "grown")
        assert status["resources"] == self.wanted
        assert status["allocatedResources"] == self.wanted["requests"]
        whole = cgroup_of(pod["metadata"]["uid"])
        for path in (whole, f"{whole}/{status['containerID'].partition('://')[2]}"):
            assert (values(path).shares, values(path).quota) == (shares(61), 12_000), path
        assert status["restartCount"] == 0
        assert not any(item["type"].startswith("PodResize") for item in pod["status"]["conditions"])
        self.check_ready(pod, fault)


class Lost(Life):
    """Loses its sandbox, and starts again in another one."""

    name = "lost"

    def before(self) -> list[Plain]:
        init = [self.container("begin", BRIEF)]
        return [self.manifest("Always", self.container("lost", SERVE), initContainers=init)]

    def act(self, cluster: RealCluster) -> None:
        """Kill the process that holds the pod's network namespace, as if it had crashed."""
        data = DataDirectory(cluster.directory)
        (node,) = data.node_names()
        for path in (data.node(node) / "oci/sandboxes").glob("*/record.json"):
            record = json.loads(path.read_text())
            if record["pod_name"] == self.pod:
                unmount_all(STATE / f"{data.id}-0" / "sandboxes" / record["id"] / "net")

    def end(self) -> list[str]:
        """A kill between a container's creation and its start makes the count 2."""
        restarted = "{.status.containerStatuses[?(@.restartCount>0)].state.running.startedAt}"
        return [f"--for=jsonpath={restarted}", f"pod/{self.pod}"]

    def check(self, pod: Plain, fault: Fault) -> None:
        self.check_runs("begin", ["start", "end"] * 2, pod)
        self.check_runs("lost", ["start", "end", "start"], pod)


ALWAYS: tuple[type[Life], ...] = (Once, Twice, Serving, Leaving)
"""The life cycles of every run."""
BY_TURNS: tuple[tuple[type[Life], ...], ...] = ((Hooked, Sidecar), (Sickening, Grown), (Lost, Sidecar))
"""The life cycles that alternate between runs, so that one run stays short."""


def lives_of(number: int, notes: Path) -> list[Life]:
    """Return the life cycles of one run."""
    kinds = (*ALWAYS, *BY_TURNS[number % len(BY_TURNS)])
    return [kind(f"run{number}", notes) for kind in kinds]
