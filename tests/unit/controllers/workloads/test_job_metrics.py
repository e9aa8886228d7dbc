"""The metrics of the Job controller: what runs, ends, waits and fails is counted once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from msgspec import structs

from podling.api.batch_v1 import Job
from podling.api.core_v1 import Pod
from podling.controllers.workloads.job import JobController
from podling.controllers.workloads.job_metrics import JobMetrics
from podling.testing import ControlPlane
from tests.support.control_loops import running
from tests.support.workloads import job, job_pod


def samples(families: Iterable[Any]) -> dict[str, float]:
    """Return the samples of the controller's own families that are not zero, without buckets."""
    found = {}
    for family in families:
        for sample in family.samples:
            own = sample.name.startswith("job_controller_") and not sample.name.endswith(("_bucket", "_sum"))
            if own and sample.value:
                labels = ",".join(sample.labels.values())
                found[f"{sample.name.removeprefix('job_controller_')}({labels})"] = sample.value
    return found


async def test_a_job_leaves_its_numbers(cluster: ControlPlane) -> None:
    other = job()
    other = structs.replace(
        other,
        metadata=structs.replace(other.metadata, name="theirs"),
        spec=structs.replace(other.spec, managed_by="example.com/queue"),
    )
    async with running(cluster.client, JobController) as manager:
        await cluster.client.create(other)
        await cluster.client.create(job(completions=1, backoff_limit=3))
        await cluster.advance(seconds=1)
        for phase in ("Failed", "Succeeded"):
            (pod,) = [
                each
                for each in (await cluster.client.list(Pod, "default")).items
                if each.status.phase == "Pending"
            ]
            ended = {"status": {"phase": phase}}
            await cluster.client.patch(Pod, pod.metadata.name or "", ended, "default", subresource="status")
            await cluster.advance(seconds=15)
        held = await cluster.client.get(Job, "sum", "default")
        assert held.status.conditions[-1].type == "Complete"
        found = samples(manager.collect())
    syncs = {name: value for name, value in found.items() if name.startswith("job_sync")}
    assert {name.split("(")[1] for name in syncs} >= {
        "NonIndexed,success,pods_created)",
        "NonIndexed,success,reconciling)",
    }
    assert {name: value for name, value in found.items() if name not in syncs} == {
        "jobs_finished_total(NonIndexed,succeeded,)": 1,
        "jobs_by_external_controller_total(example.com/queue)": 1,
        "job_pods_finished_total(NonIndexed,succeeded)": 1,
        "job_pods_finished_total(NonIndexed,failed)": 1,
        "terminated_pods_tracking_finalizer_total(add)": 2,
        "terminated_pods_tracking_finalizer_total(delete)": 2,
        "job_pods_creation_total(new,succeeded)": 1,
        "job_pods_creation_total(recreate_terminating_or_failed,succeeded)": 1,
    }


# a pod before and after an event, and the event that is counted
# (cases of TestRecordFinishedPodWithTrackingFinalizer)
ENDS: list[tuple[Pod | None, Pod | None, str]] = [
    (None, job_pod("p", "Pending"), ""),
    (job_pod("p", "Running"), job_pod("p", "Failed"), "add"),
    (job_pod("p", "Running"), job_pod("p", "Succeeded"), "add"),
    (job_pod("p", "Succeeded"), job_pod("p", "Succeeded", tracked=False), "delete"),
    (job_pod("p", "Succeeded", tracked=False), None, ""),
    (job_pod("p", "Failed"), None, "delete"),
]


@pytest.mark.parametrize(("old", "new", "event"), ENDS)
def test_pods_that_end_are_counted_until_their_finalizer_is_gone(
    old: Pod | None, new: Pod | None, event: str
) -> None:
    metrics = JobMetrics()
    metrics.record_pod(old, new)
    expected = {f"terminated_pods_tracking_finalizer_total({event})": 1} if event else {}
    assert samples(metrics.families()) == expected
