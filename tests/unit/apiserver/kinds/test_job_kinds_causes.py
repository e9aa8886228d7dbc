"""What is wrong with new Jobs, their policies, and with CronJobs: a fragment and its causes."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.batch_v1 import CronJob, Job
from tests.support.causes import Cause, Row, duplicate, invalid, required, too_long, too_many, unsupported
from tests.support.manifests import INDEXED, PLAIN_JOB, change_causes, created, creation_causes, merged, obj

CRON: dict[str, Any] = {
    "metadata": {"name": "nightly", "namespace": "default"},
    "spec": {"schedule": "@daily", "jobTemplate": {"spec": PLAIN_JOB["spec"]}},
}
RULE = "spec.podFailurePolicy.rules[0]"
SUCCESS = "spec.successPolicy.rules[0]"


def failure_rule(text: str) -> str:
    return f"spec: {{podFailurePolicy: {{rules: [{{action: FailJob, {text}}}]}}}}"


def success_rule(text: str) -> str:
    return f"spec: {{{INDEXED}, successPolicy: {{rules: [{{{text}}}]}}}}"


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

POLICIES: list[Row] = [
    (failure_rule("onExitCodes: {operator: In, values: [1, 2]}"), []),
    (failure_rule("action: ''"), [
        required(f"{RULE}.action", 'valid values: ["Count" "FailIndex" "FailJob" "Ignore"]'),
        (RULE, "FieldValueInvalid", "Invalid value: specifying one of OnExitCodes and OnPodConditions is "
         "required"),
    ]),
    (failure_rule("action: FailIndex, onPodConditions: [{type: DisruptionTarget}]"), [
        invalid(f"{RULE}.action", '"FailIndex"', "requires the backoffLimitPerIndex to be set")
    ]),
    (failure_rule("onExitCodes: {operator: In, values: []}"), [
        invalid(f"{RULE}.onExitCodes.values", "[]", "at least one value is required")
    ]),
    (failure_rule("onExitCodes: {operator: In, values: [3, 0, 3], containerName: other}"), [
        invalid(
            f"{RULE}.onExitCodes.containerName",
            '"other"',
            "must be one of the container or initContainer names in the pod template",
        ),
        invalid(f"{RULE}.onExitCodes.values[1]", "0", "must not be 0 for the In operator"),
        duplicate(f"{RULE}.onExitCodes.values[2]", "3"),
        invalid(f"{RULE}.onExitCodes.values", "[3,0,3]", "must be ordered"),
    ]),
    (failure_rule("onExitCodes: {operator: Is, values: [1]}, onPodConditions: [{type: A, status: Maybe}]"), [
        unsupported(f"{RULE}.onExitCodes.operator", "Is", "In", "NotIn"),
        unsupported(f"{RULE}.onPodConditions[0].status", "Maybe", "False", "True", "Unknown"),
        (RULE, "FieldValueInvalid", "Invalid value: specifying both OnExitCodes and OnPodConditions is not "
         "supported"),
    ]),
    ("spec: {successPolicy: {rules: [{succeededCount: 1}]}}", [
        invalid(
            "spec.successPolicy",
            '{"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}',
            "requires indexed completion mode",
        )
    ]),
    (f"spec: {{{INDEXED}, successPolicy: {{rules: []}}}}", [
        required(
            "spec.successPolicy.rules",
            "at least one rules must be specified when the successPolicy is specified",
        )
    ]),
    (f"spec: {{{INDEXED}, successPolicy: {{rules: [{', '.join(['{succeededCount: 1}'] * 21)}]}}}}", [
        too_many("spec.successPolicy.rules", 21, 20)
    ]),
    (success_rule(""), [
        required(SUCCESS, "at least one of succeededCount or succeededIndexes must be specified")
    ]),
    (success_rule("succeededIndexes: '0,2', succeededCount: 3"), [
        invalid(
            f"{SUCCESS}.succeededCount",
            "3",
            "must be less than or equal to 2 (the number of indexes in the specified succeededIndexes field)",
        )
    ]),
    (success_rule("succeededCount: 4"), [
        invalid(
            f"{SUCCESS}.succeededCount",
            "4",
            "must be less than or equal to 3 (the number of specified completions)",
        )
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), [*JOBS, *POLICIES])
def test_jobs(text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(Job, text, PLAIN_JOB))) == expected


@pytest.mark.parametrize(
    ("indexes", "problem"),
    [
        ("0-2", None),
        ("2,1", "non-increasing order, previous: 2, current: 1"),
        ("1-0", "non-increasing order, previous: 1, current: 0"),
        ("3", 'too large index: "3"'),
        ("a", 'cannot convert string to integer for index: "a"'),
        (
            "0-1-2",
            'the fragment "0-1-2" violates the requirement that an index interval can have at most two parts '
            "separated by '-'",
        ),
    ],
)
def test_lists_of_indexes(indexes: str, problem: str | None) -> None:
    found = creation_causes(created(obj(Job, success_rule(f"succeededIndexes: '{indexes}'"), PLAIN_JOB)))
    where, text = f"{SUCCESS}.succeededIndexes", f"error parsing succeededIndexes: {problem}"
    assert found == ([invalid(where, f'"{indexes}"', text)] if problem else [])


def test_labels_that_the_user_gave_stay() -> None:
    made = created(obj(Job, "spec: {template: {metadata: {labels: {job-name: other}}}}", PLAIN_JOB))
    assert made.spec.template.metadata.labels["job-name"] == "other"


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


@pytest.mark.parametrize(("text", "expected"), CRON_JOBS)
def test_cron_jobs(text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(CronJob, text, CRON))) == expected


def test_a_time_zone_in_an_old_schedule_may_stay() -> None:
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
