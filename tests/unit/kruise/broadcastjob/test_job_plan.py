"""The nodes that fit, and what became of pods. The cases are those of ``broadcastjob_controller_test.go``."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from podling.api.core_v1 import Node, Pod, PodSpec
from podling.machinery.encoding import codec
from podling_kruise.broadcastjob.job_plan import (
    census,
    fits,
    is_complete,
    number_to_create,
    placement,
    seconds_to_deadline,
)
from podling_kruise.broadcastjob.types import BroadcastJob

NOW = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)


def node(name: str = "n", **more: Any) -> Node:
    status = {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "10", **more.pop("allocatable", {})}}
    labels = more.pop("labels", {})
    return codec.from_plain(
        {"metadata": {"name": name, "labels": labels}, "spec": more, "status": status}, Node
    )


def spec(**more: Any) -> PodSpec:
    containers = [{"name": "main", "image": "a", "resources": {"requests": more.pop("requests", {})}}]
    return codec.from_plain({"containers": containers, **more}, PodSpec)


TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}
TOLERATION = {"key": "k", "operator": "Exists"}
UNSCHEDULABLE = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("pod", "on", "fit"),
    [
        (spec(), node(), True),
        (spec(nodeName="other"), node(), False),
        (spec(nodeSelector={"a": "b"}), node(), False),
        (spec(nodeSelector={"a": "b"}), node(labels={"a": "b"}), True),
        (spec(), node(taints=[TAINT]), False),
        (spec(tolerations=[TOLERATION]), node(taints=[TAINT]), True),
        (spec(), node(taints=[{**TAINT, "effect": "PreferNoSchedule"}]), True),
        (spec(), node(unschedulable=True), False),
        (spec(tolerations=[UNSCHEDULABLE]), node(unschedulable=True), True),
        (spec(requests={"cpu": "1"}), node(), True),
        (spec(requests={"cpu": "1001m"}), node(), False),
        (spec(requests={"example.com/gpu": "1"}), node(), False),
        (spec(), node(allocatable={"pods": "0"}), False),
    ],
)
def test_pod_fits_a_node_that_had_no_other_pods(pod: PodSpec, on: Node, fit: bool) -> None:
    assert fits(pod, on) is fit


def job(**more: Any) -> BroadcastJob:
    template = {"spec": {"containers": [{"name": "main", "image": "a"}]}}
    status = more.pop("status", {})
    return codec.from_plain({"spec": {"template": template, **more}, "status": status}, BroadcastJob)


def pod(
    on: str,
    phase: str = "Running",
    restarts: int = 0,
    first_restarts: int = 0,
    policy: str = "OnFailure",
    **metadata: Any,
) -> Pod:
    statuses = [{"name": "main", "restartCount": restarts, "image": "a", "imageID": "", "ready": True}]
    first = [{**statuses[0], "name": "init", "restartCount": first_restarts}]
    plain = {
        "metadata": {"name": f"p-{on}", **metadata},
        "spec": {"nodeName": on, "restartPolicy": policy, "containers": [{"name": "main", "image": "a"}]},
        "status": {"phase": phase, "initContainerStatuses": first, "containerStatuses": statuses},
    }
    return codec.from_plain(plain, Pod)


def test_pods_fail_by_their_phase_or_by_too_many_restarts() -> None:
    pods = [
        pod("a"),
        pod("b", "Succeeded"),
        pod("c", "Failed"),
        pod("d", restarts=3),
        pod("e", restarts=2),
        pod("f", restarts=9, policy="Never"),
        pod("g", deletionTimestamp="2026-01-01T00:00:00Z"),
        pod("h", restarts=1, first_restarts=2),
    ]
    found = census(job(failurePolicy={"restartLimit": 2}), pods)
    names = [[each.spec.node_name for each in part] for part in (found.active, found.succeeded, found.failed)]
    assert names == [["a", "e", "f"], ["b"], ["c", "d", "h"]]


def test_nodes_without_a_pod_need_one_and_pods_on_unfit_nodes_go() -> None:
    nodes = [node("a"), node("b"), node("c", taints=[TAINT]), node("d", taints=[TAINT])]
    found = placement(job(), nodes, [pod("a"), pod("c")])
    assert (list(found.desired), list(found.missing)) == (["a", "b"], ["b"])
    assert [each.spec.node_name for each in found.unfit] == ["c"]


@pytest.mark.parametrize(
    ("parallelism", "active", "number"), [(None, 0, 4), (2, 0, 2), ("50%", 1, 1), ("30%", 0, 2), (1, 3, -2)]
)
def test_parallelism_is_a_number_or_a_share_of_all_nodes(
    parallelism: int | str | None, active: int, number: int
) -> None:
    owner = job(**({} if parallelism is None else {"parallelism": parallelism}))
    found = placement(owner, [node(f"n{each}") for each in range(4)], [])
    assert number_to_create(owner, found, active) == number


@pytest.mark.parametrize(
    ("policy", "phases", "complete"),
    [
        ("Always", ("Succeeded", "Failed"), True),
        ("Always", ("Succeeded", "Running"), False),
        ("Always", ("Succeeded",), False),
        ("Never", ("Succeeded", "Succeeded"), False),
    ],
)
def test_job_is_complete_when_all_pods_have_ended(
    policy: str, phases: tuple[str, ...], complete: bool
) -> None:
    owner = job(completionPolicy={"type": policy})
    pods = [pod(f"n{number}", phase) for number, phase in enumerate(phases)]
    assert is_complete(owner, placement(owner, [node("n0"), node("n1")], pods)) is complete
    assert not is_complete(owner, placement(owner, [], []))


def test_deadline_counts_from_the_start() -> None:
    policy = {"type": "Always", "activeDeadlineSeconds": 90}
    begun = job(completionPolicy=policy, status={"startTime": "2026-01-01T00:00:00Z"})
    assert seconds_to_deadline(begun, NOW) == 30
    assert seconds_to_deadline(job(completionPolicy=policy), NOW) is None
    never = job(completionPolicy={**policy, "type": "Never"}, status={"startTime": "2026-01-01T00:00:00Z"})
    assert seconds_to_deadline(never, NOW) is None
