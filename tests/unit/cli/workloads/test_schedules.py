"""Explanations for CronJobs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from podling.api.batch_v1 import CronJob, Job
from podling.api.core_v1 import Event
from podling.cli.evidence import Explanation
from podling.cli.workloads.schedules import explain_cron_job

NOW = datetime(2026, 1, 1, 12, 30, tzinfo=UTC)
WELL = Explanation(healthy=True, area="none", reason="Ready", text="Nothing is wrong.")
ILL = Explanation(area="end", reason="Error", text="It ended with exit code 3.")


def cron_job(schedule: str = "0 * * * *", active: tuple[str, ...] = (), **spec: Any) -> CronJob:
    metadata = {"name": "tidy", "namespace": "shop", "creationTimestamp": "2026-01-01T00:00:00Z"}
    status = {
        "lastScheduleTime": "2026-01-01T12:00:00Z",
        "active": [{"name": name, "uid": name} for name in active],
    }
    plain = {
        "metadata": metadata,
        "spec": {"schedule": schedule, "jobTemplate": {"spec": {"template": {}}}} | spec,
        "status": status,
    }
    return msgspec.convert(plain, CronJob)


def job(name: str) -> Job:
    return msgspec.convert({"metadata": {"name": name}, "spec": {"template": {}}}, Job)


def event(reason: str, at: str = "2026-01-01T12:20:00Z") -> Event:
    plain = {"reason": reason, "message": "so it was", "lastTimestamp": at, "involvedObject": {}}
    return msgspec.convert(plain, Event)


def test_cron_job_that_runs_says_when() -> None:
    answer = explain_cron_job(cron_job(), [(job("tidy-1"), WELL)], [], NOW)
    assert answer.healthy
    assert answer.text == (
        "Nothing is wrong: CronJob tidy runs next at 2026-01-01 13:00:00 UTC; its last run was due at "
        "2026-01-01 12:00:00 UTC."
    )


@pytest.mark.parametrize(
    ("spec", "reason", "says"),
    [
        ({"suspend": True}, "Suspended", "is suspended, so no run begins"),
        ({"schedule": "0 0 31 2 *"}, "InvalidSchedule", '"0 0 31 2 *" is never due'),
        ({"schedule": "every day"}, "InvalidSchedule", "its schedule cannot be read"),
        ({"timeZone": "Mars/Base"}, "InvalidSchedule", "its schedule cannot be read"),
    ],
)
def test_cron_job_that_starts_no_runs(spec: dict[str, Any], reason: str, says: str) -> None:
    answer = explain_cron_job(cron_job(**spec), [], [], NOW)
    assert (answer.reason, answer.healthy) == (reason, False)
    assert says in answer.text


def test_run_that_is_still_active_holds_the_next() -> None:
    waiting = cron_job(active=("tidy-1",), concurrencyPolicy="Forbid")
    answer = explain_cron_job(waiting, [(job("tidy-1"), ILL)], [event("JobAlreadyActive")], NOW)
    assert answer.text == (
        "CronJob tidy starts no run while Job tidy-1 is active (concurrencyPolicy Forbid). "
        "It ended with exit code 3."
    )
    assert answer.advice == "podling why job/tidy-1 -n shop"


def test_run_that_ended_holds_nothing() -> None:
    assert explain_cron_job(cron_job(), [], [event("JobAlreadyActive")], NOW).healthy


@pytest.mark.parametrize("reason", ["FailedCreate", "MissSchedule", "TooManyMissedTimes"])
def test_run_that_was_not_started(reason: str) -> None:
    answer = explain_cron_job(cron_job(), [], [event(reason)], NOW)
    assert (answer.reason, answer.text) == (reason, "CronJob tidy did not start a run: so it was.")
    assert explain_cron_job(cron_job(), [], [event(reason, "2026-01-01T11:00:00Z")], NOW).healthy


def test_failed_newest_run_explains_the_cron_job() -> None:
    runs = [(job("tidy-1"), ILL), (job("tidy-2"), WELL)]
    assert explain_cron_job(cron_job(), runs, [], NOW).healthy
    answer = explain_cron_job(cron_job(), runs[::-1], [], NOW)
    assert answer.text == "The newest run of CronJob tidy is tidy-1: It ended with exit code 3."
