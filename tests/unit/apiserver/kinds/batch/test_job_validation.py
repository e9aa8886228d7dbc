"""Tests of the validation of Job specs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import structs

from podling.api.batch_v1 import CronJob, Job, JobCondition, JobStatus
from podling.api.core_v1 import ReplicationController
from podling.apiserver.kinds.common.base import Context
from podling.machinery.encoding import codec
from tests.support.causes import Cause, Row, invalid, required, too_long, unsupported
from tests.support.manifests import (
    INDEXED,
    NOW,
    PLAIN_JOB,
    change_causes,
    created,
    creation_causes,
    merged,
    obj,
    rules,
)


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


def test_job_too_large_to_track_warns() -> None:
    large = "completionMode: Indexed, completions: 100001, parallelism: 10001"
    (text,) = warnings_of(created(obj(Job, f"spec: {{{large}}}", PLAIN_JOB)))
    assert text.startswith("spec: In Indexed Jobs with a number of completions higher than 10^5 ")
    scheduled = f"spec: {{schedule: '@daily', jobTemplate: {{spec: {{{large}}}}}}}"
    (text,) = warnings_of(created(obj(CronJob, scheduled, base(CronJob))))
    assert text.startswith("spec.jobTemplate.spec: In Indexed Jobs ")


JOBS: list[Row] = [
    ("", []),
    (f"spec: {{{INDEXED}, backoffLimitPerIndex: 1, maxFailedIndexes: 2}}", []),
    ("spec: {parallelism: -1}", [invalid("spec.parallelism", "-1", "must be greater than or equal to 0")]),
    (
        "spec: {managedBy: me}",
        [invalid("spec.managedBy", '"me"', 'must be a domain-prefixed path (such as "acme.io/foo")')],
    ),
    (
        f"spec: {{managedBy: example.com/{'a' * 60}}}",
        [too_long("spec.managedBy", 63)],
    ),
    (
        "spec: {completionMode: Random}",
        [unsupported("spec.completionMode", "Random", "NonIndexed", "Indexed")],
    ),
    (
        "spec: {completionMode: Indexed, parallelism: 100001}",
        [
            required("spec.completions", "when completion mode is Indexed"),
            invalid(
                "spec.parallelism",
                "100001",
                "must be less than or equal to 100000 when completion mode is Indexed",
            ),
        ],
    ),
    (
        "spec: {maxFailedIndexes: 1}",
        [
            required("spec.backoffLimitPerIndex", "when maxFailedIndexes is specified"),
            invalid("spec.maxFailedIndexes", "1", "requires indexed completion mode"),
        ],
    ),
    (
        f"spec: {{{INDEXED}, backoffLimitPerIndex: 1, maxFailedIndexes: 4}}",
        [invalid("spec.maxFailedIndexes", "4", "must be less than or equal to completions")],
    ),
    (
        "spec: {completionMode: Indexed, completions: 100001, parallelism: 10001, backoffLimitPerIndex: 1}",
        [
            required("spec.maxFailedIndexes", "must be specified when completions is above 100000"),
            invalid(
                "spec.parallelism",
                "10001",
                "must be less than or equal to 10000 when completions are above 100000 and used with backoff "
                "limit per index",
            ),
        ],
    ),
    (
        "spec: {podReplacementPolicy: Now}",
        [unsupported("spec.podReplacementPolicy", "Now", "Failed", "TerminatingOrFailed")],
    ),
    (
        "spec: {template: {spec: {restartPolicy: Always}}}",
        [required("spec.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"')],
    ),
    (
        "spec: {template: {metadata: {labels: {job-name: other}}}}",
        [
            invalid(
                "spec.template.metadata.labels[job-name]",
                '{"batch.kubernetes.io/controller-uid":"u1","batch.kubernetes.io/job-name":"sum",'
                '"controller-uid":"u1","job-name":"other"}',
                "must be 'sum'",
            )
        ],
    ),
    (
        "spec: {selector: {matchLabels: {app: web}}}",
        [
            invalid(
                "spec.selector",
                '{"matchLabels":{"app":"web","batch.kubernetes.io/controller-uid":"u1"}}',
                "`selector` not auto-generated",
            ),
            invalid(
                "spec.template.metadata.labels",
                '{"batch.kubernetes.io/controller-uid":"u1","batch.kubernetes.io/job-name":"sum",'
                '"controller-uid":"u1","job-name":"sum"}',
                "`selector` does not match template `labels`",
            ),
        ],
    ),
    (
        "spec: {manualSelector: true}",
        [
            required("spec.selector"),
            invalid("spec.template.metadata.labels", "{}", "`selector` does not match template `labels`"),
        ],
    ),
    (
        f"{{metadata: {{name: {'a' * 62}}}, spec: {{{INDEXED}}}}}",
        [
            invalid(
                "metadata.name",
                f'"{"a" * 62}"',
                f"will not able to create pod with invalid DNS label: {'a' * 62}-2",
            )
        ],
    ),
]


@pytest.mark.parametrize(("text", "expected"), JOBS)
def test_invalid_job_is_refused_with_causes(text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(Job, text, PLAIN_JOB))) == expected


HALTED = merged(PLAIN_JOB, {"spec": {"suspend": True}})
RESIZED = "spec: {template: {spec: {containers: [{name: main, image: x, resources: {limits: {cpu: 1}}}]}}}"
RENAMED = "spec: {template: {spec: {containers: [{name: other, image: x}]}}}"
IMMUTABLE = "field is immutable"
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
def test_change_of_job_is_validated(base: dict[str, Any], text: str, expected: list[tuple[str, str]]) -> None:
    old = created(obj(Job, "", base))
    changed = codec.to_plain(old)
    new = obj(Job, text, {**changed, "spec": merged(base["spec"], changed["spec"])})
    found = [(cause[0], cause[2].rpartition(": ")[2]) for cause in change_causes(new, old)]
    assert found == expected


STARTED = datetime(2026, 1, 1, tzinfo=UTC)
# the status of a suspended Job, and whether its template may change
IDLE: list[tuple[JobStatus, bool]] = [
    (JobStatus(), True),
    (JobStatus(active=1), False),
    (JobStatus(start_time=STARTED), False),
    (JobStatus(start_time=STARTED, conditions=(JobCondition(type="Suspended", status="False"),)), False),
    (JobStatus(start_time=STARTED, conditions=(JobCondition(type="Suspended", status="True"),)), True),
    (
        JobStatus(active=1, start_time=STARTED, conditions=(JobCondition(type="Suspended", status="True"),)),
        False,
    ),
]


@pytest.mark.parametrize(("status", "idle"), IDLE)
def test_template_of_a_suspended_job_changes_once_it_is_idle(status: JobStatus, *, idle: bool) -> None:
    """Cases of ``TestJobStrategy_ValidateUpdate_MutablePodResources``."""
    old = structs.replace(created(obj(Job, "", HALTED)), status=status)
    new = obj(Job, RESIZED, codec.to_plain(old))
    assert [cause[0] for cause in change_causes(new, old)] == ([] if idle else ["spec.template"])


def test_indexed_job_changes_completions_with_parallelism() -> None:
    old = created(obj(Job, f"spec: {{{INDEXED}}}", PLAIN_JOB))
    resized = structs.replace(old, spec=structs.replace(old.spec, completions=5, parallelism=5))
    assert change_causes(resized, old) == []
    uneven = structs.replace(old, spec=structs.replace(old.spec, completions=5))
    assert change_causes(uneven, old) == [
        invalid("spec.completions", "5", "can only be modified in tandem with spec.parallelism")
    ]
