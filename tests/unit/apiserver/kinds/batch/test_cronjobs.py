"""Tests of the rules of CronJobs."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.batch_v1 import CronJob, Job
from podling.api.core_v1 import ReplicationController
from podling.apiserver.kinds.common.base import Context
from tests.support.causes import Cause, KindRow, Row, invalid, required, unsupported
from tests.support.manifests import (
    NOW,
    PLAIN_JOB,
    change_causes,
    created,
    creation_causes,
    merged,
    obj,
    rules,
)
from tests.support.workload_manifests import spec_of

NEW_OBJECTS: list[KindRow] = [
    (CronJob, "", []),
    (
        CronJob,
        "spec: {schedule: '* * * *'}",
        [invalid("spec.schedule", '"* * * *"', "expected exactly 5 fields, found 4: [* * * *]")],
    ),
    (
        CronJob,
        "spec: {timeZone: Middle/Earth}",
        [invalid("spec.timeZone", '"Middle/Earth"', "unknown time zone Middle/Earth")],
    ),
    (
        CronJob,
        "spec: {concurrencyPolicy: Maybe}",
        [unsupported("spec.concurrencyPolicy", "Maybe", "Allow", "Forbid", "Replace")],
    ),
]
JOB: dict[str, Any] = {
    "metadata": {"name": "web", "namespace": "default", "uid": "u1"},
    "spec": {
        "template": {
            "spec": {"containers": [{"name": "main", "image": "nginx:1.27"}], "restartPolicy": "Never"}
        }
    },
}
CRON_BASE: dict[str, Any] = {
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": JOB["spec"]}},
}


def make(kind: type[Any], fragment: str = "") -> Any:
    return created(obj(kind, fragment, CRON_BASE))


@pytest.mark.parametrize(("kind", "fragment", "expected"), NEW_OBJECTS)
def test_new_cron_job_is_validated(kind: type[Any], fragment: str, expected: list[Cause]) -> None:
    assert creation_causes(make(kind, fragment)) == expected


def warnings_of(new: Any, old: Any = None) -> list[str]:
    return rules(type(new)).warnings(new, old, Context(NOW))


BASE: dict[str, Any] = {
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "main", "image": "nginx:1.27"}]},
        },
    },
}
BASES: dict[Any, dict[str, Any]] = {
    ReplicationController: merged(BASE, {"spec": {"selector": None}}),
    Job: PLAIN_JOB,
    CronJob: {
        "metadata": {"name": "sum", "namespace": "default"},
        "spec": {"schedule": "@daily", "jobTemplate": {"spec": PLAIN_JOB["spec"]}},
    },
}


def base(kind: type[Any]) -> dict[str, Any]:
    return BASES.get(kind, BASE)


def test_time_zone_in_stored_schedule_warns_on_update() -> None:
    old = created(obj(CronJob, "spec: {schedule: 'TZ=UTC @daily'}", base(CronJob)))
    assert warnings_of(old, old) == [
        "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
        "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
    ]
    new = created(obj(CronJob, "spec: {schedule: '@daily', timeZone: UTC}", base(CronJob)))
    assert warnings_of(new, old) == []


def test_defaults_of_cron_job_are_complete() -> None:
    assert spec_of(make(CronJob), "jobTemplate") == {
        "concurrencyPolicy": "Allow",
        "failedJobsHistoryLimit": 1,
        "schedule": "*/5 * * * *",
        "successfulJobsHistoryLimit": 3,
        "suspend": False,
    }


def test_row_of_cron_job_shows_schedule() -> None:
    row = rules(CronJob).row(make(CronJob, "spec: {timeZone: Europe/Berlin}"), NOW)
    assert list(row)[:6] == ["web", "*/5 * * * *", "Europe/Berlin", "False", 0, "<none>"]


CRON_JOBS: list[Row] = [
    ("", []),
    ("spec: {schedule: ''}", [required("spec.schedule")]),
    ("spec: {schedule: '* * *'}", [
        invalid("spec.schedule", '"* * *"', "expected exactly 5 fields, found 3: [* * *]")
    ]),
    ("spec: {schedule: 'TZ=UTC * * * * *'}", [
        invalid(
            "spec.schedule",
            '"TZ=UTC * * * * *"',
            "cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
        )
    ]),
    ("spec: {timeZone: ''}", [
        invalid("spec.timeZone", '""', "timeZone must be nil or non-empty string")
    ]),
    ("spec: {timeZone: local}", [
        invalid(
            "spec.timeZone",
            '"local"',
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones",
        ),
        invalid("spec.timeZone", '"local"', "unknown time zone local"),
    ]),
    ("spec: {timeZone: Mars/Olympus}", [
        invalid("spec.timeZone", '"Mars/Olympus"', "unknown time zone Mars/Olympus")
    ]),
    ("spec: {concurrencyPolicy: Sometimes}", [
        unsupported("spec.concurrencyPolicy", "Sometimes", "Allow", "Forbid", "Replace")
    ]),
    ("spec: {startingDeadlineSeconds: -1, failedJobsHistoryLimit: -1}", [
        invalid("spec.startingDeadlineSeconds", "-1", "must be greater than or equal to 0"),
        invalid("spec.failedJobsHistoryLimit", "-1", "must be greater than or equal to 0"),
    ]),
    ("spec: {jobTemplate: {spec: {selector: {}, manualSelector: true}}}", [
        invalid("spec.jobTemplate.spec.selector", "{}", "`selector` will be auto-generated"),
        ("spec.jobTemplate.spec.manualSelector", "FieldValueNotSupported",
         'Unsupported value: true: supported values: "nil", "false"'),
    ]),
    (f"metadata: {{name: {'a' * 53}}}", [
        invalid("metadata.name", f'"{"a" * 53}"', "must be no more than 52 characters")
    ]),
]  # fmt: skip
CRON: dict[str, Any] = {
    "metadata": {"name": "nightly", "namespace": "default"},
    "spec": {"schedule": "@daily", "jobTemplate": {"spec": PLAIN_JOB["spec"]}},
}


@pytest.mark.parametrize(("text", "expected"), CRON_JOBS)
def test_invalid_cron_job_is_refused_with_causes(text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(CronJob, text, CRON))) == expected


def test_time_zone_in_stored_schedule_stays_valid() -> None:
    zoned = {"spec": {"schedule": "TZ=UTC 0 0 * * *"}}
    old = obj(CronJob, "", merged(CRON, zoned))
    assert change_causes(obj(CronJob, "spec: {suspend: true}", merged(CRON, zoned)), old) == []
    both = obj(CronJob, "spec: {timeZone: Etc/UTC}", merged(CRON, zoned))
    assert change_causes(both, old) == [
        invalid(
            "spec.schedule",
            '"TZ=UTC 0 0 * * *"',
            "cannot use both timeZone field and TZ or CRON_TZ in schedule",
        )
    ]
