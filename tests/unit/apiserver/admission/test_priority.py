"""Priority: the values of priority classes."""

from __future__ import annotations

import pytest

from podling.api.meta_v1 import ObjectMeta
from podling.api.scheduling_v1 import PriorityClass
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane
from tests.support.admitted_pods import create_pod, refusal_of_pod


async def test_priority_comes_from_the_class(full_cluster: ControlPlane) -> None:
    made = PriorityClass(metadata=ObjectMeta(name="high"), value=1000, preemption_policy="Never")
    await full_cluster.client.create(made)
    pod = await create_pod(full_cluster, "spec: {priorityClassName: high}")
    assert (pod.spec.priority, pod.spec.preemption_policy) == (1000, "Never")


async def test_priority_is_zero_without_a_class(full_cluster: ControlPlane) -> None:
    pod = await create_pod(full_cluster)
    assert (pod.spec.priority, pod.spec.preemption_policy) == (0, "PreemptLowerPriority")
    assert pod.spec.priority_class_name == ""


async def test_the_default_class_is_for_pods_that_name_none(full_cluster: ControlPlane) -> None:
    await full_cluster.client.create(
        PriorityClass(metadata=ObjectMeta(name="usual"), value=7, global_default=True)
    )
    pod = await create_pod(full_cluster)
    assert (pod.spec.priority, pod.spec.priority_class_name) == (7, "usual")
    second = PriorityClass(metadata=ObjectMeta(name="other"), value=8, global_default=True)
    with pytest.raises(ApiError, match="PriorityClass usual is already marked as default"):
        await full_cluster.client.create(second)


async def test_an_unknown_class_is_refused(full_cluster: ControlPlane) -> None:
    assert await refusal_of_pod(full_cluster, "spec: {priorityClassName: ghost}") == (
        403,
        'pods "web" is forbidden: no PriorityClass with name ghost was found',
    )


async def test_priority_value_without_its_class_is_refused(full_cluster: ControlPlane) -> None:
    assert await refusal_of_pod(full_cluster, "spec: {priority: 5}") == (
        403,
        'pods "web" is forbidden: the integer value of priority (5) must not be provided in pod spec; '
        "priority admission controller computed 0 from the given PriorityClass name",
    )
