"""Spans of time that no calendar holds, in every field that takes 64 bits: nothing fails because of them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import structs, to_builtins

from podling.api.batch_v1 import CronJob, CronJobSpec, Job, JobTemplateSpec
from podling.api.core_v1 import Namespace, Node, Pod, ResourceQuota, ResourceQuotaSpec, Toleration
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.registry import controllers
from podling.machinery.moments import LATEST
from podling.testing import ControlPlane
from tests.support.control_loops import add_node, pod, running, set_phase
from tests.support.workloads import deployment, job, stateful_set

INT32_MAX, INT64_MAX = 2**31 - 1, 2**63 - 1
SECONDS = (10**12, 10**14, 1 << 62, INT64_MAX)


@pytest.fixture(autouse=True)
def no_errors_are_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """A reconciler's failure is logged with its traceback, and tried again."""
    yield
    failed = [each for each in caplog.get_records("call") if each.levelno >= logging.ERROR]
    assert not failed, [each.getMessage() for each in failed]


@pytest.mark.parametrize("seconds", SECONDS)
async def test_pod_with_endless_grace_is_deleted_and_frees_its_quota(
    cluster: ControlPlane, seconds: int
) -> None:
    client = cluster.client
    quota = ResourceQuotaSpec(hard={"pods": "2"})
    await client.create(ResourceQuota(metadata=ObjectMeta(name="q", namespace="default"), spec=quota))
    async with running(client, *controllers()):
        await add_node(client, "n1")
        await cluster.advance(seconds=1)
        await client.create(pod("patient", node="n1", termination_grace_period_seconds=seconds))
        await client.delete(Pod, "patient", "default")
        going = await client.get(Pod, "patient", "default")
        assert going.metadata.deletion_timestamp == LATEST
        assert going.metadata.deletion_grace_period_seconds == seconds
        await cluster.advance(seconds=30)
        assert (await client.get(ResourceQuota, "q", "default")).status.used == {"pods": "1"}
        await client.create(pod("other", node="n1"))
        await client.delete(Pod, "patient", "default", grace_seconds=30)
        nearer = (await client.get(Pod, "patient", "default")).metadata
        assert nearer.deletion_grace_period_seconds == 30
        assert nearer.deletion_timestamp is not None
        assert nearer.deletion_timestamp < LATEST
        await client.delete(Pod, "patient", "default", grace_seconds=0)
        await cluster.advance(seconds=30)
        assert (await client.get(ResourceQuota, "q", "default")).status.used == {"pods": "1"}


async def test_namespace_ends_with_pods_of_endless_grace(cluster: ControlPlane) -> None:
    client = cluster.client
    async with running(client, *controllers()):
        await client.create(Namespace(metadata=ObjectMeta(name="team")))
        await cluster.advance(seconds=1)
        await client.create(pod("patient", "team", termination_grace_period_seconds=INT64_MAX))
        await client.delete(Namespace, "team")
        await cluster.advance(seconds=60)
        assert "team" not in {each.metadata.name for each in (await client.list(Namespace)).items}


@pytest.mark.parametrize("seconds", SECONDS)
async def test_pod_may_tolerate_taint_for_ages(cluster: ControlPlane, seconds: int) -> None:
    client = cluster.client
    tolerated = Toleration(key="k", operator="Exists", effect="NoExecute", toleration_seconds=seconds)
    async with running(client, *controllers()):
        await add_node(client, "n1")
        await client.create(pod("stays", node="n1", tolerations=(tolerated,)))
        await client.create(
            pod("goes", node="n1", tolerations=(structs.replace(tolerated, toleration_seconds=-seconds),))
        )
        await client.patch(Node, "n1", {"spec": {"taints": [{"key": "k", "effect": "NoExecute"}]}})
        await cluster.advance(seconds=5)
        pods = {each.metadata.name: each for each in (await client.list(Pod, "default")).items}
        assert pods["stays"].metadata.deletion_timestamp is None
        assert "goes" not in pods or pods["goes"].metadata.deletion_timestamp is not None


@pytest.mark.parametrize("seconds", SECONDS)
async def test_cron_job_with_endless_deadline_runs(cluster: ControlPlane, seconds: int) -> None:
    client = cluster.client
    spec = structs.replace(job().spec, manual_selector=None, selector=None)
    wanted = CronJobSpec(
        schedule="* * * * *",
        starting_deadline_seconds=seconds,
        successful_jobs_history_limit=INT32_MAX,
        failed_jobs_history_limit=INT32_MAX,
        job_template=JobTemplateSpec(spec=spec),
    )
    async with running(client, *controllers()):
        await client.create(CronJob(metadata=ObjectMeta(name="sums", namespace="default"), spec=wanted))
        await cluster.advance(seconds=150)
        assert (await client.list(Job, "default")).items


@pytest.mark.parametrize("seconds", SECONDS)
async def test_job_with_endless_deadline_ends(cluster: ControlPlane, seconds: int) -> None:
    client = cluster.client
    wanted = job(
        parallelism=1, completions=1, active_deadline_seconds=seconds, ttl_seconds_after_finished=INT32_MAX
    )
    async with running(client, *controllers()):
        await client.create(wanted)
        await cluster.advance(seconds=5)
        (made,) = (await client.list(Pod, "default")).items
        await client.patch(
            Pod, made.metadata.name or "", {"spec": {"terminationGracePeriodSeconds": None}}, "default"
        )
        await set_phase(client, made.metadata.name or "", "Succeeded")
        await cluster.advance(seconds=60)
        (found,) = (await client.list(Job, "default")).items
        assert [each.type for each in found.status.conditions if each.status == "True"][-1] == "Complete"


@pytest.mark.parametrize("seconds", SECONDS)
async def test_job_counts_pods_that_are_deleted_with_endless_grace(
    cluster: ControlPlane, seconds: int
) -> None:
    client = cluster.client
    async with running(client, *controllers()):
        await add_node(client, "n1")
        template = job(parallelism=1, completions=1)
        pods = template.spec.template
        patient = structs.replace(
            pods,
            spec=structs.replace(pods.spec, termination_grace_period_seconds=seconds, node_name="n1"),
        )
        await client.create(structs.replace(template, spec=structs.replace(template.spec, template=patient)))
        await cluster.advance(seconds=5)
        (made,) = (await client.list(Pod, "default")).items
        await client.delete(Pod, made.metadata.name or "", "default")
        await set_phase(client, made.metadata.name or "", "Failed")
        await cluster.advance(seconds=60)
        (found,) = (await client.list(Job, "default")).items
        assert found.status.failed == 1


LONGEST: dict[str, Any] = {
    "Deployment": deployment(
        min_ready_seconds=INT32_MAX - 1, progress_deadline_seconds=INT32_MAX, revision_history_limit=INT32_MAX
    ),
    "StatefulSet": stateful_set(min_ready_seconds=INT32_MAX, revision_history_limit=INT32_MAX),
}


@pytest.mark.parametrize("kind", LONGEST)
async def test_roll_out_waits_for_longest_spans_of_32_bits(cluster: ControlPlane, kind: str) -> None:
    client = cluster.client
    async with running(client, *controllers()):
        await client.create(LONGEST[kind])
        await cluster.advance(seconds=5)
        for each in (await client.list(Pod, "default")).items:
            await set_phase(client, each.metadata.name or "", "Running", ready=True)
        await cluster.advance(seconds=60)
        found = await client.get(type(LONGEST[kind]), LONGEST[kind].metadata.name, "default")
        assert to_builtins(found.status).get("availableReplicas", 0) == 0
