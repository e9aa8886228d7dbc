"""One answer to "why is it not Running?", for each way of a pod to be stuck beside its containers."""

from __future__ import annotations

from typing import Any

import pytest

from podling.cli.why import paragraph
from tests.support.ailing_pods import BOUND, EARLIER, NOW, PROBE, STARTABLE, ask, container, ended, waiting

UNPLACED = {
    "0/1 nodes are available: 1 Insufficient memory.": "Lower the pod's requests for memory, free",
    "0/2 nodes are available: 1 Insufficient cpu, 2 Insufficient memory.": "for cpu and memory, free",
    "0/1 nodes are available: 1 node(s) had untolerated taint(s).": "the taint: one has gpu=a:NoSchedule.",
    "0/1 nodes are available: 1 node(s) were unschedulable.": "kubectl uncordon two",
    "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.": "--show-labels",
    "0/1 nodes are available: 1 node(s) didn't match pod affinity rules.": "Start a pod with the labels",
    "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.": "drop hostPort",
    'persistentvolumeclaim "data" not found': "Create the claim",
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
    assert [source.name for source in answer.evidence] == ["PodScheduled"]


def test_preemption_text_is_cut_except_nominated_node() -> None:
    message = (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: nothing helps."
    )
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    asked = [{"name": "main", "resources": {"requests": {"cpu": "5"}}}]
    answer = ask({"containers": asked}, {"conditions": [condition], "nominatedNodeName": "one"})
    assert answer.text == (
        "No node can take the pod: 0/1 nodes are available: 1 Insufficient cpu (it requests cpu 5). "
        "Pods of lower priority are being ended on node one to make room for it."
    )


def test_a_pod_that_may_not_be_placed_or_was_not_looked_at() -> None:
    assert ask({"schedulingGates": [{"name": "example.com/quota"}]}).reason == "SchedulingGated"
    answer = ask({"schedulerName": "mine"})
    assert answer.area == "scheduler"
    assert "a scheduler that calls itself mine" in answer.advice


def test_missing_or_unready_node_is_reported() -> None:
    assert ask(BOUND, node=None).reason == "NodeNotFound"
    answer = ask(BOUND, node="False")
    text = "Its node one has not been ready for some time: KubeletNotReady: no network."
    assert (answer.area, answer.text) == ("node", text)


def test_a_sandbox_that_cannot_be_made() -> None:
    answer = ask(
        BOUND, waiting("ContainerCreating") | {"conditions": []}, ("FailedCreatePodSandBox", "no bridge")
    )
    assert (answer.area, answer.text) == ("sandbox", "The node cannot make the pod's sandbox: no bridge.")


@pytest.mark.parametrize(
    ("probe", "said", "text", "advice"),
    [
        (
            {"httpGet": {"port": 80}},
            "dial tcp 10.0.0.2:80: connect: connection refused",
            "GET http://:80/",
            "Nothing",
        ),
        (
            {"httpGet": {"port": 80, "path": "/x"}},
            "HTTP probe failed with statuscode: 503",
            ":80/x",
            "kubectl logs",
        ),
        ({"tcpSocket": {"port": 80}}, "dial tcp 10.0.0.2:80: i/o timeout", "TCP :80", "within 1s"),
        ({"grpc": {"port": 80}}, "service unhealthy", "gRPC :80", "kubectl logs"),
        (
            {"exec": {"command": ["test", "a b"]}},
            "no",
            "exec test a b",
            "kubectl exec web -c main -- test 'a b'",
        ),
        ({"exec": {"command": ["false"]}}, "", "printed nothing", "kubectl exec web -c main -- false"),
    ],
)
def test_a_container_that_does_not_answer_its_probe(
    probe: dict[str, Any], said: str, text: str, advice: str
) -> None:
    main = {"name": "main", "image": "app:1", "readinessProbe": probe | {"periodSeconds": 5}}
    status = container(state={"running": {"startedAt": EARLIER}}, started=True)
    told = (
        ("Unhealthy/other", "Readiness probe failed: no"),
        ("Unhealthy/main", f"Readiness probe failed: {said}"),
    )
    answer = ask({**BOUND, "containers": [main]}, status, *told)
    assert (answer.area, answer.container) == ("probe", "main")
    assert "every 5s) has failed 1 time, the last time recorded 30s ago" in answer.text
    assert said in answer.text
    assert text in answer.text
    assert advice in answer.advice


def test_a_probe_that_has_not_been_made_yet() -> None:
    main = {"name": "main", "readinessProbe": PROBE | {"initialDelaySeconds": 180}}
    status = container(state={"running": {"startedAt": EARLIER}}, started=True)
    answer = ask({**BOUND, "containers": [main]}, status)
    assert "is first made in 60s (initialDelaySeconds 180)" in answer.text


def test_a_readiness_gate_that_is_closed() -> None:
    condition = {"type": "Ready", "status": "False", "reason": "ReadinessGatesNotReady", "message": "gate X"}
    shut = {"type": "example.com/b", "status": "False", "message": "no backend."}
    status = container(state={"running": {"startedAt": EARLIER}}, ready=True, started=True)
    gates = [{"conditionType": "example.com/a"}, {"conditionType": "example.com/b"}]
    answer = ask({**BOUND, "readinessGates": gates}, status | {"conditions": [STARTABLE, condition, shut]})
    assert answer.area == "gate"
    assert "example.com/a has never been set, example.com/b is False (no backend)" in answer.text
    assert "kubectl patch pod web --subresource=status" in answer.advice


RUNNING = container(state={"running": {"startedAt": EARLIER}}, ready=True, started=True)


def test_a_pod_that_is_leaving() -> None:
    leaving = "2026-01-01T12:00:30Z"
    answer = ask(BOUND, RUNNING, deletionTimestamp=leaving)
    assert "container main still runs" in answer.text
    assert "in 30s, is killed (SIGKILL)" in answer.text
    hook = {"name": "main", "lifecycle": {"preStop": {"sleep": {"seconds": 9}}}}
    assert "the preStop hook of main" in ask({"containers": [hook]}, RUNNING, deletionTimestamp=leaving).text
    held = ask(BOUND, container(state=ended(0)), deletionTimestamp=leaving, finalizers=["example.com/keep"])
    assert (held.reason, held.healthy) == ("FinalizersRemain", False)
    assert "example.com/keep" in held.text
    over = ask(BOUND, {"phase": "Succeeded"}, deletionTimestamp=leaving, finalizers=["example.com/keep"])
    assert over.reason == "FinalizersRemain"
    assert "does not answer" in ask(BOUND, deletionTimestamp=EARLIER, node="Unknown").text
    assert "does not exist" in ask(BOUND, deletionTimestamp=EARLIER, node=None).text
    disruption = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": "m.",
    }
    chosen = ask(BOUND, RUNNING | {"conditions": [disruption]}, deletionTimestamp=leaving)
    assert "has been deleted (PreemptionByScheduler: m) and" in chosen.text


