"""Roll-outs that stand still: deadlines, partitions, replacement by hand."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.apps_v1 import DaemonSet, Deployment, ReplicaSet, StatefulSet
from podling.api.core_v1 import Pod
from podling.cli.evidence import Explanation
from podling.cli.workloads.rollouts import blocked_advice, explain_rollout, with_deadline

NAMES = {"name": "web", "namespace": "shop"}
SPEC: dict[str, Any] = {"selector": {}, "template": {}}
PAST = {
    "type": "Progressing",
    "status": "False",
    "reason": "ProgressDeadlineExceeded",
    "message": "timed out",
}


def deployment(status: dict[str, Any], **spec: Any) -> Deployment:
    return msgspec.convert({"metadata": NAMES, "spec": SPEC | spec, "status": status}, Deployment)


def daemon_set(status: dict[str, Any], **spec: Any) -> DaemonSet:
    numbers = {"currentNumberScheduled": 3, "desiredNumberScheduled": 3, "numberMisscheduled": 0}
    plain = {"metadata": NAMES, "spec": SPEC | spec, "status": numbers | {"numberReady": 3} | status}
    return msgspec.convert(plain, DaemonSet)


def stateful_set(strategy: dict[str, Any], status: dict[str, Any], **spec: Any) -> StatefulSet:
    plain = {
        "metadata": NAMES,
        "spec": SPEC | {"serviceName": "web", "updateStrategy": strategy} | spec,
        "status": {
            "replicas": 3,
            "readyReplicas": 3,
            "availableReplicas": 3,
            "currentRevision": "a",
            "updateRevision": "b",
        }
        | status,
    }
    return msgspec.convert(plain, StatefulSet)


def partitioned(at: int) -> dict[str, Any]:
    return {"type": "RollingUpdate", "rollingUpdate": {"partition": at}}


def test_deployment_past_its_deadline() -> None:
    stuck = deployment(
        {"conditions": [PAST], "updatedReplicas": 1, "availableReplicas": 2}, progressDeadlineSeconds=60
    )
    answer = explain_rollout(stuck, "Deployment web", 3)
    assert answer is not None
    assert answer.text == (
        "Deployment web has made no progress for 60 s: 1 of 3 pods are of its newest template, 2 "
        "are available."
    )
    assert (answer.reason, answer.evidence[0].name) == ("ProgressDeadlineExceeded", "Progressing")
    assert answer.advice.endswith("kubectl rollout undo deployment web -n shop")


@pytest.mark.parametrize(
    "condition",
    [PAST | {"status": "True"}, PAST | {"reason": "NewReplicaSetAvailable"}, PAST | {"type": "Available"}],
)
def test_deployment_that_goes_on(condition: dict[str, str]) -> None:
    moving = deployment({"conditions": [condition]})
    assert explain_rollout(moving, "Deployment web", 3) is None
    answer = Explanation(area="image", reason="ErrImagePull", text="No image.")
    assert with_deadline(moving, answer) == answer


def test_a_passed_deadline_is_added_to_what_its_pod_says() -> None:
    stuck = deployment({"conditions": [PAST]}, progressDeadlineSeconds=60)
    answer = with_deadline(stuck, Explanation(area="image", reason="ErrImagePull", text="No image."))
    assert answer.text == "No image. The roll-out has made no progress for 60 s."
    assert [source.name for source in answer.evidence] == ["Progressing"]


@pytest.mark.parametrize(
    ("partition", "updated", "reached"),
    [(2, 1, True), (2, 0, False), (1, 2, True), (1, 1, False), (5, 0, True), (0, 3, False), (0, 2, False)],
)
def test_stateful_set_at_its_partition(partition: int, updated: int, reached: bool) -> None:
    answer = explain_rollout(
        stateful_set(partitioned(partition), {"updatedReplicas": updated}), "StatefulSet web", 3
    )
    assert (answer is not None and answer.reason == "Partition") == reached


def test_partition_counts_from_the_first_ordinal() -> None:
    later = stateful_set(partitioned(2), {"updatedReplicas": 1}, ordinals={"start": 5})
    answer = explain_rollout(later, "StatefulSet web", 3)
    assert answer is not None
    assert answer.text == (
        "StatefulSet web has reached its partition: 1 of 3 pods are of its newest template, and those below "
        "web-7 keep the earlier one."
    )
    assert "kubectl patch statefulset web -n shop" in answer.advice


def test_partition_of_a_set_with_one_template_holds_nothing() -> None:
    done = stateful_set(partitioned(2), {"updateRevision": "a", "updatedReplicas": 3})
    assert explain_rollout(done, "StatefulSet web", 3) is None


@pytest.mark.parametrize(("updated", "reason"), [(1, "OnDelete"), (3, None)])
def test_pods_that_are_replaced_by_hand(updated: int, reason: str | None) -> None:
    by_hand = {"type": "OnDelete"}
    for obj in (
        stateful_set(by_hand, {"updatedReplicas": updated}),
        daemon_set({"updatedNumberScheduled": updated, "numberAvailable": 3}, updateStrategy=by_hand),
    ):
        answer = explain_rollout(obj, obj.kind, 3)
        assert (answer.reason if answer is not None else None) == reason


@pytest.mark.parametrize(
    ("ready", "available", "seconds", "reason"),
    [(3, 1, 30, "MinReadySeconds"), (3, 3, 30, None), (2, 1, 30, None), (3, 1, 0, None)],
)
def test_pods_that_are_ready_but_not_yet_available(
    ready: int, available: int, seconds: int, reason: str | None
) -> None:
    counted = {"readyReplicas": ready, "availableReplicas": available, "updatedReplicas": 3}
    daemons = {"numberReady": ready, "numberAvailable": available, "updatedNumberScheduled": 3}
    for obj in (
        deployment(counted, minReadySeconds=seconds),
        stateful_set({"type": "RollingUpdate"}, counted, minReadySeconds=seconds),
        daemon_set(daemons, minReadySeconds=seconds),
    ):
        answer = explain_rollout(obj, obj.kind, 3)
        assert (answer.reason if answer is not None else None) == reason


def test_kinds_without_roll_outs() -> None:
    assert explain_rollout(msgspec.convert({"metadata": NAMES}, ReplicaSet), "ReplicaSet web", 1) is None


@pytest.mark.parametrize(
    ("revision", "policy", "blocked"),
    [("a", "OrderedReady", True), ("b", "OrderedReady", False), ("a", "Parallel", False)],
)
def test_pod_of_an_earlier_template_that_is_never_ready_blocks_an_ordered_set(
    revision: str, policy: str, blocked: bool
) -> None:
    obj = stateful_set(partitioned(0), {}, podManagementPolicy=policy)
    labels = {"controller-revision-hash": revision}
    pod = msgspec.convert({"metadata": {"name": "web-0", "namespace": "shop", "labels": labels}}, Pod)
    assert ("kubectl delete pod web-0 -n shop" in blocked_advice(obj, pod)) == blocked
