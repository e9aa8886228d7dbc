"""The due run of a CronJob, the next one, and the Jobs to delete (cases of utils_test.go)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from podling.api.batch_v1 import (
    CronJob,
    CronJobSpec,
    CronJobStatus,
    Job,
    JobCondition,
    JobStatus,
    JobTemplateSpec,
)
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.workloads.cronjob_rules import (
    MISSED_MAX,
    SCHEDULED_AT,
    Due,
    by_start,
    due,
    is_too_late,
    job_for,
    next_run,
    surplus,
)
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
    (held("30 10,11,12 * * 1-5", last=after_top(minutes=30)), after_top(hours=30.5), None),
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
    # cases of TestControllerV2UpdateCronJob
    (held("*/1 * * * *", last=after_top(minutes=-1)), after_top(seconds=-1), timedelta(seconds=1)),
    (held("@every 3m", last=after_top(minutes=-1)), after_top(seconds=-1), timedelta(seconds=121)),
    (held("@every 1m", last=after_top(minutes=-1)), after_top(seconds=-1), timedelta(seconds=1)),
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


def ended(name: str, hours: int, type_: str, status: str = "True") -> Job:
    condition = JobCondition(type=type_, status=status)
    return Job(
        metadata=ObjectMeta(name=name),
        status=JobStatus(start_time=after_top(hours=hours), conditions=(condition,)),
    )


# the limits of successful and failed jobs, and those that go
# (the first two are cases of TestControllerV2CleanupFinishedJobs)
HISTORIES: list[tuple[int | None, int | None, str]] = [
    (1, None, "ac"),
    (3, None, ""),
    (0, None, "ace"),
    (None, 1, "b"),
    (2, 0, "abd"),
    (None, None, ""),
]


@pytest.mark.parametrize(("successful", "failed", "gone"), HISTORIES)
def test_jobs_beyond_each_history_go_oldest_first(
    successful: int | None, failed: int | None, gone: str
) -> None:
    cron_job = held("0 * * * *")
    limits = {"successful_jobs_history_limit": successful, "failed_jobs_history_limit": failed}
    cron_job = structs.replace(cron_job, spec=structs.replace(cron_job.spec, **limits))
    jobs = [
        ended("e", 5, "Complete"),
        ended("d", 4, "Failed"),
        ended("c", 3, "Complete"),
        ended("b", 2, "Failed"),
        ended("a", 1, "Complete"),
        ended("s", 0, "Suspended"),
        ended("n", 0, "Complete", "False"),
        job("r", None),
    ]
    assert "".join(sorted(each.metadata.name or "" for each in surplus(cron_job, jobs))) == gone


@pytest.mark.parametrize(("deadline", "late"), [(None, False), (119, True), (120, False), (121, False)])
def test_run_begins_too_late_after_its_deadline(deadline: int | None, late: bool) -> None:
    cron_job = held("0 * * * *", deadline=deadline)
    assert is_too_late(cron_job, TOP, after_top(minutes=2)) is late


# Cases of TestControllerV2SyncCronJob: the schedule, the deadline, the last run, the creation and the present
# time, each as minutes after the top of the hour; then whether a run starts, whether more than 100 were
# missed, and the minutes until the next one.
HOURLY, INTERVAL = "0 * * * ?", "@every 1h"
SHORT, MEDIUM, LONG, WEEK = 10, 7200, 1_000_000, 7 * 24 * 60
SYNCS: list[tuple[str, int | None, float | None, float, float, bool, bool, float]] = [
    (HOURLY, None, None, -1, -1, False, False, 1),
    (HOURLY, None, None, -1, 1, True, False, 59),
    (HOURLY, SHORT, None, -1, 12, False, False, 48),
    (HOURLY, LONG, None, -1, 1, True, False, 59),
    (HOURLY, None, -59, -61, -1, False, False, 1),
    (HOURLY, None, -59, -61, 1, True, False, 59),
    (HOURLY, SHORT, -59, -61, 1, False, False, 59),
    (HOURLY, LONG, -59, -61, 1, True, False, 59),
    (HOURLY, LONG, -59, -61, WEEK, True, True, 60),
    (HOURLY, None, -59, -61, WEEK, True, True, 60),
    (HOURLY, MEDIUM, -59, -61, WEEK, True, False, 60),
    (HOURLY, SHORT, -59, -61, WEEK, True, False, 60),
    (HOURLY, None, 0, -61, -1, False, False, 61),
    (INTERVAL, None, None, -1, 0, False, False, 59),
    (INTERVAL, None, None, -61, -1, True, False, 60),
    (INTERVAL, SHORT, None, -61, -1 + 11 / 60, False, False, 60 - 11 / 60),
    (INTERVAL, LONG, None, -61, -1 + 9 / 60, True, False, 60 - 9 / 60),
    (INTERVAL, None, -1, -61, 0, False, False, 59),
    (INTERVAL, None, -1, -61, 60, True, False, 59),
    (INTERVAL, SHORT, -1, -61, 59 + 11 / 60, False, False, 60 - 11 / 60),
    (INTERVAL, SHORT, -1, -61, 59 + 9 / 60, False, False, 60 - 9 / 60),
    (INTERVAL, None, -61, -61, 1, True, False, 58),
    (INTERVAL, LONG, -1, -61, 59 + 9 / 60, True, False, 60 - 9 / 60),
    (INTERVAL, None, 1, -59, WEEK, True, True, 1),
    (INTERVAL, SHORT, 1, -59, WEEK + 1 + 11 / 60, False, False, 60 - 11 / 60),
]


@pytest.mark.parametrize(("schedule", "deadline", "last", "created", "now", "starts", "many", "wait"), SYNCS)
def test_schedule_deadline_and_last_run_decide(
    schedule: str,
    deadline: int | None,
    last: float | None,
    created: float,
    now: float,
    starts: bool,
    many: bool,
    wait: float,
) -> None:
    before = None if last is None else after_top(minutes=last)
    cron_job = held(schedule, last=before, created=after_top(minutes=created), deadline=deadline)
    moment, parsed = after_top(minutes=now), parse(schedule)
    found = due(cron_job, parsed, moment)
    begins = found.time is not None and not is_too_late(cron_job, found.time, moment)
    assert (begins, begins and found.missed > MISSED_MAX) == (starts, many)
    following = next_run(cron_job, parsed, moment)
    assert following is not None
    assert following - moment == timedelta(minutes=wait)


@pytest.mark.parametrize(
    ("schedule", "zone", "text"),
    [
        ("* * * * ?", "UTC", "2016-05-19T10:00:00Z"),
        ("* * * * ?", None, "2016-05-19T10:00:00Z"),
        ("* * * * ?", "Europe/Rome", "2016-05-19T12:00:00+02:00"),
        ("TZ=Asia/Tokyo * * * * ?", None, "2016-05-19T10:00:00Z"),
    ],
)
def test_job_says_when_it_was_scheduled_in_the_zone_of_the_spec(
    schedule: str, zone: str | None, text: str
) -> None:
    cron_job = held(schedule)
    cron_job = structs.replace(cron_job, spec=structs.replace(cron_job.spec, time_zone=zone))
    assert job_for(cron_job, TOP).metadata.annotations == {SCHEDULED_AT: text}
