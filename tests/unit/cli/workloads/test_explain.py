"""Explanations for workloads that lack pods."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.apps_v1 import DaemonSet, Deployment
from podling.api.batch_v1 import Job
from podling.api.core_v1 import Event, Pod
from podling.cli.evidence import Explanation
from podling.cli.workloads.explain import explain_workload

NAMES = {"name": "web", "namespace": "shop"}


WELL = Explanation(healthy=True, area="none", reason="Ready", text="Nothing is wrong.")


ILL = Explanation(area="crash", reason="CrashLoopBackOff", text="It keeps ending.", advice="Look.")


def deployment(replicas: int = 2, **spec: Any) -> Deployment:
    plain = {"metadata": NAMES, "spec": {"replicas": replicas, "template": {}, "selector": {}} | spec}
    return msgspec.convert(plain, Deployment)


def event(reason: str, message: str, kind: str = "ReplicaSet") -> Event:
    about = {"kind": kind, "name": "web-1"}
    plain = {
        "reason": reason,
        "message": message,
        "lastTimestamp": "2026-01-01T11:59:00Z",
        "involvedObject": about,
    }
    return msgspec.convert(plain, Event)


def pod(name: str, phase: str = "Pending", *, ready: bool = False) -> Pod:
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    plain = {
        "metadata": {"name": name, "namespace": "shop"},
        "status": {"phase": phase, "conditions": [condition]},
    }
    return msgspec.convert(plain, Pod)


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ("exceeded quota: q, requested: pods=1", "kubectl describe quota -n shop"),
        ("failed quota: q: must specify cpu for: main", "every container's resources"),
        ('serviceaccount "builder" not found', "kubectl create serviceaccount builder -n shop"),
        ("maximum cpu usage per Container is 1", "kubectl describe limitrange -n shop"),
        ('violates PodSecurity "restricted:latest"', "pod security level"),
        ("something new", "Change the pod template"),
    ],
)
def test_pods_that_may_not_be_created(message: str, advice: str) -> None:
    answer = explain_workload(deployment(3), [(pod("web-1-a"), WELL)], [event("FailedCreate", message)])
    assert not answer.healthy
    assert answer.text == (
        f"Deployment web has 1 of 3 pods; the next could not be created by ReplicaSet web-1: {message}."
    )
    assert advice in answer.advice


def test_past_refusal_leaves_workload_healthy() -> None:
    pods = [(pod("web-1-a"), WELL), (pod("web-1-b"), WELL)]
    assert explain_workload(deployment(2), pods, [event("FailedCreate", "exceeded quota")]).healthy


def test_a_workload_that_is_held_back() -> None:
    paused = explain_workload(deployment(paused=True), [], [])
    assert (paused.reason, "rollout resume deployment web" in paused.advice) == ("Paused", True)
    plain = {"metadata": NAMES, "spec": {"suspend": True, "template": {}}}
    held = explain_workload(msgspec.convert(plain, Job), [], [])
    assert (held.reason, '{"spec":{"suspend":false}}' in held.advice) == ("Suspended", True)


def test_failing_pod_explains_workload() -> None:
    answer = explain_workload(deployment(2), [(pod("web-1-a"), WELL), (pod("web-1-b"), ILL)], [])
    assert (answer.area, answer.advice, answer.healthy) == ("crash", "Look.", False)
    assert answer.text == "Deployment web has 0 of 2 pods Ready. One that is not is web-1-b: It keeps ending."


def test_workloads_that_are_to_have_no_pods_and_such_that_lack_some() -> None:
    assert explain_workload(deployment(0), [], []).healthy
    assert explain_workload(deployment(1), [], []).reason == "PodsMissing"
    done = {"metadata": NAMES, "spec": {"template": {}}, "status": {"conditions": [COMPLETE]}}
    assert explain_workload(msgspec.convert(done, Job), [], []).healthy
    spread = {
        "metadata": NAMES,
        "spec": {"selector": {}, "template": {}},
        "status": {
            "desiredNumberScheduled": 1,
            "currentNumberScheduled": 0,
            "numberMisscheduled": 0,
            "numberReady": 0,
        },
    }
    assert not explain_workload(msgspec.convert(spread, DaemonSet), [], []).healthy


def test_pod_that_has_ended_matters_while_its_replacement_is_missing() -> None:
    evicted, fresh = (pod("web-1-a", "Failed"), ILL), (pod("web-1-b", "Running", ready=True), WELL)
    assert explain_workload(deployment(1), [evicted, fresh], []).healthy
    assert explain_workload(deployment(2), [evicted, fresh], []).reason == "CrashLoopBackOff"


def test_pods_that_have_ended_are_not_counted_as_present() -> None:
    refused = event("FailedCreate", "exceeded quota: q")
    answer = explain_workload(deployment(1), [(pod("web-1-a", "Failed"), ILL)], [refused])
    assert answer.text.startswith("Deployment web has 0 of 1 pods; the next could not be created")


def test_deadline_is_added_to_the_refusal_of_pods() -> None:
    condition = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}
    plain = msgspec.to_builtins(deployment(1, progressDeadlineSeconds=60))
    stuck = msgspec.convert(plain | {"status": {"conditions": [condition]}}, Deployment)
    answer = explain_workload(stuck, [], [event("FailedCreate", "exceeded quota: q")])
    assert (answer.reason, [each.name for each in answer.evidence]) == (
        "FailedCreate",
        ["FailedCreate", "Progressing"],
    )
    assert answer.text.endswith("no progress for 60 s.")


def test_complete_job_is_healthy_after_failed_pods() -> None:
    done = {
        "metadata": NAMES,
        "spec": {"suspend": True, "template": {}},
        "status": {"conditions": [COMPLETE]},
    }
    answer = explain_workload(msgspec.convert(done, Job), [(pod("web-a", "Failed"), ILL)], [])
    assert (answer.healthy, answer.text) == (True, "Nothing is wrong: Job web is complete.")


def test_failed_job_is_explained_before_its_pods() -> None:
    failed = {"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "too long"}
    plain = {"metadata": NAMES, "spec": {"template": {}}, "status": {"conditions": [failed]}}
    answer = explain_workload(msgspec.convert(plain, Job), [(pod("web-a", "Failed"), ILL)], [])
    assert answer.reason == "DeadlineExceeded"


COMPLETE = {"type": "Complete", "status": "True"}
