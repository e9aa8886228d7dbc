"""Plans for pods in the cases of ``kuberuntime_manager_test.go`` (``TestComputePodActions``, ...).

A pod is written as its containers: ``i…`` are init containers, ``s…`` sidecars, ``e…`` ephemeral ones, all
others regular. What the runtime has of them is written as ``a`` (runs), ``a:1`` (ended with 1), ``a?`` (in an
unknown state), ``a+`` (created), ``a!`` (failed its liveness probe), ``a~`` (failed its startup probe),
``a.`` (not started up yet) or ``a*`` (runs with another image). ``down-1`` is a sandbox of attempt 1 that is
not ready, ``no-address`` one without an address, and ``none`` stands for no sandbox.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from podling.api.core_v1 import Container, Pod
from podling.kubelet.pods.actions import PodPlan, plan_pod
from podling.kubelet.status.probe_view import ProbeResult, ProbeView
from podling.runtime.base import ContainerState
from tests.support.pod_worlds import World

STATES = {"?": ContainerState.UNKNOWN, "+": ContainerState.CREATED}
STARTUP = {"~": ProbeResult.FAILURE, ".": ProbeResult.UNKNOWN}


def pod(names: str, policy: str) -> Pod:
    kinds: dict[str, list[dict[str, Any]]] = {
        "initContainers": [],
        "ephemeralContainers": [],
        "containers": [],
    }
    for name in names.split():
        made: dict[str, Any] = {"name": name, "image": "x"}
        if name[0] == "s":
            made["restartPolicy"] = "Always"
        if name in ("s2", "s3"):
            made |= {"livenessProbe": {}, "startupProbe": {}}
        kind = {"i": "initContainers", "s": "initContainers", "e": "ephemeralContainers"}
        kinds[kind.get(name[0], "containers")].append(made)
    metadata = {"name": "web", "namespace": "default", "uid": "u"}
    return msgspec.convert({"metadata": metadata, "spec": {"restartPolicy": policy, **kinds}}, Pod)


def plan(names: str, policy: str, there: str) -> PodPlan:
    made = World(pod(names, policy))
    startup: dict[str, ProbeResult] = {}
    liveness: dict[str, ProbeResult] = {}
    changed: set[str] = set()
    words = there.split()
    if "none" not in words:
        made.carry_out(PodPlan(create_sandbox=True))
    for word in words:
        if word == "no-address":
            made.sandboxes = [replace(made.sandboxes[0], ips=())]
        elif word.startswith("down-"):
            made.sandboxes = [replace(made.sandboxes[0], ready=False, attempt=int(word[-1]))]
        elif word != "none":
            name, _, code = word.rstrip("?+!~.*").partition(":")
            made.run(name)
            newest = made.containers[-1]
            startup[newest.id] = STARTUP.get(word[-1], ProbeResult.SUCCESS)
            liveness[newest.id] = ProbeResult.FAILURE if word[-1] == "!" else ProbeResult.SUCCESS
            made.containers[-1] = replace(newest, state=STATES.get(word[-1], newest.state))
            if word[-1] == "*":
                changed.add(name)
            if code:
                made.end(name, int(code))

    def own(container: Container) -> Container:
        return replace(container, image="y") if container.name in changed else container

    spec = replace(
        made.pod.spec,
        containers=tuple(own(each) for each in made.pod.spec.containers),
        init_containers=tuple(own(each) for each in made.pod.spec.init_containers),
    )
    probes = ProbeView(startup=startup, liveness=liveness)
    return plan_pod(replace(made.pod, spec=spec), made.observed, {}, made.now, probes)


def told(found: PodPlan) -> str:
    words = ["end"] if found.kill_pod else []
    words += [f"sandbox-{found.attempt}"] if found.create_sandbox else []
    words += [f"kill {kill.name}" for kill in found.kill]
    words += [f"start {' '.join(each.name for each in found.starts)}"] if found.starts else []
    return ", ".join(words) or "nothing"


REGULAR = "a b c"
INIT = "i1 i2 i3 a b c"
SIDECARS = "s1 s2 s3 a b c"
DEBUGGED = "i1 e1 a b c"


@pytest.mark.parametrize(
    ("names", "policy", "there", "expected"),
    [
        (REGULAR, "Always", "a b c", "nothing"),
        (REGULAR, "Always", "none", "sandbox-0, start a b c"),
        (REGULAR, "Always", "a:0 b:111 c", "start a b"),
        (REGULAR, "OnFailure", "a:0 b:111 c", "start b"),
        (REGULAR, "OnFailure", "a:0 b+ c", "start b"),
        (REGULAR, "Never", "a:0 b:111 c", "nothing"),
        (REGULAR, "Always", "a b c down-0", "end, sandbox-1, start a b c"),
        (REGULAR, "OnFailure", "a b:0 c down-0", "end, sandbox-1, start a c"),
        (REGULAR, "Always", "a b c no-address", "end, sandbox-1, start a b c"),
        (REGULAR, "Always", "a b* c", "kill b, start b"),
        (REGULAR, "Always", "a b! c", "kill b, start b"),
        (REGULAR, "Always", "a b~ c", "kill b, start b"),
        (REGULAR, "Never", "a:0 b:0 c:0 down-1", "end"),
        (REGULAR, "OnFailure", "a:0 b:0 c:0 down-1", "end"),
        (REGULAR, "Never", "down-2", "end, sandbox-3, start a b c"),
        (REGULAR, "Never", "a b? c", "kill b, start b"),
        (REGULAR, "Never", "a b+ c", "start b"),
    ],
)
def test_regular_containers_start_as_upstream(names: str, policy: str, there: str, expected: str) -> None:
    """A new pod without a sandbox has nothing to kill; upstream says that it kills the pod."""
    assert told(plan(names, policy, there)) == expected


@pytest.mark.parametrize(
    ("names", "policy", "there", "expected"),
    [
        (INIT, "Always", "i1:0 i2:0 i3:0", "start a b c"),
        (INIT, "Always", "", "start i1"),
        (INIT, "Always", "i1:0 i2:0 i3", "nothing"),
        (INIT, "Always", "i1:0 i2:0 i3:0 down-0", "end, sandbox-1, start i1"),
        (INIT, "Always", "i1:0 i2:0 i3:137", "start i3"),
        (INIT, "OnFailure", "i1:0 i2:0 i3:137", "start i3"),
        (INIT, "Never", "i1:0 i2:0 i3:137", "end"),
        (INIT, "Always", "i1:0 i2:0 i3?", "kill i3, start i3"),
        (INIT, "OnFailure", "i1:0 i2:0 i3?", "kill i3, start i3"),
        (INIT, "Never", "i1:0 i2:0 i3?", "end"),
        (INIT, "Never", "i1:0 i2:0 i3:0 down-0", "end"),
        (INIT, "Never", "down-0", "end, sandbox-1, start i1"),
        (INIT, "OnFailure", "i1:0 i2:0 i3:137 down-0", "end, sandbox-1, start i1"),
        (INIT, "Always", "i3", "nothing"),
        (INIT, "Always", "i1:0 i2:0 i3+", "start i3"),
    ],
)
def test_init_containers_start_as_upstream(names: str, policy: str, there: str, expected: str) -> None:
    assert told(plan(names, policy, there)) == expected


@pytest.mark.parametrize(
    ("names", "policy", "there", "expected"),
    [
        (SIDECARS, "Always", "s1 s2 s3", "start a b c"),
        (SIDECARS, "Always", "", "start s1"),
        (SIDECARS, "Always", "s1 s2 s3+", "start s3"),
        (SIDECARS, "Always", "s1", "start s2"),
        (SIDECARS, "Always", "s1 s2", "start s3"),
        (SIDECARS, "Always", "s1 s2 s3!", "kill s3, start s3 a b c"),
        (SIDECARS, "Always", "s1 s2.", "nothing"),
        (SIDECARS, "Always", "s1 s2 s3~", "kill s3, start s3"),
        (SIDECARS, "Always", "s1 s2 s3*", "kill s3, start s3 a b c"),
        (SIDECARS, "Always", "s1:0 s2 s3:0", "start s1 s3"),
        (SIDECARS, "Always", "s1:0 s2 s3", "start s1 a b c"),
        (SIDECARS, "Never", "s1 s2 s3:137 down-0", "end"),
        (SIDECARS, "Never", "down-0", "end, sandbox-1, start s1"),
        (SIDECARS, "OnFailure", "s1 s2 s3:137 down-0", "end, sandbox-1, start s1"),
        (SIDECARS, "Always", "s1 s2 s3:137 down-0", "end, sandbox-1, start s1"),
        (SIDECARS, "Never", "s1 s2 s3:137", "start s3"),
        (SIDECARS, "Never", "s1 s2 s3?", "kill s3, start s3"),
        (SIDECARS, "Never", "s1 s2 s3:137 a b c", "start s3"),
        (SIDECARS, "Never", "s1 s2 s3 a:0 b:0 c:0", "end"),
        (SIDECARS, "Always", "s3", "start s1 s2 a b c"),
    ],
)
def test_sidecars_start_as_upstream(names: str, policy: str, there: str, expected: str) -> None:
    assert told(plan(names, policy, there)) == expected


@pytest.mark.parametrize(
    ("names", "policy", "there", "expected"),
    [
        (DEBUGGED, "Always", "i1:0 a b c e1", "nothing"),
        (DEBUGGED, "Always", "i1:0 a b c", "start e1"),
        (f"{DEBUGGED} e2", "Always", "i1:0 a b c e1", "start e2"),
        (DEBUGGED, "Always", "i1:0 a b c e1:0", "nothing"),
        (DEBUGGED, "Always", "i1", "start e1"),
        (DEBUGGED, "OnFailure", "i1:137 e1 down-0", "end, sandbox-1, start i1"),
        (DEBUGGED, "Always", "i1:0 a b c e1 down-0", "end, sandbox-1, start i1"),
        (DEBUGGED, "Never", "i1:0 a:0 b:0 c:0 e1", "end"),
        (DEBUGGED, "Never", "i1:0 a b c e1?", "nothing"),
    ],
)
def test_ephemeral_containers_start_as_upstream(names: str, policy: str, there: str, expected: str) -> None:
    assert told(plan(names, policy, there)) == expected
