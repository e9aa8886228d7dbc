"""AdvancedCronJobs beside an API server in memory, in virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from podling import clock
from podling.api.batch_v1 import Job
from podling.machinery.encoding import codec
from podling.testing import running
from podling_kruise.advancedcronjob.controller import AdvancedCronJobController
from podling_kruise.advancedcronjob.job_plan import SCHEDULED_AT
from podling_kruise.advancedcronjob.types import AdvancedCronJob, AdvancedCronJobStatus
from podling_kruise.broadcastjob.types import BroadcastJob
from podling_kruise.imagelistpull.types import ImageListPullJob
from tests.support.clone_sets import Kruise, kruise_api
from tests.support.control_loops import told
from tests.support.cron_jobs import BROADCAST, JOB, PODS, cron_job, pulls
from tests.support.sidecar_sets import create

HOUR = 3600.0


@asynccontextmanager
async def cron_cluster() -> AsyncIterator[Kruise]:
    """Run the controller, and nothing that runs jobs: tests end them."""
    async with kruise_api() as kruise, running(kruise.plane.client, AdvancedCronJobController):
        yield kruise


@pytest.fixture
async def kruise() -> AsyncIterator[Kruise]:
    async with cron_cluster() as found:
        yield found


async def to_next_hour(kruise: Kruise, seconds: float = 1) -> datetime:
    """Wait until shortly after the next full hour; return that hour."""
    now = clock.now()
    hour = now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    await kruise.wait((hour - now) / timedelta(seconds=1) + seconds)
    return hour.astimezone(UTC)


async def jobs(kruise: Kruise, kind: type[Any] = Job) -> list[Any]:
    """Return the jobs in the order of their runs."""
    found = (await kruise.client.list(kind, "default")).items
    return sorted(found, key=lambda job: job.metadata.annotations[SCHEDULED_AT])


async def end(kruise: Kruise, job: Any, kind: str = "Complete") -> None:
    condition = {"type": kind, "status": "True"}
    now = clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    status: dict[str, Any] = {"conditions": [condition], "startTime": now}
    if isinstance(job, Job):
        first = {"type": "SuccessCriteriaMet" if kind == "Complete" else "FailureTarget", "status": "True"}
        status["conditions"] = [first, condition]
        if kind == "Complete":
            status["completionTime"] = now
    else:
        counts = dict.fromkeys(("active", "desired", "failed", "succeeded"), 0)
        status |= {"phase": "completed", **counts}
    patch = {"status": status}
    await kruise.client.patch(type(job), job.metadata.name, patch, "default", subresource="status")
    await kruise.wait(1)


async def status_of(kruise: Kruise) -> AdvancedCronJobStatus:
    return (await kruise.client.get(AdvancedCronJob, "nightly", "default")).status


async def reasons(kruise: Kruise) -> list[str]:
    return [text.split()[1] for text in await told(kruise.plane.client) if " nightly: " in text]


@pytest.mark.parametrize(("template", "kind"), [(JOB, Job), (BROADCAST, BroadcastJob)])
async def test_job_of_each_kind_is_started_when_it_is_due(
    kruise: Kruise, template: dict[str, Any], kind: type[Any]
) -> None:
    await create(kruise, cron_job(template=template))
    await kruise.wait(1)
    assert await jobs(kruise, kind) == []
    assert (await status_of(kruise)).type == kind.__name__
    hour = await to_next_hour(kruise)
    (job,) = await jobs(kruise, kind)
    assert job.metadata.name == f"nightly-{int(hour.timestamp())}"
    assert job.metadata.labels["app"] == "nightly"
    assert job.metadata.annotations[SCHEDULED_AT] == hour.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert [each.kind for each in job.metadata.owner_references if each.controller] == ["AdvancedCronJob"]
    status = await status_of(kruise)
    assert (status.last_schedule_time, [each.name for each in status.active]) == (hour, [job.metadata.name])
    assert (status.active[0].kind, status.active[0].uid) == (kind.__name__, job.metadata.uid)
    await end(kruise, job)
    assert (await status_of(kruise)).active == ()
    assert await reasons(kruise) == ["SuccessfulCreate"]


async def test_runs_follow_the_time_zone(kruise: Kruise) -> None:
    await create(kruise, cron_job(schedule="30 2 * * *", timeZone="Asia/Kolkata"))
    await kruise.wait(24 * HOUR)
    (job,) = await jobs(kruise)
    assert job.metadata.annotations[SCHEDULED_AT].endswith("T21:00:00Z")


async def test_zone_in_the_schedule_is_honoured(kruise: Kruise) -> None:
    await create(kruise, cron_job(schedule="CRON_TZ=Asia/Kolkata 30 2 * * *"))
    await kruise.wait(24 * HOUR)
    (job,) = await jobs(kruise)
    assert job.metadata.annotations[SCHEDULED_AT].endswith("T21:00:00Z")


@pytest.mark.parametrize(("policy", "left"), [("Allow", 2), ("Forbid", 1), ("Replace", 1)])
async def test_policy_decides_about_a_run_while_another_is_active(
    kruise: Kruise, policy: str, left: int
) -> None:
    await create(kruise, cron_job(concurrencyPolicy=policy))
    await to_next_hour(kruise)
    (first,) = await jobs(kruise)
    second = await to_next_hour(kruise)
    found = await jobs(kruise)
    assert len(found) == left
    assert (found[0].metadata.uid == first.metadata.uid) is (policy != "Replace")
    status = await status_of(kruise)
    assert [each.name for each in status.active] == [job.metadata.name for job in found]
    assert (status.last_schedule_time == second) is (policy != "Forbid")
    assert ("JobAlreadyActive" in await reasons(kruise)) is (policy == "Forbid")


async def test_forbidden_run_begins_when_the_earlier_one_ends(kruise: Kruise) -> None:
    await create(kruise, cron_job(concurrencyPolicy="Forbid"))
    await to_next_hour(kruise)
    (first,) = await jobs(kruise)
    await to_next_hour(kruise)
    await end(kruise, first)
    assert len(await jobs(kruise)) == 2


async def test_run_that_would_begin_too_late_is_left_out(kruise: Kruise) -> None:
    await create(kruise, cron_job(concurrencyPolicy="Forbid", startingDeadlineSeconds=60))
    await to_next_hour(kruise)
    (first,) = await jobs(kruise)
    await to_next_hour(kruise, 120)
    await end(kruise, first)
    assert len(await jobs(kruise)) == 1
    await to_next_hour(kruise)
    assert len(await jobs(kruise)) == 2


async def test_paused_object_starts_nothing_until_it_goes_on(kruise: Kruise) -> None:
    await create(kruise, cron_job(paused=True))
    await kruise.wait(3 * HOUR)
    assert await jobs(kruise) == []
    await kruise.client.patch(AdvancedCronJob, "nightly", {"spec": {"paused": False}}, "default")
    await kruise.wait(1)
    assert len(await jobs(kruise)) == 1, "of several that were missed, the last is started"


async def test_more_than_a_hundred_missed_runs_are_reported_and_the_last_is_started(kruise: Kruise) -> None:
    await create(kruise, cron_job(schedule="* * * * *", paused=True))
    await kruise.wait(2 * HOUR)
    await kruise.client.patch(AdvancedCronJob, "nightly", {"spec": {"paused": False}}, "default")
    await kruise.wait(1)
    assert len(await jobs(kruise)) == 1
    assert "TooManyMissedTimes" in await reasons(kruise)


async def test_finished_jobs_beyond_the_history_are_deleted(kruise: Kruise) -> None:
    await create(kruise, cron_job(successfulJobsHistoryLimit=2, failedJobsHistoryLimit=1))
    ends = ["Complete", "Failed", "Complete", "Complete", "Failed"]
    for kind in ends:
        await to_next_hour(kruise)
        await end(kruise, (await jobs(kruise))[-1], kind)
    await kruise.wait(1)
    left = [job.status.conditions[-1].type for job in await jobs(kruise)]
    assert left == ["Complete", "Complete", "Failed"]
    assert (await reasons(kruise)).count("SuccessfulDelete") == 2


async def test_run_is_not_started_again_when_its_job_is_not_kept(kruise: Kruise) -> None:
    await create(kruise, cron_job(successfulJobsHistoryLimit=0))
    hour = await to_next_hour(kruise)
    await end(kruise, (await jobs(kruise))[0])
    assert await jobs(kruise) == []
    await kruise.client.patch(AdvancedCronJob, "nightly", {"spec": {"failedJobsHistoryLimit": 2}}, "default")
    await kruise.wait(60)
    assert await jobs(kruise) == []
    assert (await status_of(kruise)).last_schedule_time == hour


async def test_job_of_another_with_the_name_of_a_run_is_left_alone(kruise: Kruise) -> None:
    await create(kruise, cron_job())
    now = clock.now().replace(minute=0, second=0, microsecond=0)
    name = f"nightly-{int((now + timedelta(hours=1)).timestamp())}"
    plain = {"metadata": {"name": name, "namespace": "default"}, "spec": {"template": PODS}}
    await kruise.client.create(codec.from_plain(plain, Job))
    await to_next_hour(kruise)
    (left,) = (await kruise.client.list(Job, "default")).items
    assert left.metadata.owner_references == ()
    assert (await status_of(kruise)).active == ()
    assert await reasons(kruise) == []


async def test_restarted_controller_starts_no_run_twice() -> None:
    async with kruise_api() as kruise:
        async with running(kruise.plane.client, AdvancedCronJobController):
            await create(kruise, cron_job())
            await to_next_hour(kruise)
        async with running(kruise.plane.client, AdvancedCronJobController):
            await kruise.wait(60)
            assert len(await jobs(kruise)) == 1
            await to_next_hour(kruise)
            assert len(await jobs(kruise)) == 2


async def test_job_of_another_owner_keeps_its_name(kruise: Kruise) -> None:
    await create(kruise, cron_job())
    now = clock.now()
    hour = now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    other = {
        "apiVersion": "apps.kruise.io/v1beta1",
        "kind": "BroadcastJob",
        "metadata": {"name": f"nightly-{int(hour.timestamp())}", "namespace": "default"},
        "spec": BROADCAST["broadcastJobTemplate"]["spec"],
    }
    await create(kruise, other)
    await kruise.client.patch(AdvancedCronJob, "nightly", {"spec": {"paused": True}}, "default")
    template = cron_job(template=BROADCAST)
    template["metadata"]["name"] = "other"
    await create(kruise, template)
    await to_next_hour(kruise)
    names = {job.metadata.name for job in (await kruise.client.list(BroadcastJob, "default")).items}
    assert names == {other["metadata"]["name"], f"other-{int(hour.timestamp())}"}


async def end_pulls(kruise: Kruise, job: Any, succeeded: int) -> None:
    now = clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    status = {"startTime": now, "completionTime": now, "desired": 2, "completed": 2, "succeeded": succeeded}
    patch = {"status": {**status, "active": 0}}
    await kruise.client.patch(ImageListPullJob, job.metadata.name, patch, "default", subresource="status")
    await kruise.wait(1)


async def test_images_are_pulled_by_schedule(kruise: Kruise) -> None:
    history: dict[str, Any] = {"successfulJobsHistoryLimit": 1, "failedJobsHistoryLimit": 1}
    await create(kruise, cron_job(template=pulls(), **history))
    hour = await to_next_hour(kruise)
    (first,) = await jobs(kruise, ImageListPullJob)
    owner = await kruise.client.get(AdvancedCronJob, "nightly", "default")
    assert first.metadata.name == f"nightly-{int(hour.timestamp())}"
    assert first.spec.images == ("web:1", "log:1")
    assert (owner.status.type, owner.status.active[0].kind) == ("ImageListPullJob", "ImageListPullJob")
    await end_pulls(kruise, first, succeeded=2)
    await to_next_hour(kruise)
    await end_pulls(kruise, (await jobs(kruise, ImageListPullJob))[-1], succeeded=1)
    await to_next_hour(kruise)
    await end_pulls(kruise, (await jobs(kruise, ImageListPullJob))[-1], succeeded=2)
    found = await jobs(kruise, ImageListPullJob)
    assert [each.status.conditions[0].type for each in found] == ["Failed", "Complete"]


async def test_pulls_that_are_under_way_are_replaced(kruise: Kruise) -> None:
    await create(kruise, cron_job(template=pulls()))
    await to_next_hour(kruise)
    (first,) = await jobs(kruise, ImageListPullJob)
    await to_next_hour(kruise)
    (second,) = await jobs(kruise, ImageListPullJob)
    assert first.metadata.uid != second.metadata.uid
