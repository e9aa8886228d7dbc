"""Tests of the validation of Job status changes."""

from __future__ import annotations

import pytest
from msgspec import structs

from podling.api.batch_v1 import Job
from tests.support.causes import Cause, duplicate, invalid, required
from tests.support.manifests import INDEXED, PLAIN_JOB, change_causes, created, obj

START = "startTime: '2026-01-01T10:00:00Z'"
END = "completionTime: '2026-01-01T11:00:00Z'"
MET = "{type: SuccessCriteriaMet, status: 'True'}"
COMPLETE = "{type: Complete, status: 'True'}"
DONE = f"{START}, {END}, conditions: [{MET}, {COMPLETE}]"
TARGET = "{type: FailureTarget, status: 'True'}"
FAILED = "{type: Failed, status: 'True'}"


def wrong(text: str) -> Cause:
    return "status.conditions", "FieldValueInvalid", f"Invalid value: {text}"


STATUSES: list[tuple[str, str, list[Cause]]] = [
    ("", f"{START}, active: 1, ready: 1", []),
    (START, DONE, []),
    (START, f"{START}, conditions: [{TARGET}, {FAILED}]", []),
    (START, f"{START}, {END}, conditions: [{COMPLETE}]", [
        wrong("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
    ]),
    (START, f"{START}, conditions: [{FAILED}]", [
        wrong("cannot set Failed=True condition without the FailureTarget=true condition")
    ]),
    (START, f"{START}, {END}, conditions: [{MET}, {COMPLETE}, {TARGET}, {FAILED}]", [
        wrong("cannot set Complete=True and Failed=true conditions"),
        wrong("cannot set Complete=True and FailureTarget=true conditions"),
        wrong("cannot set SuccessCriteriaMet=True and Failed=true conditions"),
        wrong("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"),
    ]),
    (START, f"{START}, {END}", [
        invalid(
            "status.completionTime",
            '"2026-01-01T11:00:00Z"',
            "cannot set completionTime when there is no Complete=True condition",
        )
    ]),
    (START, f"{START}, conditions: [{MET}, {COMPLETE}]", [
        required("status.completionTime", "completionTime is required for Complete jobs")
    ]),
    ("", f"{END}, conditions: [{MET}, {COMPLETE}]", [
        required("status.startTime", "startTime is required for finished job")
    ]),
    (START, f"{DONE}, active: 1, terminating: 1, uncountedTerminatedPods: {{failed: [u]}}", [
        invalid("status.active", "1", "active>0 is invalid for finished job"),
        invalid(
            "status.uncountedTerminatedPods",
            '{"Succeeded":null,"Failed":["u"]}',
            "must be empty for finished job",
        ),
        invalid("status.terminating", "1", "terminating>0 is invalid for finished job"),
    ]),
    ("", "active: 1, ready: 2", [invalid("status.ready", "2", "cannot set more ready pods than active")]),
    ("", "active: -1", [
        invalid("status.active", "-1", "must be greater than or equal to 0"),
    ]),
    ("", "uncountedTerminatedPods: {succeeded: [u], failed: [u, '']}", [
        duplicate("status.uncountedTerminatedPods.failed[0]", '"u"'),
        invalid("status.uncountedTerminatedPods.failed[1]", '""', "must not be empty"),
    ]),
    ("failed: 2, succeeded: 2", "failed: 1, succeeded: 1", [
        invalid("status.failed", "1", "cannot decrease the failed counter"),
        invalid("status.succeeded", "1", "cannot decrease the succeeded counter"),
    ]),
    (DONE, START, [
        wrong("cannot disable the terminal Complete=True condition"),
        wrong("cannot disable the SuccessCriteriaMet=True condition"),
    ]),
    (START, "", [required("status.startTime", "startTime cannot be removed for unsuspended job")]),
    (f"{START}, conditions: [{{type: Suspended, status: 'True'}}]",
     "startTime: '2026-01-01T11:00:00Z', conditions: [{type: Suspended, status: 'False'}]", []),
    ("", "completedIndexes: '0'", [
        invalid(
            "status.completedIndexes",
            '"0"',
            "cannot set non-empty completedIndexes when non-indexed completion mode",
        )
    ]),
    ("", "failedIndexes: '0'", [
        invalid(
            "status.failedIndexes",
            '"0"',
            "cannot set non-null failedIndexes when backoffLimitPerIndex is null",
        )
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after", "expected"), STATUSES)
def test_change_of_job_status_is_validated(before: str, after: str, expected: list[Cause]) -> None:
    old, new = (obj(Job, f"status: {{{text}}}", PLAIN_JOB) for text in (before, after))
    assert change_causes(new, structs.replace(created(old), status=old.status), "status") == expected


def test_suspended_job_finishes_without_a_start() -> None:
    old = created(obj(Job, "spec: {suspend: true}", PLAIN_JOB))
    new = obj(Job, f"spec: {{suspend: true}}\nstatus: {{{END}, conditions: [{MET}, {COMPLETE}]}}", PLAIN_JOB)
    assert change_causes(new, old, "status") == []


def test_index_cannot_fail_and_succeed() -> None:
    spec = f"spec: {{{INDEXED}, backoffLimitPerIndex: 1}}"
    old = created(obj(Job, spec, PLAIN_JOB))
    new = obj(Job, f"{spec}\nstatus: {{completedIndexes: '0-1', failedIndexes: '1,2'}}", PLAIN_JOB)
    assert change_causes(new, old, "status") == [
        invalid("status.failedIndexes", '"1,2"', "failedIndexes and completedIndexes overlap at index: 1")
    ]
