"""The due run of a CronJob."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from podling.api.batch_v1 import CronJob, CronJobStatus
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.workloads.cronjob_rules import Due, due
from podling.machinery.cron import parse
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
