"""Validation of AdvancedCronJobs, through the API server.

Cases of upstream's ``advancedcronjob_create_update_handler_test.go``.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from podling.machinery.errors import ApiError
from podling_kruise.advancedcronjob.types import AdvancedCronJob
from podling_kruise.advancedcronjob.validation import EITHER, FIXED
from tests.support.clone_sets import Kruise, kruise_api
from tests.support.cron_jobs import BROADCAST, JOB, cron_job, pulls
from tests.support.sidecar_sets import create


@pytest.fixture
async def kruise() -> AsyncIterator[Kruise]:
    async with kruise_api() as found:
        yield found


async def refusal(kruise: Kruise, plain: dict[str, Any]) -> str:
    with pytest.raises(ApiError) as refused:
        await create(kruise, plain)
    assert refused.value.code == 422
    return str(refused.value)


BROKEN_JOB = {"jobTemplate": {"spec": {"template": {"spec": {"containers": [{"name": "main"}]}}}}}

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "unknown time zone": (
        {"timeZone": "broken"},
        'spec.timeZone: Invalid value: "broken": unknown time zone',
    ),
    "empty time zone": ({"timeZone": ""}, "timeZone must be nil or non-empty string"),
    "local time": (
        {"timeZone": "Local"},
        "timeZone must be an explicit time zone as defined in https:",
    ),
    "empty schedule": ({"schedule": ""}, "schedule cannot be empty, please provide valid cron schedule."),
    "unreadable schedule": (
        {"schedule": "invalid-cron"},
        "expected exactly 5 fields, found 1: [invalid-cron]",
    ),
    "two time zones": (
        {"schedule": "TZ=Asia/Tokyo 0 0 * * *", "timeZone": "Asia/Tokyo"},
        "cannot use both timeZone field and TZ or CRON_TZ in schedule",
    ),
    "no template": ({"template": {}}, f"spec.template: Forbidden: spec must have one template, {EITHER}"),
    "template of pulls beside another": (
        {"template": {**JOB, **pulls()}},
        f"spec can have only one template, {EITHER}",
    ),
    "two templates": ({"template": {**JOB, **BROADCAST}}, f"spec can have only one template, {EITHER}"),
    "negative deadline": ({"startingDeadlineSeconds": -1}, "spec.startingDeadlineSeconds: Invalid value: -1"),
    "negative history": (
        {"successfulJobsHistoryLimit": -1},
        "spec.successfulJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0",
    ),
    "negative history of failures": (
        {"failedJobsHistoryLimit": -1},
        "spec.failedJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0",
    ),
    "unknown policy": (
        {"concurrencyPolicy": "Nonsense"},
        'concurrencyPolicy: Unsupported value: "Nonsense"',
    ),
    "invalid pod template": (
        {"template": BROKEN_JOB},
        "spec.template.spec.containers[0].image: Required value",
    ),
}


@pytest.mark.parametrize(("spec", "message"), REFUSED.values(), ids=REFUSED)
async def test_invalid_objects_are_refused(kruise: Kruise, spec: dict[str, Any], message: str) -> None:
    assert message in await refusal(kruise, cron_job(**spec))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("with.dot", "AdvancedCronJob name must consist of alphanumeric characters or '-'"),
        ("a" * 64, "must be no more than 63 characters"),
    ],
)
async def test_name_must_fit_into_names_of_jobs(kruise: Kruise, name: str, message: str) -> None:
    plain = cron_job()
    plain["metadata"]["name"] = name
    assert message in await refusal(kruise, plain)


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
@pytest.mark.parametrize("template", [JOB, BROADCAST], ids=["Job", "BroadcastJob"])
async def test_defaults_are_filled_in(kruise: Kruise, version: str, template: dict[str, Any]) -> None:
    assert await create(kruise, cron_job(version, template=template, timeZone="America/New_York")) == []
    spec = (await kruise.client.get(AdvancedCronJob, "nightly", "default")).spec
    assert (spec.concurrency_policy, spec.paused) == ("Allow", False)
    assert (spec.successful_jobs_history_limit, spec.failed_jobs_history_limit) == (3, 1)
    chosen = spec.template.job_template or spec.template.broadcast_job_template
    assert chosen is not None
    assert chosen.spec.template.spec.dns_policy == "ClusterFirst"


async def test_only_some_fields_can_be_changed(kruise: Kruise) -> None:
    await create(kruise, cron_job())
    allowed = {
        "schedule": "5 * * * *",
        "concurrencyPolicy": "Forbid",
        "successfulJobsHistoryLimit": 1,
        "failedJobsHistoryLimit": 2,
        "startingDeadlineSeconds": 30,
        "paused": True,
        "timeZone": "Asia/Shanghai",
    }
    await kruise.client.patch(AdvancedCronJob, "nightly", {"spec": allowed}, "default")
    changed = {"template": {"jobTemplate": {"spec": {"backoffLimit": 1}}}}
    with pytest.raises(ApiError, match=re.escape(f"spec: Forbidden: {FIXED}")):
        await kruise.client.patch(AdvancedCronJob, "nightly", {"spec": changed}, "default")


async def test_unknown_fields_of_a_job_are_named(kruise: Kruise) -> None:
    job = {"jobTemplate": {"spec": {**JOB["jobTemplate"]["spec"], "nonsense": 1}}}
    with pytest.raises(ApiError, match="nonsense"):
        await create(kruise, cron_job(template=job))
    warnings = await create(kruise, cron_job(template=job), field_validation="Warn")
    assert warnings == ['unknown field "spec.template.jobTemplate.spec.nonsense"']
