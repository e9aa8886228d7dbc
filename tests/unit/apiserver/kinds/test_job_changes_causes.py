"""What may not change of a Job, and what is wrong with its status."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling.api.batch_v1 import Job
from podling.machinery.encoding import codec
from tests.support.causes import Cause, duplicate, invalid, required
from tests.support.manifests import INDEXED, PLAIN_JOB, change_causes, created, merged, obj

HALTED = merged(PLAIN_JOB, {"spec": {"suspend": True}})


IMMUTABLE = "field is immutable"


RESIZED = "spec: {template: {spec: {containers: [{name: main, image: x, resources: {limits: {cpu: 1}}}]}}}"


RENAMED = "spec: {template: {spec: {containers: [{name: other, image: x}]}}}"


CHANGES: list[tuple[dict[str, Any], str, list[tuple[str, str]]]] = [
    (PLAIN_JOB, "spec: {parallelism: 3, backoffLimit: 1, suspend: true}", []),
    (PLAIN_JOB, "spec: {template: {spec: {nodeSelector: {a: b}}}}", [("spec.template", IMMUTABLE)]),
    (HALTED, "spec: {template: {spec: {nodeSelector: {a: b}, tolerations: [{operator: Exists}]}}}", []),
    (HALTED, "spec: {template: {metadata: {annotations: {a: b}}}}", []),
    (HALTED, "spec: {template: {spec: {affinity: {nodeAffinity: {}}}}}", []),
    (
        HALTED,
        "spec: {template: {spec: {affinity: {podAffinity: {}}}}}",
        [("spec.template.spec", IMMUTABLE)],
    ),
    (HALTED, "spec: {template: {spec: {priorityClassName: high}}}", [("spec.template.spec", IMMUTABLE)]),
    (HALTED, RESIZED, []),
    (HALTED, RENAMED, [("spec.template.spec", IMMUTABLE)]),
    (PLAIN_JOB, RESIZED, [("spec.template", IMMUTABLE)]),
    (PLAIN_JOB, "spec: {completions: 2}", [("spec.completions", IMMUTABLE)]),
]


@pytest.mark.parametrize(("base", "text", "expected"), CHANGES)
def test_changes(base: dict[str, Any], text: str, expected: list[tuple[str, str]]) -> None:
    old = created(obj(Job, "", base))
    changed = codec.to_plain(old)
    new = obj(Job, text, {**changed, "spec": merged(base["spec"], changed["spec"])})
    found = [(cause[0], cause[2].rpartition(": ")[2]) for cause in change_causes(new, old)]
    assert found == expected


def test_a_job_whose_pods_have_not_gone_yet_is_not_idle() -> None:
    old = created(obj(Job, "status: {active: 1}", HALTED))
    old = structs.replace(old, status=structs.replace(old.status, active=1))
    new = obj(Job, RESIZED, codec.to_plain(old))
    assert [cause[0] for cause in change_causes(new, old)] == ["spec.template"]


def test_an_indexed_job_is_resized_in_tandem() -> None:
    old = created(obj(Job, f"spec: {{{INDEXED}}}", PLAIN_JOB))
    resized = structs.replace(old, spec=structs.replace(old.spec, completions=5, parallelism=5))
    assert change_causes(resized, old) == []
    uneven = structs.replace(old, spec=structs.replace(old.spec, completions=5))
    assert change_causes(uneven, old) == [
        invalid("spec.completions", "5", "can only be modified in tandem with spec.parallelism")
    ]


START = "startTime: '2026-01-01T10:00:00Z'"


END = "completionTime: '2026-01-01T11:00:00Z'"


MET = "{type: SuccessCriteriaMet, status: 'True'}"


COMPLETE = "{type: Complete, status: 'True'}"


TARGET = "{type: FailureTarget, status: 'True'}"


FAILED = "{type: Failed, status: 'True'}"


DONE = f"{START}, {END}, conditions: [{MET}, {COMPLETE}]"


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
def test_statuses(before: str, after: str, expected: list[Cause]) -> None:
    old, new = (obj(Job, f"status: {{{text}}}", PLAIN_JOB) for text in (before, after))
    assert change_causes(new, structs.replace(created(old), status=old.status), "status") == expected


def test_an_index_does_not_fail_and_succeed() -> None:
    spec = f"spec: {{{INDEXED}, backoffLimitPerIndex: 1}}"
    old = created(obj(Job, spec, PLAIN_JOB))
    new = obj(Job, f"{spec}\nstatus: {{completedIndexes: '0-1', failedIndexes: '1,2'}}", PLAIN_JOB)
    assert change_causes(new, old, "status") == [
        invalid("status.failedIndexes", '"1,2"', "failedIndexes and completedIndexes overlap at index: 1")
    ]
