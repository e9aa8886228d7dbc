"""Explanations of pods that run and are not ready."""

from __future__ import annotations

from tests.support.ailing_pods import BOUND, EARLIER, STARTABLE, ask, container, ended


def test_running_init_container_is_reported_with_its_age() -> None:
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


def test_init_container_that_waits_for_a_name_without_cluster_dns() -> None:
    running = {"state": {"running": {"startedAt": EARLIER}}}
    status = {
        "conditions": [STARTABLE],
        "initContainerStatuses": [
            {"name": "wait", "image": "", "imageID": "", "ready": False, "restartCount": 0, **running}
        ],
    }
    spec = {**BOUND, "initContainers": [{"name": "wait", "image": "x"}]}
    message = 'pod: "web_default(1)". kubelet does not have ClusterDNS IP configured'
    answer = ask(spec, status, ("MissingClusterDNS", message))
    assert (answer.area, answer.container) == ("init", "wait")
    assert "its node has no cluster DNS" in answer.text
    assert ("event", "MissingClusterDNS") in [(source.kind, source.name) for source in answer.evidence]
    assert "MissingClusterDNS" not in ask(spec, status).text


def test_closed_readiness_gates_are_listed() -> None:
    condition = {"type": "Ready", "status": "False", "reason": "ReadinessGatesNotReady", "message": "gate X"}
    shut = {"type": "example.com/b", "status": "False", "message": "no backend."}
    status = container(state={"running": {"startedAt": EARLIER}}, ready=True, started=True)
    gates = [{"conditionType": "example.com/a"}, {"conditionType": "example.com/b"}]
    answer = ask({**BOUND, "readinessGates": gates}, status | {"conditions": [STARTABLE, condition, shut]})
    assert answer.area == "gate"
    assert "example.com/a has never been set, example.com/b is False (no backend)" in answer.text
    assert "kubectl patch pod web --subresource=status" in answer.advice


def test_ready_pod_is_healthy_with_its_restarts() -> None:
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
