"""One answer to "why is it not Running?", for each place where a pod can be stuck."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Event, Node, Pod
from podling.cli.evidence import Evidence, Explanation
from podling.cli.explain import explain
from podling.kubelet.slow_calls import slow_message

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
EARLIER = "2026-01-01T11:58:00Z"
BOUND = {"nodeName": "one"}
STARTABLE = {"type": "PodReadyToStartContainers", "status": "True"}


def ask(
    spec: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
    *events: tuple[str, str],
    node: str | None = "True",
    **metadata: Any,
) -> Explanation:
    """The answer for a pod ``web`` with one container ``main``; ``node`` is its Ready condition."""
    container = {"name": "main", "image": "app:1"}
    plain = {
        "metadata": {"name": "web", "namespace": "default", **metadata},
        "spec": {"restartPolicy": "Always", "schedulerName": "default-scheduler", "containers": [container]}
        | (spec or {}),
        "status": {"phase": "Pending"} | (status or {}),
    }
    ready = {"type": "Ready", "status": node, "reason": "KubeletNotReady", "message": "no network."}
    host = msgspec.convert({"status": {"conditions": [ready]}}, Node) if node else None
    told = [msgspec.convert({"reason": reason, "message": text}, Event) for reason, text in events]
    return explain(Evidence(msgspec.convert(plain, Pod), told, host, NOW))


def container(**state: Any) -> dict[str, Any]:
    """A status whose only container is in this state."""
    fixed = {"name": "main", "image": "app:1", "imageID": "", "ready": False, "restartCount": 0}
    return {"phase": "Running", "conditions": [STARTABLE], "containerStatuses": [fixed | state]}


def waiting(reason: str, message: str = "because") -> dict[str, Any]:
    return container(state={"waiting": {"reason": reason, "message": message}})


def ended(code: int, reason: str = "Error", **more: Any) -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": reason, **more}}


UNPLACED = {
    "0/1 nodes are available: 1 Insufficient memory.": "Lower the pod's requests for memory",
    "0/1 nodes are available: 1 node(s) had untolerated taint(s).": "Add a toleration",
    "0/1 nodes are available: 1 node(s) were unschedulable.": "kubectl uncordon",
    "0/1 nodes are available: 1 Too many pods.": "add a node",
    "no nodes available to schedule pods": "podling up",
    "0/1 nodes are available: something new.": "kubectl describe nodes",
}


@pytest.mark.parametrize(("message", "advice"), UNPLACED.items())
def test_a_pod_that_fits_nowhere(message: str, advice: str) -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    answer = ask(None, {"conditions": [condition]})
    assert (answer.area, answer.reason) == ("scheduler", "Unschedulable")
    assert answer.text == f"No node can take the pod: {message.rstrip('.')}."
    assert advice in answer.advice


def test_a_pod_that_may_not_be_placed_or_was_not_looked_at() -> None:
    assert ask({"schedulingGates": [{"name": "example.com/quota"}]}).reason == "SchedulingGated"
    answer = ask({"schedulerName": "mine"})
    assert answer.area == "scheduler"
    assert "scheduler called mine" in answer.advice


def test_a_node_that_is_gone_or_in_trouble() -> None:
    assert ask(BOUND, node=None).reason == "NodeNotFound"
    answer = ask(BOUND, node="False")
    assert (answer.area, answer.text) == ("node", "Its node one is not ready: KubeletNotReady: no network.")


def test_a_sandbox_that_cannot_be_made() -> None:
    answer = ask(
        BOUND, waiting("ContainerCreating") | {"conditions": []}, ("FailedCreatePodSandBox", "no bridge")
    )
    assert (answer.area, answer.text) == ("sandbox", "The node cannot make the pod's sandbox: no bridge.")


@pytest.mark.parametrize(
    ("reason", "area"),
    [
        ("ErrImagePull", "image"),
        ("ImagePullBackOff", "image"),
        ("InvalidImageName", "image"),
        ("CreateContainerConfigError", "configuration"),
        ("RunContainerError", "runtime"),
    ],
)
def test_a_container_that_cannot_start(reason: str, area: str) -> None:
    answer = ask(BOUND, waiting(reason))
    assert (answer.area, answer.reason, answer.container) == (area, reason, "main")
    assert answer.text == f"Container main cannot start: {reason}: because."
    assert answer.advice


def test_a_runtime_that_does_not_answer() -> None:
    message = slow_message("StartContainer", NOW - timedelta(seconds=75))
    said = ask(BOUND, waiting("ContainerCreating", message))
    assert (said.area, said.reason, said.container) == ("runtime", "ContainerCreating", "main")
    assert "has not answered StartContainer for 75s" in said.text


def test_a_volume_that_is_missing() -> None:
    answer = ask(BOUND, waiting("ContainerCreating"), ("FailedMount", 'configmap "settings" not found'))
    assert (answer.area, answer.reason) == ("volume", "FailedMount")
    assert 'configmap "settings" not found' in answer.text


@pytest.mark.parametrize(
    ("last", "advice"),
    [
        (ended(3), "kubectl logs web -n default -c main --previous"),
        (ended(137, "OOMKilled"), "raise resources.limits.memory"),
        (ended(127), "The command was not found"),
    ],
)
def test_a_container_that_keeps_ending(last: dict[str, Any], advice: str) -> None:
    status = container(state={"waiting": {"reason": "CrashLoopBackOff"}}, lastState=last, restartCount=4)
    answer = ask(BOUND, status)
    assert (answer.area, answer.reason) == ("crash", "CrashLoopBackOff")
    assert "was restarted 4 times" in answer.text
    assert advice in answer.advice


def test_a_container_that_its_liveness_probe_kills() -> None:
    status = container(
        state={"waiting": {"reason": "CrashLoopBackOff"}}, lastState=ended(137), restartCount=1
    )
    answer = ask(
        BOUND,
        status,
        ("Unhealthy", "Liveness probe failed: HTTP probe failed with statuscode: 500"),
        ("Killing", "Container main failed liveness probe, will be restarted"),
    )
    assert "It was killed because it failed its liveness probe" in answer.text
    assert "statuscode: 500" in answer.text


def test_an_init_container_that_takes_its_time() -> None:
    status = {
        "conditions": [STARTABLE],
        "initContainerStatuses": [
            {
                "name": "first",
                "image": "",
                "imageID": "",
                "ready": True,
                "restartCount": 0,
                "state": ended(0),
            },
            {
                "name": "second",
                "image": "",
                "imageID": "",
                "ready": False,
                "restartCount": 0,
                "state": {"running": {"startedAt": EARLIER}},
            },
        ],
    }
    inits = [{"name": "first", "image": "x"}, {"name": "second", "image": "x"}]
    answer = ask({**BOUND, "initContainers": inits}, status)
    assert (answer.area, answer.reason, answer.container) == ("init", "Init:1/2", "second")
    assert "has been running for 2m" in answer.text


def test_a_container_that_does_not_answer_its_probe() -> None:
    probe = {"httpGet": {"port": 80}, "periodSeconds": 5, "initialDelaySeconds": 3}
    spec = {**BOUND, "containers": [{"name": "main", "image": "app:1", "readinessProbe": probe}]}
    status = container(state={"running": {"startedAt": EARLIER}}, started=True)
    answer = ask(spec, status, ("Unhealthy", "Readiness probe failed: connection refused"))
    assert (answer.area, answer.container) == ("probe", "main")
    assert "its readiness probe has not succeeded (asked every 5 s, first after 3 s)" in answer.text
    assert answer.text.endswith("It last answered: Readiness probe failed: connection refused.")


def test_a_readiness_gate_that_is_closed() -> None:
    condition = {"type": "Ready", "status": "False", "reason": "ReadinessGatesNotReady", "message": "gate X"}
    status = container(state={"running": {"startedAt": EARLIER}}, ready=True, started=True)
    answer = ask(BOUND, status | {"conditions": [STARTABLE, condition]})
    assert answer.area == "gate"


def test_a_pod_that_is_leaving() -> None:
    assert "killed at most 30s from now" in ask(BOUND, deletionTimestamp="2026-01-01T12:00:30Z").text
    held = ask(BOUND, deletionTimestamp=EARLIER, finalizers=["example.com/keep"])
    assert "example.com/keep" in held.text
    assert "does not answer" in ask(BOUND, deletionTimestamp=EARLIER, node="Unknown").text


def test_a_pod_that_is_over() -> None:
    assert ask(BOUND, {"phase": "Succeeded"}).healthy
    evicted = ask(BOUND, {"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory."})
    assert (evicted.area, evicted.reason) == ("end", "Evicted")
    failed = ask({**BOUND, "restartPolicy": "Never"}, container(state=ended(2)) | {"phase": "Failed"})
    assert "container main ended with exit code 2 (Error), and its restart policy is Never" in failed.text


def test_a_pod_with_which_nothing_is_wrong() -> None:
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": EARLIER}
    answer = ask(BOUND, {"phase": "Running", "conditions": [condition]})
    assert answer.healthy
    assert answer.text == "Nothing is wrong: the pod is Running, and it has been Ready for 2m."
