"""The numbers and conditions that a deployment's status gets from its replica sets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from podling.api.apps_v1 import Deployment, ReplicaSet, ReplicaSetCondition, ReplicaSetSpec, ReplicaSetStatus
from podling.api.core_v1 import ResourceQuota, ResourceQuotaSpec
from podling.api.meta_v1 import LabelSelector, ObjectMeta
from podling.controllers.workloads import deployment_rules as rules
from podling.controllers.workloads.deployment import DeploymentController
from podling.controllers.workloads.deployment_status import counted, rollout_status
from podling.controllers.workloads.replicaset import ReplicaSetController
from podling.machinery.conditions import find
from podling.testing import ControlPlane
from tests.support.control_loops import make_ready, running
from tests.support.workloads import deployment, template

NOW = datetime(2026, 1, 1, tzinfo=UTC)
EARLIER = NOW - timedelta(minutes=5)


def replica_set(
    wanted: int, *, there: int = 0, available: int = 0, terminating: int | None = 0
) -> ReplicaSet:
    return ReplicaSet(
        metadata=ObjectMeta(name="web-1", creation_timestamp=EARLIER, annotations={}),
        spec=ReplicaSetSpec(
            replicas=wanted,
            selector=LabelSelector(match_labels={"app": "web"}),
            template=template("web:1", app="web"),
        ),
        status=ReplicaSetStatus(
            replicas=there, available_replicas=available, terminating_replicas=terminating
        ),
    )


UNAVAILABLE = [
    ([replica_set(4, there=4, available=4)], 0),
    ([replica_set(4, there=0)], 4),
    ([replica_set(4, there=4, available=1)], 3),
    ([replica_set(3, there=3, available=3), replica_set(2, there=0)], 2),
    ([replica_set(1, there=3, available=3)], 0),
    ([], 0),
]


@pytest.mark.parametrize(("sets", "unavailable"), UNAVAILABLE)
def test_pods_that_cannot_be_created_are_unavailable(sets: list[ReplicaSet], unavailable: int) -> None:
    assert counted(deployment(), None, sets, NOW).unavailable_replicas == unavailable


def test_terminating_replicas_are_unknown_while_one_replica_set_does_not_know() -> None:
    known, unknown = replica_set(1, terminating=2), replica_set(1, terminating=None)
    assert counted(deployment(), None, [known, known], NOW).terminating_replicas == 4
    assert counted(deployment(), None, [known, unknown], NOW).terminating_replicas is None
    assert counted(deployment(), None, [], NOW).terminating_replicas == 0


def test_replica_failure_keeps_the_time_of_the_replica_set() -> None:
    failed = ReplicaSetCondition(
        type="ReplicaFailure",
        status="True",
        reason="FailedCreate",
        message="no",
        last_transition_time=EARLIER,
    )
    broken = replica_set(4)
    broken = structs.replace(broken, status=structs.replace(broken.status, conditions=(failed,)))
    found = find(rollout_status(deployment(), broken, [broken], NOW).conditions, "ReplicaFailure")
    assert found is not None
    assert (found.last_update_time, found.last_transition_time) == (EARLIER, EARLIER)


@pytest.mark.parametrize("text", ["9" * 5000, "²", "-1", "2147483648", ""])
def test_annotations_that_are_no_numbers_are_ignored(text: str) -> None:
    names = (rules.REVISION, rules.DESIRED_REPLICAS, rules.MAX_REPLICAS)
    odd = replica_set(4)
    odd = structs.replace(odd, metadata=structs.replace(odd.metadata, annotations=dict.fromkeys(names, text)))
    wanted = deployment()
    assert rules.annotated(odd, rules.DESIRED_REPLICAS) is None
    assert not rules.is_scaling(wanted, [odd])
    assert rules.revision(odd) in (0, 2147483648)
    assert rules.revised_annotations(wanted, odd.metadata.annotations, 3)[rules.REVISION] in (
        "3",
        "2147483648",
    )


async def test_pods_that_a_quota_refuses_are_unavailable(cluster: ControlPlane) -> None:
    quota = ResourceQuota(
        metadata=ObjectMeta(name="none", namespace="default"), spec=ResourceQuotaSpec(hard={"pods": "1"})
    )
    await cluster.client.create(quota)
    async with running(cluster.client, DeploymentController, ReplicaSetController):
        await cluster.client.create(deployment(4))
        await cluster.advance(seconds=5)
        await make_ready(cluster.client)
        await cluster.advance(seconds=5)
        status = (await cluster.client.get(Deployment, "web", "default")).status
        assert (status.replicas, status.available_replicas, status.unavailable_replicas) == (1, 1, 3)
        failure = find(status.conditions, "ReplicaFailure")
        assert failure is not None
        assert failure.reason == "FailedCreate"