def test_a_pod_that_is_over() -> None:
    assert ask(BOUND, {"phase": "Succeeded"}).healthy
    evicted = ask(BOUND, {"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory."})
    assert (evicted.area, evicted.reason) == ("end", "Evicted")
    assert "Node one refused the pod for good: Evicted: The node was low on memory." in evicted.text
    late = ask(BOUND, container(state=ended(0)) | {"phase": "Failed", "reason": "DeadlineExceeded"})
    assert "The pod was ended for good" in late.text
    assert "activeDeadlineSeconds" in late.advice
    failed = ask({**BOUND, "restartPolicy": "Never"}, container(state=ended(2)) | {"phase": "Failed"})
    assert (
        "container main ended with exit code 2 (Error), and its restart policy, Never, lets it be"
        in failed.text
    )


def test_a_static_pod_is_mended_in_its_file() -> None:
    annotations = {"kubernetes.io/config.source": "file", "kubernetes.io/config.mirror": "x"}
    answer = ask(BOUND, waiting("ErrImagePull"), annotations=annotations)
    assert answer.advice.startswith("It is a static pod: what you change, change in its file on node one.")


def test_a_pod_with_which_nothing_is_wrong() -> None:
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": EARLIER}
    answer = ask(BOUND, {"phase": "Running", "conditions": [condition]})
    assert answer.healthy
    assert answer.text == "Nothing is wrong: the pod is Running, and it has been Ready for 2m."
    again = ask(
        BOUND, container(ready=True, lastState=ended(3), restartCount=2) | {"conditions": [condition]}
    )
    assert again.healthy
    assert (
        "restarted 2 times, though: before this run it ended 30s ago with exit code 3 (Error)" in again.text
    )


def test_the_answer_is_one_paragraph_with_what_says_so() -> None:
    answer = ask(BOUND, waiting("ErrImageNeverPull"), ("Failed/main", "Error: ErrImageNeverPull"))
    text = paragraph(answer, NOW)
    assert "\n" not in text
    assert "[status of main: waiting, ErrImageNeverPull; event Failed, 30s ago]" in text
    assert text.endswith(answer.advice)
