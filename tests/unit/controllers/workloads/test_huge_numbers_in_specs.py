"""Numbers in specs that nothing could ever satisfy: the work they cause is bounded, and a quota stops it."""

from __future__ import annotations

from collections import Counter

import pytest
from msgspec import structs

from podling.api.apps_v1 import Deployment, ReplicaSet, ReplicaSetSpec
from podling.api.batch_v1 import CronJob, CronJobSpec, JobTemplateSpec, SuccessPolicy, SuccessPolicyRule
from podling.api.core_v1 import (
    Event,
    Pod,
    ReplicationController,
    ReplicationControllerSpec,
    ResourceQuota,
    ResourceQuotaSpec,
)
from podling.api.meta_v1 import LabelSelector, ObjectMeta
from podling.api.policy_v1 import PodDisruptionBudget, PodDisruptionBudgetSpec
from podling.client.base import ApiObject
from podling.controllers.registry import controllers
from podling.controllers.workloads.deployment_rules import MAX_REPLICAS
from podling.testing import ControlPlane
from tests.support.control_loops import running
from tests.support.workloads import deployment, job, rolling_deployment, stateful_set, template

INT32_MAX = 2**31 - 1


def replica_set() -> ReplicaSet:
    selector = LabelSelector(match_labels={"app": "web"})
    spec = ReplicaSetSpec(replicas=INT32_MAX, selector=selector, template=template("web:1", app="web"))
    return ReplicaSet(metadata=ObjectMeta(name="web", namespace="default"), spec=spec)


def replication_controller() -> ReplicationController:
    spec = ReplicationControllerSpec(
        replicas=INT32_MAX, selector={"app": "web"}, template=template("web:1", app="web")
    )
    return ReplicationController(metadata=ObjectMeta(name="web", namespace="default"), spec=spec)


def cron_job() -> CronJob:
    of = job(parallelism=INT32_MAX, completions=INT32_MAX).spec
    of = structs.replace(of, manual_selector=None, selector=None)
    spec = CronJobSpec(
        schedule="* * * * *", concurrency_policy="Forbid", job_template=JobTemplateSpec(spec=of)
    )
    return CronJob(metadata=ObjectMeta(name="sums", namespace="default"), spec=spec)


HUGE: dict[str, ApiObject] = {
    "Deployment": deployment(INT32_MAX),
    "Deployment with a surge": deployment(INT32_MAX, strategy=rolling_deployment(INT32_MAX, "100%")),
    "ReplicaSet": replica_set(),
    "ReplicationController": replication_controller(),
    "parallel StatefulSet": stateful_set(INT32_MAX, pod_management_policy="Parallel"),
    "Job": job(parallelism=INT32_MAX, completions=INT32_MAX),
    "Job without completions": job(parallelism=INT32_MAX, completions=None),
    "indexed Job": job(
        parallelism=100_000, completions=100_000, completion_mode="Indexed", backoff_limit=INT32_MAX
    ),
    "indexed Job with a success policy": job(
        parallelism=100_000,
        completions=INT32_MAX,
        completion_mode="Indexed",
        backoff_limit=INT32_MAX,
        success_policy=SuccessPolicy(rules=(SuccessPolicyRule(succeeded_indexes=f"0-{INT32_MAX - 1}"),)),
    ),
    "CronJob": cron_job(),
}


@pytest.mark.parametrize("kind", HUGE)
async def test_quota_stops_controllers_that_want_too_many_pods(cluster: ControlPlane, kind: str) -> None:
    """Each run ends at the first refusal, and the next one waits for the back-off: in ten minutes there are
    about twenty of them, each with a batch that begins with one pod."""
    await cluster.client.create(
        ResourceQuota(
            metadata=ObjectMeta(name="three", namespace="default"), spec=ResourceQuotaSpec(hard={"pods": "3"})
        )
    )
    writes: Counter[str] = Counter()
    async with running(cluster.client, *controllers()) as manager:
        await cluster.client.create(HUGE[kind])
        await cluster.advance(seconds=600)
        assert len((await cluster.client.list(Pod, "default")).items) == 3
        failures = sum(counters.failures for counters in manager.counters.values())
    assert failures < 60, "what is refused is not tried again and again without a wait"
    for each in (await cluster.client.list(Event, "default")).items:
        writes[each.reason or ""] += each.count or 1
    assert writes["FailedCreate"] < 120, writes


async def limit_pods(cluster: ControlPlane, number: int) -> None:
    spec = ResourceQuotaSpec(hard={"pods": str(number)})
    await cluster.client.create(
        ResourceQuota(metadata=ObjectMeta(name="few", namespace="default"), spec=spec)
    )


async def test_unavailable_replicas_of_two_huge_revisions_fit_into_32_bits(cluster: ControlPlane) -> None:
    """Clients in Go refuse a whole list for one number beyond its type."""
    client = cluster.client
    await limit_pods(cluster, 3)
    async with running(client, *controllers()):
        await client.create(deployment(INT32_MAX, strategy=rolling_deployment("100%", "0%")))
        await cluster.advance(seconds=10)
        changed = {"metadata": {"annotations": {"changed": "yes"}}}
        await client.patch(Deployment, "web", {"spec": {"template": changed}}, "default")
        await cluster.advance(seconds=60)
    held = await client.get(Deployment, "web", "default")
    assert held.status.unavailable_replicas == INT32_MAX
    sets = (await client.list(ReplicaSet, "default")).items
    assert [each.spec.replicas for each in sets] == [INT32_MAX] * 2
    assert {each.metadata.annotations[MAX_REPLICAS] for each in sets} == {str(INT32_MAX)}


async def test_budget_of_two_huge_replica_sets_fits_into_32_bits(cluster: ControlPlane) -> None:
    client = cluster.client
    await limit_pods(cluster, 4)
    selector = LabelSelector(match_labels={"app": "kept"})
    async with running(client, *controllers()):
        for number in ("1", "2"):
            labels = {"app": "kept", "set": number}
            spec = ReplicaSetSpec(
                replicas=2,
                selector=LabelSelector(match_labels=labels),
                template=template("web:1", "Always", **labels),
            )
            metadata = ObjectMeta(name=f"kept-{number}", namespace="default")
            await client.create(ReplicaSet(metadata=metadata, spec=spec))
        await cluster.advance(seconds=5)
        for number in ("1", "2"):
            await client.patch(ReplicaSet, f"kept-{number}", {"spec": {"replicas": INT32_MAX}}, "default")
        budget = PodDisruptionBudgetSpec(max_unavailable="0%", selector=selector)
        metadata = ObjectMeta(name="all", namespace="default")
        await client.create(PodDisruptionBudget(metadata=metadata, spec=budget))
        await cluster.advance(seconds=60)
    stored = await client.get(PodDisruptionBudget, "all", "default")
    assert (stored.status.expected_pods, stored.status.desired_healthy) == (INT32_MAX, INT32_MAX)


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "parallel StatefulSet", "Job"])
async def test_controllers_survive_a_restart_with_huge_numbers_stored(
    cluster: ControlPlane, kind: str
) -> None:
    """The next process finds the numbers in the store."""
    quota = ResourceQuotaSpec(hard={"pods": "3"})
    await cluster.client.create(
        ResourceQuota(metadata=ObjectMeta(name="three", namespace="default"), spec=quota)
    )
    await cluster.client.create(HUGE[kind])
    for _ in range(2):
        async with running(cluster.client, *controllers()):
            await cluster.advance(seconds=5)
    assert len((await cluster.client.list(Pod, "default")).items) == 3
