"""Explanations of AdvancedCronJobs, beside an API server in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from podling.api.batch_v1 import Job
from podling.testing import running
from podling_kruise.advancedcronjob.controller import AdvancedCronJobController
from tests.support.clone_sets import Kruise, kruise_api
from tests.support.cron_jobs import JOB, cron_job
from tests.support.extension_answers import why
from tests.support.sidecar_sets import create

HOUR = 3600.0


@pytest.fixture
async def kruise() -> AsyncIterator[Kruise]:
    async with kruise_api() as found, running(found.plane.client, AdvancedCronJobController):
        yield found


async def test_next_and_last_run_are_named(kruise: Kruise) -> None:
    await create(kruise, cron_job(schedule="0 6 * * *"))
    first = await why(kruise, "acj", "nightly")
    assert first.healthy
    assert first.text.endswith("06:00:00 UTC; it has had no run yet.")
    await kruise.wait(24 * HOUR)
    second = await why(kruise, "acj", "nightly")
    assert second.healthy
    assert "its last run was due at" in second.text


async def test_paused_object_says_how_to_let_it_go_on(kruise: Kruise) -> None:
    await create(kruise, cron_job(paused=True))
    answer = await why(kruise, "advancedcronjob", "nightly")
    assert (answer.reason, answer.evidence[0].name) == ("Paused", "spec.paused")
    assert "kubectl patch acj nightly -n default" in answer.advice


async def test_schedule_that_is_never_due_is_named(kruise: Kruise) -> None:
    await create(kruise, cron_job(schedule="0 0 31 2 *"))
    answer = await why(kruise, "acj", "nightly")
    assert (answer.reason, '"0 0 31 2 *" is never due' in answer.text) == ("InvalidSchedule", True)


async def test_active_run_that_holds_up_the_next_is_named(kruise: Kruise) -> None:
    await create(kruise, cron_job(concurrencyPolicy="Forbid"))
    await kruise.wait(3 * HOUR)
    answer = await why(kruise, "acj", "nightly")
    (job,) = (await kruise.client.list(Job, "default")).items
    assert answer.reason == "JobAlreadyActive"
    assert f"starts no run while Job {job.metadata.name} is active" in answer.text
    assert answer.advice == f"podling why job/{job.metadata.name} -n default"


async def test_job_that_the_api_server_refuses_is_named(kruise: Kruise) -> None:
    always = {"restartPolicy": "Always", "containers": [{"name": "main", "image": "task:1"}]}
    template: dict[str, Any] = {"jobTemplate": {"spec": {"template": {"spec": always}}}}
    await create(kruise, cron_job(template=template))
    await kruise.wait(2 * HOUR)
    answer = await why(kruise, "acj", "nightly")
    assert answer.reason == "FailedCreate"
    assert "Error creating job" in answer.text
    assert "restartPolicy" in answer.text


async def test_newest_run_that_failed_is_named(kruise: Kruise) -> None:
    await create(kruise, cron_job(template=JOB))
    await kruise.wait(HOUR + 1)
    (job,) = (await kruise.client.list(Job, "default")).items
    failure = {"status": "True", "reason": "BackoffLimitExceeded", "message": "Job has reached its limit"}
    status = {
        "startTime": "2026-01-01T01:00:00Z",
        "conditions": [{"type": each, **failure} for each in ("FailureTarget", "Failed")],
    }
    patch = {"status": status}
    await kruise.client.patch(Job, job.metadata.name or "", patch, "default", subresource="status")
    await kruise.wait(1)
    answer = await why(kruise, "acj", "nightly")
    assert (answer.reason, answer.area) == ("RunFailed", "workload")
    assert answer.text.endswith(f"Job {job.metadata.name}, which failed: Job has reached its limit.")
