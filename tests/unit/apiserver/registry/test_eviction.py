"""Evictions: the budgets that allow them, their cost, and the condition of the pod."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import structs

from podling import clock
from podling.api.core_v1 import Binding, Container, ObjectReference, Pod, PodCondition, PodSpec, PodStatus
from podling.api.meta_v1 import Condition, DeleteOptions, LabelSelector, ObjectMeta, Preconditions, Status
from podling.api.policy_v1 import (
    Eviction,
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
)
from podling.apiserver.registry.eviction import Way, ignores_budget, verdict
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane

NOW = datetime(2026, 1, 1, tzinfo=UTC)
READY = PodCondition(type="Ready", status="True")


def a_pod(phase: str = "Running", *, ready: bool = True) -> Pod:
    status = PodStatus(phase=phase, conditions=(READY,) if ready else ())
    return Pod(metadata=ObjectMeta(name="p", namespace="default"), status=status)


def budget(policy: str | None = None, **status: Any) -> PodDisruptionBudget:
    return PodDisruptionBudget(
        metadata=ObjectMeta(name="b", namespace="default", generation=1),
        spec=PodDisruptionBudgetSpec(unhealthy_pod_eviction_policy=policy),
        status=PodDisruptionBudgetStatus(observed_generation=1, **status),
    )


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
def test_pods_that_are_not_running_need_no_budget(phase: str) -> None:
    assert ignores_budget(a_pod(phase))


def test_eviction_decrements_allowed_disruptions() -> None:
    found = verdict(a_pod(), budget(disruptions_allowed=2), NOW)
    assert found.way is Way.SPEND
    assert found.budget is not None
    assert found.budget.status.disruptions_allowed == 1
    assert found.budget.status.disrupted_pods == {"p": NOW}
    assert not found.budget.status.conditions


def test_last_disruption_sets_the_condition() -> None:
    open_ = Condition(type="DisruptionAllowed", status="True", reason="SufficientPods", message="")
    found = verdict(a_pod(), budget(disruptions_allowed=1, conditions=(open_,)), NOW)
    assert found.budget is not None
    (now,) = found.budget.status.conditions
    assert (now.status, now.reason, now.last_transition_time) == ("False", "InsufficientPods", NOW)


@pytest.mark.parametrize(
    ("policy", "healthy", "desired", "way"),
    [
        (None, 2, 2, Way.UNHEALTHY),
        ("IfHealthyBudget", 1, 2, Way.SPEND),
        ("IfHealthyBudget", 0, 0, Way.SPEND),
        ("AlwaysAllow", 0, 2, Way.UNHEALTHY),
    ],
)
def test_eviction_of_pods_that_are_not_ready(
    policy: str | None, healthy: int, desired: int, way: Way
) -> None:
    wanted = budget(policy, disruptions_allowed=1, current_healthy=healthy, desired_healthy=desired)
    assert verdict(a_pod(ready=False), wanted, NOW).way is way


NUMBERS = {"disruptions_allowed": 0, "desired_healthy": 2}


def refusing(reason: str) -> tuple[Condition, ...]:
    return (Condition(type="DisruptionAllowed", status="False", reason=reason, message="why"),)


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        ({**NUMBERS, "current_healthy": 2}, "needs 2 healthy pods and has 2 currently"),
        (
            {**NUMBERS, "current_healthy": 2, "conditions": refusing("SyncFailed")},
            "does not allow evicting pods currently because it failed sync: why",
        ),
        (
            {**NUMBERS, "current_healthy": 2, "conditions": refusing("InsufficientPods")},
            "needs 2 healthy pods and has 2 currently",
        ),
        (
            {**NUMBERS, "current_healthy": 3, "conditions": refusing("Other")},
            "does not allow evicting pods currently (Other): why",
        ),
        ({**NUMBERS, "current_healthy": 3}, "does not allow evicting pods currently"),
    ],
)
def test_exhausted_budget_refuses_the_eviction(status: dict[str, Any], cause: str) -> None:
    with pytest.raises(ApiError) as error:
        verdict(a_pod(), budget(**status), NOW)
    details = error.value.status.details
    assert error.value.code == 429
    assert details is not None
    assert [each.message for each in details.causes] == [f"The disruption budget b {cause}"]


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ({"disruptions_allowed": -1}, "pdb disruptions allowed is negative"),
        (
            {"disruptions_allowed": 1, "disrupted_pods": {f"p-{number}": NOW for number in range(2001)}},
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        ),
    ],
)
def test_inconsistent_budget_refuses_the_eviction(status: dict[str, Any], why: str) -> None:
    with pytest.raises(ApiError) as error:
        verdict(a_pod(), budget(**status), NOW)
    assert error.value.code == 403
    assert str(error.value) == f'poddisruptionbudget.policy "b" is forbidden: {why}'


def test_unobserved_budget_refuses_the_eviction() -> None:
    behind = budget(disruptions_allowed=1)
    changed = structs.replace(behind, metadata=structs.replace(behind.metadata, generation=2))
    with pytest.raises(ApiError) as error:
        verdict(a_pod(), changed, NOW)
    assert (error.value.code, error.value.retry_after) == (429, 10)


async def running(cluster: ControlPlane, name: str) -> None:
    """A ready pod on a node."""
    client = cluster.client
    spec = PodSpec(containers=(Container(name="c", image="i"),))
    metadata = ObjectMeta(name=name, namespace="default", labels={"app": "web"})
    await client.create(Pod(metadata=metadata, spec=spec))
    target = ObjectReference(kind="Node", name="n")
    await client.create_subresource(
        Pod, name, "binding", Binding(metadata=ObjectMeta(name=name), target=target), "default"
    )
    conditions = [{"type": "Ready", "status": "True"}]
    patch = {"status": {"phase": "Running", "conditions": conditions}}
    await client.patch(Pod, name, patch, "default", subresource="status")


async def protect(cluster: ControlPlane, name: str, allowed: int) -> None:
    spec = PodDisruptionBudgetSpec(selector=LabelSelector(match_labels={"app": "web"}), min_available=1)
    metadata = ObjectMeta(name=name, namespace="default")
    made = await cluster.client.create(PodDisruptionBudget(metadata=metadata, spec=spec))
    status = PodDisruptionBudgetStatus(
        observed_generation=made.metadata.generation,
        disruptions_allowed=allowed,
        current_healthy=2,
        desired_healthy=1,
        expected_pods=2,
    )
    await cluster.client.update(structs.replace(made, status=status), subresource="status")


async def evict(cluster: ControlPlane, name: str, **options: Any) -> Status:
    body = Eviction(
        metadata=ObjectMeta(name=name, namespace="default"), delete_options=DeleteOptions(**options)
    )
    answer = await cluster.client.create_subresource(Pod, name, "eviction", body, "default")
    assert isinstance(answer, Status)
    return answer


async def test_budget_allows_one_eviction(cluster: ControlPlane) -> None:
    await protect(cluster, "web", 1)
    for name in ("a", "b"):
        await running(cluster, name)
    assert (await evict(cluster, "a")).status == "Success"
    going = await cluster.client.get(Pod, "a", "default")
    assert going.metadata.deletion_grace_period_seconds == 30
    target = next(each for each in going.status.conditions if each.type == "DisruptionTarget")
    assert (target.status, target.reason, target.message) == (
        "True",
        "EvictionByEvictionAPI",
        "Eviction API: evicting",
    )
    spent = await cluster.client.get(PodDisruptionBudget, "web", "default")
    assert spent.status.disruptions_allowed == 0
    assert list(spent.status.disrupted_pods) == ["a"]
    with pytest.raises(ApiError) as error:
        await evict(cluster, "b")
    assert str(error.value) == "Cannot evict pod as it would violate the pod's disruption budget."


async def test_dry_run_leaves_the_budget_unchanged(cluster: ControlPlane) -> None:
    await protect(cluster, "web", 1)
    await running(cluster, "a")
    await evict(cluster, "a", dry_run=("All",))
    budget_now = await cluster.client.get(PodDisruptionBudget, "web", "default")
    assert budget_now.status.disruptions_allowed == 1
    assert (await cluster.client.get(Pod, "a", "default")).metadata.deletion_timestamp is None


async def test_pod_with_two_budgets_cannot_be_evicted(cluster: ControlPlane) -> None:
    for name in ("one", "two"):
        await protect(cluster, name, 1)
    await running(cluster, "a")
    with pytest.raises(ApiError, match="This pod has more than one PodDisruptionBudget"):
        await evict(cluster, "a")


async def test_eviction_without_a_budget_deletes_with_a_condition(cluster: ControlPlane) -> None:
    await running(cluster, "a")
    await evict(cluster, "a")
    going = await cluster.client.get(Pod, "a", "default")
    assert going.metadata.deletion_grace_period_seconds == 30
    assert [each.reason for each in going.status.conditions if each.type == "DisruptionTarget"] == [
        "EvictionByEvictionAPI"
    ]
    await evict(cluster, "a", grace_period_seconds=0)
    with pytest.raises(ApiError, match='pods "a" not found'):
        await cluster.client.get(Pod, "a", "default")


async def test_uid_precondition_protects_a_recreated_pod(cluster: ControlPlane) -> None:
    await running(cluster, "a")
    begun = clock.monotonic()
    with pytest.raises(ApiError, match=r"the UID in the precondition \(x\) does not match") as error:
        await evict(cluster, "a", preconditions=Preconditions(uid="x"))
    assert (error.value.code, clock.monotonic() - begun) == (409, 0)


async def test_pod_that_needs_no_budget_gets_the_condition_too(cluster: ControlPlane) -> None:
    await running(cluster, "a")
    await cluster.client.patch(Pod, "a", {"metadata": {"finalizers": ["example.org/f"]}}, "default")
    await cluster.client.patch(Pod, "a", {"status": {"phase": "Succeeded"}}, "default", subresource="status")
    await evict(cluster, "a")
    going = await cluster.client.get(Pod, "a", "default")
    assert [each.type for each in going.status.conditions] == ["Ready", "DisruptionTarget"]


async def test_eviction_name_must_match_the_pod(cluster: ControlPlane) -> None:
    await running(cluster, "a")
    for name in ("", "b"):
        body = Eviction(metadata=ObjectMeta(name=name, namespace="default"))
        with pytest.raises(ApiError, match="name in URL does not match name in Eviction object") as error:
            await cluster.client.create_subresource(Pod, "a", "eviction", body, "default")
        assert error.value.code == 400


async def test_an_unsafe_deletion_is_no_eviction(cluster: ControlPlane) -> None:
    await running(cluster, "a")
    with pytest.raises(ApiError) as error:
        await evict(cluster, "a", ignore_store_read_error_with_cluster_breaking_potential=True)
    assert str(error.value) == (
        'Eviction.policy "a" is invalid: deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential: '
        "Invalid value: true: can not be set for pod eviction, try after removing the option"
    )


async def test_plain_deletion_ignores_budgets(cluster: ControlPlane) -> None:
    await protect(cluster, "web", 0)
    await running(cluster, "a")
    with pytest.raises(ApiError, match="Cannot evict pod"):
        await evict(cluster, "a")
    await cluster.client.delete(Pod, "a", "default")
    assert (await cluster.client.get(Pod, "a", "default")).metadata.deletion_timestamp is not None
