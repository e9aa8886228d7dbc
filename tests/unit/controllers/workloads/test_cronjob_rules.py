"""The due run of a CronJob, the next one, and the Jobs to delete (cases of utils_test.go)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from podling.api.batch_v1 import CronJob, CronJobSpec, CronJobStatus, Job, JobStatus, JobTemplateSpec
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.workloads.cronjob_rules import MISSED_MAX, Due, by_start, due, next_run
from podling.machinery.cron import ScheduleError, parse
from podling.sim.loop import EPOCH


@pytest.mark.parametrize(
    ("last", "now", "expected"),
    [
        (0, 5, Due(None)),
        (0, 10, Due(EPOCH + timedelta(minutes=10), 1)),
        (10, 19, Due(None)),
        (10, 45, Due(EPOCH + timedelta(minutes=40), 3)),
        (0, 2000, Due(EPOCH + timedelta(minutes=2000), 200)),
    ],
)
def test_last_run_and_now_decide_due_run(last: int, now: int, expected: Due) -> None:
    held = CronJob(
        metadata=ObjectMeta(creation_timestamp=EPOCH),
        status=CronJobStatus(last_schedule_time=minute(last) if last else None),
    )
    assert due(held, parse("*/10 * * * *"), minute(now)) == expected


def minute(number: int) -> datetime:
    return EPOCH + timedelta(minutes=number)


TOP = datetime(2016, 5, 19, 10, tzinfo=UTC)  # a Thursday


def after_top(**more: float) -> datetime:
    return TOP + timedelta(**more)


def held(
    schedule: str, *, last: datetime | None = None, created: datetime = TOP, deadline: int | None = None
) -> CronJob:
    return CronJob(
        metadata=ObjectMeta(name="report", creation_timestamp=created),
        spec=CronJobSpec(
            schedule=schedule, job_template=JobTemplateSpec(), starting_deadline_seconds=deadline
        ),
        status=CronJobStatus(last_schedule_time=last),
    )


WEEKDAYS = "30 6-16/4 * * 1-5"
RUNS: list[tuple[CronJob, datetime, datetime | None]] = [
    (held("0 * * * *"), after_top(seconds=30), None),
    (held("0 * * * *"), after_top(minutes=61), after_top(minutes=60)),
    (held("0 * * * *", created=after_top(seconds=10)), after_top(minutes=301), after_top(minutes=300)),
    (held(WEEKDAYS, last=after_top(minutes=30)), after_top(hours=24, minutes=31), after_top(hours=24.5)),
    (held(WEEKDAYS, last=after_top(minutes=30)), after_top(hours=96, minutes=31), after_top(hours=96.5)),
    (held(WEEKDAYS), after_top(hours=24, minutes=31), after_top(hours=24.5)),
    (held("0 * * * *", last=TOP), after_top(seconds=30), None),
    (held("*/5 * * * *", last=after_top(minutes=30)), after_top(minutes=31), None),
    (held("*/5 * * * *", last=after_top(minutes=30), deadline=60), after_top(minutes=31), None),
    (held("*/5 * * * *", last=after_top(minutes=30), deadline=60), after_top(minutes=32), None),
]


@pytest.mark.parametrize(("cron_job", "now", "run"), RUNS)
def test_last_missed_run_is_due(cron_job: CronJob, now: datetime, run: datetime | None) -> None:
    assert due(cron_job, parse(cron_job.spec.schedule), now).time == run


def test_interval_counts_from_the_last_run() -> None:
    cron_job = held("@every 1h", last=after_top(minutes=1), created=after_top(minutes=-59))
    schedule = parse(cron_job.spec.schedule)
    now = after_top(days=7)
    found = due(cron_job, schedule, now)
    assert found.time == after_top(days=6, hours=23, minutes=1)
    assert found.missed > MISSED_MAX
    assert next_run(cron_job, schedule, now) == after_top(days=7, minutes=1)


def test_schedule_that_is_never_due_is_an_error() -> None:
    cron_job = held("59 23 31 2 *")
    with pytest.raises(ScheduleError, match="time difference between two schedules is less than 1 second"):
        due(cron_job, parse(cron_job.spec.schedule), after_top(hours=1))


NEXT: list[tuple[CronJob, datetime, timedelta]] = [
    (
        held(WEEKDAYS, last=after_top(minutes=30)),
        after_top(hours=24, minutes=31),
        timedelta(hours=3, minutes=59),
    ),
    (held("30 10,11,12 * * 1-5", last=after_top(minutes=30)), after_top(hours=30.5), timedelta(hours=66)),
    (held("0 12 * * 4", last=after_top(hours=2)), after_top(days=19, hours=1.5), timedelta(hours=48.5)),
    (held("0 12 * * 5"), after_top(hours=6), timedelta(hours=20)),
]


@pytest.mark.parametrize(("cron_job", "now", "wait"), NEXT)
def test_next_run_follows_the_schedule(cron_job: CronJob, now: datetime, wait: timedelta) -> None:
    following = next_run(cron_job, parse(cron_job.spec.schedule), now)
    assert following is not None
    assert following - now == wait


def job(name: str, started: datetime | None) -> Job:
    return Job(metadata=ObjectMeta(name=name), status=JobStatus(start_time=started))


@pytest.mark.parametrize(
    ("jobs", "names"),
    [
        ([job("b", None), job("a", None)], ["a", "b"]),
        ([job("a", None), job("b", TOP)], ["b", "a"]),
        ([job("a", TOP), job("b", None)], ["a", "b"]),
        ([job("b", TOP), job("a", TOP)], ["a", "b"]),
        ([job("a", after_top(days=365)), job("b", TOP)], ["b", "a"]),
    ],
)
def test_jobs_that_never_started_are_the_youngest(jobs: list[Job], names: list[str]) -> None:
    assert [each.metadata.name for each in by_start(jobs)] == names
