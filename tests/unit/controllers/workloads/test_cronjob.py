"""Cron jobs start their jobs on time, once, and clear up after them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec import structs

from podling import clock
from podling.api.batch_v1 import CronJob, CronJobSpec, Job, JobSpec, JobTemplateSpec
from podling.api.core_v1 import Event, PodSpec, PodTemplateSpec, ResourceQuota, ResourceQuotaSpec
from podling.api.meta_v1 import ObjectMeta, OwnerReference
from podling.client.local import LocalClient
from podling.controllers.controller_manager import ControllerManager
from podling.controllers.workloads.cronjob import CronJobController
from podling.machinery.encoding import codec
from podling.machinery.errors import service_unavailable
from podling.machinery.scheme import resource_of
from podling.sim.connection import Connection, RequestFault
from podling.sim.loop import EPOCH
from podling.testing import ControlPlane
from tests.support.control_loops import pod, running, told


def cron_job(schedule: str = "*/10 * * * *", **spec: Any) -> CronJob:
    spec.setdefault("concurrency_policy", "Allow")
    spec.setdefault("successful_jobs_history_limit", 3)
    spec.setdefault("failed_jobs_history_limit", 1)
    template = PodTemplateSpec(spec=PodSpec(containers=pod("x").spec.containers, restart_policy="Never"))
    wanted = JobTemplateSpec(metadata=ObjectMeta(labels={"from": "cron"}), spec=JobSpec(template=template))
    return CronJob(
        metadata=ObjectMeta(name="report", namespace="default"),
        spec=CronJobSpec(schedule=schedule, job_template=wanted, **spec),
    )


@pytest.fixture
async def manager(cluster: ControlPlane) -> AsyncIterator[ControllerManager]:
    """Time starts at midnight, on the minute."""
    async with running(cluster.client, CronJobController) as manager:
        yield manager
        assert all(counters.failures == 0 for counters in manager.counters.values())


async def jobs(cluster: ControlPlane) -> list[str]:
    """When the jobs that are here were scheduled, in minutes since midnight."""
    found = (await cluster.client.list(Job, "default")).items
    minutes = [
        int((each.metadata.name or "").rpartition("-")[2]) - int(EPOCH.timestamp()) // 60 for each in found
    ]
    return [f"{number // 60:02}:{number % 60:02}" for number in sorted(minutes)]


async def finish(cluster: ControlPlane, *, failed: bool = False) -> None:
    """Every job that runs ends now."""
    now = clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    pairs = [("FailureTarget", "Failed"), ("SuccessCriteriaMet", "Complete")]
    for each in (await cluster.client.list(Job, "default")).items:
        if each.status.conditions:
            continue
        conditions = [
            {"type": type_, "status": "True", "reason": "Test", "lastTransitionTime": now}
            for type_ in pairs[not failed]
        ]
        status: dict[str, Any] = {"conditions": conditions, "startTime": now}
        if not failed:
            status["completionTime"] = now
        await cluster.client.patch(
            Job, each.metadata.name or "", {"status": status}, "default", subresource="status"
        )


async def current(cluster: ControlPlane) -> CronJob:
    return await cluster.client.get(CronJob, "report", "default")


@pytest.mark.usefixtures("manager")
async def test_each_run_is_a_job_named_by_its_minute(cluster: ControlPlane) -> None:
    await cluster.client.create(cron_job())
    await cluster.advance(minutes=9)
    assert await jobs(cluster) == []
    await cluster.advance(minutes=12)
    assert await jobs(cluster) == ["00:10", "00:20"]
    (first, *_) = (await cluster.client.list(Job, "default")).items
    assert first.metadata.labels["from"] == "cron"
    assert first.metadata.annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"] == (
        "2026-01-01T00:10:00Z"
    )
    held = await current(cluster)
    assert [each.name for each in held.status.active] == [
        f"report-{int(EPOCH.timestamp()) // 60 + minute}" for minute in (10, 20)
    ]
    assert held.status.last_schedule_time == EPOCH + timedelta(minutes=20)
    assert (await told(cluster.client))[
        0
    ] == f"Normal SuccessfulCreate report: Created job {first.metadata.name}"


@pytest.mark.usefixtures("manager")
async def test_finished_jobs_leave_the_list_and_old_ones_go(cluster: ControlPlane) -> None:
    await cluster.client.create(cron_job())
    for _ in range(5):
        await cluster.advance(minutes=10)
        await cluster.advance(seconds=1)
        await finish(cluster)
        await cluster.advance(seconds=1)
    assert await jobs(cluster) == ["00:30", "00:40", "00:50"]
    held = await current(cluster)
    assert held.status.active == ()
    assert held.status.last_successful_time is not None
    assert sum("SawCompletedJob" in line for line in await told(cluster.client)) == 5
    assert sum("SuccessfulDelete" in line for line in await told(cluster.client)) == 2


@pytest.mark.usefixtures("manager")
async def test_failed_jobs_have_a_history_of_their_own(cluster: ControlPlane) -> None:
    await cluster.client.create(cron_job())
    for _ in range(3):
        await cluster.advance(seconds=601)
        await finish(cluster, failed=True)
    await cluster.advance(seconds=1)
    assert await jobs(cluster) == ["00:30"]


@pytest.mark.usefixtures("manager")
async def test_job_without_history_leaves_the_list_in_silence(cluster: ControlPlane) -> None:
    await cluster.client.create(cron_job(successful_jobs_history_limit=0))
    await cluster.advance(minutes=11)
    await finish(cluster)
    await cluster.advance(seconds=1)
    assert (await current(cluster)).status.active == ()
    events = await told(cluster.client)
    assert not [line for line in events if "MissingJob" in line or "SawCompletedJob" in line]
    assert (await current(cluster)).status.last_successful_time == minute(11)


@pytest.mark.usefixtures("manager")
async def test_name_that_another_job_has_is_no_failure(cluster: ControlPlane) -> None:
    await cluster.client.create(cron_job())
    await cluster.advance(minutes=5)
    name = f"report-{int(EPOCH.timestamp()) // 60 + 10}"
    template = cron_job().spec.job_template
    theirs = Job(metadata=ObjectMeta(name=name, namespace="default"), spec=template.spec)
    await cluster.client.create(theirs)
    await cluster.advance(minutes=6)
    assert (await current(cluster)).status.last_schedule_time is None
    assert not [line for line in await told(cluster.client) if "FailedCreate" in line]


@pytest.mark.usefixtures("manager")
async def test_forbidding_concurrency_skips_runs(cluster: ControlPlane) -> None:
    await cluster.client.create(cron_job(concurrency_policy="Forbid"))
    await cluster.advance(minutes=31)
    assert await jobs(cluster) == ["00:10"]
    assert any("JobAlreadyActive" in line for line in await told(cluster.client))
    await finish(cluster)
    await cluster.advance(minutes=10)
    assert (await jobs(cluster))[-1] in ("00:30", "00:40")


@pytest.mark.usefixtures("manager")
async def test_replacing_ends_the_run_before(cluster: ControlPlane) -> None:
    await cluster.client.create(cron_job(concurrency_policy="Replace"))
    await cluster.advance(minutes=31)
    assert await jobs(cluster) == ["00:30"]
    assert len((await current(cluster)).status.active) == 1


async def test_running_job_that_cannot_be_read_is_replaced_later(cluster: ControlPlane) -> None:
    await cluster.client.create(cron_job(concurrency_policy="Replace"))
    connection = Connection(lambda: cluster.backend, "controller")
    async with running(LocalClient(connection), CronJobController):
        await cluster.advance(minutes=11)
        connection.faults.append(RequestFault(verb="get", resource="jobs", error=_busy, times=1))
        await cluster.advance(minutes=10)
    assert await jobs(cluster) == ["00:20"]
    assert "Warning FailedGet report: Get job: busy" in await told(cluster.client)


def _busy() -> Exception:
    return service_unavailable("busy")


async def test_uneven_schedule_that_missed_many_times_starts_nothing(cluster: ControlPlane) -> None:
    """The estimate takes the first interval, an hour, for all: Kubernetes finds no run then."""
    await cluster.client.create(cron_job("0 1,2 1 * *"))
    await cluster.advance(hours=240)
    async with running(cluster.client, CronJobController):
        await cluster.advance(seconds=1)
    assert await jobs(cluster) == []
    assert await told(cluster.client) == []


@pytest.mark.usefixtures("manager")
async def test_a_suspended_cron_job_starts_nothing(cluster: ControlPlane) -> None:
    await cluster.client.create(cron_job(suspend=True, starting_deadline_seconds=30))
    await cluster.advance(hours=1)
    assert await jobs(cluster) == []
    await cluster.client.patch(CronJob, "report", {"spec": {"suspend": False}}, "default")
    await cluster.advance(minutes=1)
    assert await jobs(cluster) == ["01:00"]


async def test_of_missed_runs_only_the_last_is_made_up(cluster: ControlPlane) -> None:
    await cluster.client.create(cron_job())
    await cluster.advance(minutes=55)
    async with running(cluster.client, CronJobController):
        await cluster.advance(seconds=1)
        assert await jobs(cluster) == ["00:50"]


@pytest.mark.usefixtures("manager")
async def test_changed_schedule_makes_up_for_no_time_before_the_change(cluster: ControlPlane) -> None:
    await cluster.client.create(cron_job("0 12 * * *"))
    await cluster.advance(minutes=30)
    await cluster.client.patch(CronJob, "report", {"spec": {"schedule": "10 * * * *"}}, "default")
    await cluster.advance(minutes=39)
    assert await jobs(cluster) == []
    await cluster.advance(minutes=2)
    assert await jobs(cluster) == ["01:10"]
    await cluster.client.patch(CronJob, "report", {"spec": {"timeZone": "Asia/Kolkata"}}, "default")
    await cluster.advance(minutes=28)  # 06:40 there
    assert await jobs(cluster) == ["01:10"]
    await cluster.advance(minutes=2)
    assert await jobs(cluster) == ["01:10", "01:40"]


async def test_time_zone_in_stored_schedule_is_heeded_with_a_warning(cluster: ControlPlane) -> None:
    """The API takes no such schedule any more; what is stored already goes on."""
    created = await cluster.client.create(cron_job())
    schedule = "TZ=Asia/Kolkata 40 5 * * *"  # 00:10 in UTC
    stored = structs.replace(created, spec=structs.replace(created.spec, schedule=schedule))
    await cluster.store.put(
        resource_of(CronJob).key("default", "report"),
        lambda revision: codec.encode(stored),
        expect=int(created.metadata.resource_version or 0),
    )
    async with running(cluster.client, CronJobController):
        await cluster.advance(minutes=11)
        assert await jobs(cluster) == ["00:10"]
        assert (
            "Warning UnsupportedSchedule report: CRON_TZ or TZ used in schedule "
            f'"{schedule}" is not officially supported, see '
            "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
        ) in await told(cluster.client)


async def test_a_run_that_is_too_late_is_missed(cluster: ControlPlane) -> None:
    await cluster.client.create(cron_job(starting_deadline_seconds=60))
    await cluster.advance(minutes=55)
    async with running(cluster.client, CronJobController):
        await cluster.advance(seconds=1)
        assert await jobs(cluster) == []
        await cluster.advance(minutes=6)
        assert await jobs(cluster) == ["01:00"]


async def test_completed_job_is_noted_once_though_the_next_one_cannot_be_created(
    cluster: ControlPlane,
) -> None:
    quota = ResourceQuotaSpec(hard={"count/jobs.batch": "1"})
    await cluster.client.create(
        ResourceQuota(metadata=ObjectMeta(name="one", namespace="default"), spec=quota)
    )
    await cluster.client.create(cron_job())
    async with running(cluster.client, CronJobController):
        await cluster.advance(minutes=11)
    await finish(cluster)
    await cluster.advance(minutes=10)
    async with running(cluster.client, CronJobController):
        await cluster.advance(minutes=2)
    status = (await current(cluster)).status
    assert status.active == ()
    assert status.last_successful_time == minute(11)
    assert await jobs(cluster) == ["00:10"]
    counts = {event.reason: event.count for event in (await cluster.client.list(Event, "default")).items}
    assert counts["SawCompletedJob"] == 1
    assert (counts["FailedCreate"] or 0) > 1


@pytest.mark.parametrize("policy", ["Allow", "Forbid", "Replace"])
async def test_run_begun_before_a_restart_is_its_own(cluster: ControlPlane, policy: str) -> None:
    """The job is there and is listed as active, but its time was not written."""
    await cluster.client.create(cron_job(concurrency_policy=policy))
    async with running(cluster.client, CronJobController):
        await cluster.advance(minutes=11)
    status = {"status": {"lastScheduleTime": None}}
    await cluster.client.patch(CronJob, "report", status, "default", subresource="status")
    before = (await cluster.client.list(Job, "default")).items
    async with running(cluster.client, CronJobController):
        await cluster.advance(seconds=5)
    assert (await cluster.client.list(Job, "default")).items == before
    assert (await current(cluster)).status.last_schedule_time == minute(10)
    assert not [line for line in await told(cluster.client) if "JobAlreadyActive" in line]


@pytest.mark.usefixtures("manager")
async def test_vanished_and_foreign_jobs_are_handled(cluster: ControlPlane) -> None:
    created = await cluster.client.create(cron_job())
    await cluster.advance(minutes=11)
    (first,) = (await cluster.client.list(Job, "default")).items
    await cluster.client.delete(Job, first.metadata.name or "", "default", propagation="Background")
    await cluster.advance(seconds=1)
    assert (await current(cluster)).status.active == ()
    owner = OwnerReference(
        api_version="batch/v1",
        kind="CronJob",
        name="report",
        uid=created.metadata.uid or "",
        controller=True,
    )
    metadata = ObjectMeta(name="report-by-hand", namespace="default", owner_references=(owner,))
    await cluster.client.create(Job(metadata=metadata, spec=created.spec.job_template.spec))
    await cluster.advance(seconds=1)
    lines = await told(cluster.client)
    assert f"Normal MissingJob report: Active job went missing: {first.metadata.name}" in lines
    assert (
        "Warning UnexpectedJob report: Saw a job that the controller did not create or forgot: report-by-hand"
        in lines
    )


def minute(number: int) -> datetime:
    return EPOCH + timedelta(minutes=number)
