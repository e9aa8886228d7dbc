"""Counting many pods that end at once: in steps, and never twice."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.batch_v1 import Job
from podling.api.core_v1 import Pod
from podling.controllers.workloads.job import JobController
from podling.controllers.workloads.job_accounting import UNCOUNTED_MAX
from podling.testing import ControlPlane
from tests.support.control_loops import running
from tests.support.workloads import job

COUNT = 2 * UNCOUNTED_MAX + 200


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "failing"), [("NonIndexed", 0), ("Indexed", COUNT // 2), ("Indexed", 0)])
async def test_pods_that_end_at_once_are_counted_in_steps(
    cluster: ControlPlane, mode: str, failing: int
) -> None:
    wanted = job(parallelism=COUNT, completions=COUNT, completion_mode=mode, backoff_limit=failing)
    await cluster.client.create(wanted)
    async with running(cluster.client, JobController):
        await cluster.advance(seconds=60)
    made = (await cluster.client.list(Pod, "default")).items
    assert len(made) == COUNT
    for number, each in enumerate(made):
        ended: dict[str, Any] = {"status": {"phase": "Failed" if number < failing else "Succeeded"}}
        await cluster.client.patch(Pod, each.metadata.name or "", ended, "default", subresource="status")
    watch = cluster.client.watch(Job, "default", resource_version=str(cluster.store.revision))
    async with running(cluster.client, JobController):
        await cluster.advance(seconds=5)
        held = await cluster.client.get(Job, "sum", "default")
        assert (held.status.succeeded, held.status.failed) == (COUNT - failing, failing)
        pods = (await cluster.client.list(Pod, "default")).items
        assert len(pods) == COUNT + failing, "no pod is created for one that is counted later"
        if not failing:
            assert [each.type for each in held.status.conditions] == ["SuccessCriteriaMet", "Complete"]
    biggest = 0
    async for event in watch:
        uncounted = event.object.status.uncounted_terminated_pods
        if uncounted is not None:
            biggest = max(biggest, len(uncounted.succeeded) + len(uncounted.failed))
        if event.object.metadata.resource_version == held.metadata.resource_version:
            break
    assert biggest <= UNCOUNTED_MAX
    assert biggest == UNCOUNTED_MAX or mode == "Indexed"
