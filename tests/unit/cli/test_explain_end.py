"""Explanations of pods that are deleted or have ended."""

from __future__ import annotations

from tests.support.ailing_pods import BOUND, EARLIER, ask, container, ended

RUNNING = container(state={"running": {"startedAt": EARLIER}}, ready=True, started=True)


def test_deleted_pod_is_explained_by_its_stage() -> None:
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


def test_ended_pod_is_explained_by_phase_and_reason() -> None:
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
