"""What is wrong with Jobs, their policies, their status, and with CronJobs: a fragment and its causes."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling.api.batch_v1 import CronJob, Job
from podling.machinery import codec
from tests.support.causes import Cause, Row, duplicate, invalid, required, too_long, too_many, unsupported
from tests.support.manifests import change_causes, created, creation_causes, merged, obj

TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "x"}], "restartPolicy": "Never"}}
JOB: dict[str, Any] = {
    "metadata": {"name": "sum", "namespace": "default", "uid": "u1"},
    "spec": {"template": TEMPLATE},
}
CRON: dict[str, Any] = {
    "metadata": {"name": "nightly", "namespace": "default"},
    "spec": {"schedule": "@daily", "jobTemplate": {"spec": {"template": TEMPLATE}}},
}
INDEXED = "completionMode: Indexed, completions: 3, parallelism: 3"
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
        invalid("spec.successPolicy", '{"rules":[{"succeededCount":1}]}', "requires indexed completion mode")
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
    assert creation_causes(created(obj(Job, text, JOB))) == expected


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
    found = creation_causes(created(obj(Job, success_rule(f"succeededIndexes: '{indexes}'"), JOB)))
    where, text = f"{SUCCESS}.succeededIndexes", f"error parsing succeededIndexes: {problem}"
    assert found == ([invalid(where, f'"{indexes}"', text)] if problem else [])


def test_labels_that_the_user_gave_stay() -> None:
    made = created(obj(Job, "spec: {template: {metadata: {labels: {job-name: other}}}}", JOB))
    assert made.spec.template.metadata.labels["job-name"] == "other"


HALTED = merged(JOB, {"spec": {"suspend": True}})
IMMUTABLE = "field is immutable"
CHANGES: list[tuple[dict[str, Any], str, list[tuple[str, str]]]] = [
    (JOB, "spec: {parallelism: 3, backoffLimit: 1, suspend: true}", []),
    (JOB, "spec: {template: {spec: {nodeSelector: {a: b}}}}", [("spec.template", IMMUTABLE)]),
    (HALTED, "spec: {template: {spec: {nodeSelector: {a: b}, tolerations: [{operator: Exists}]}}}", []),
    (HALTED, "spec: {template: {metadata: {annotations: {a: b}}}}", []),
    (HALTED, "spec: {template: {spec: {affinity: {nodeAffinity: {}}}}}", []),
    (
        HALTED,
        "spec: {template: {spec: {affinity: {podAffinity: {}}}}}",
        [("spec.template", IMMUTABLE)],
    ),
    (HALTED, "spec: {template: {spec: {priorityClassName: high}}}", [("spec.template", IMMUTABLE)]),
    (JOB, "spec: {completions: 2}", [("spec.completions", IMMUTABLE)]),
]


@pytest.mark.parametrize(("base", "text", "expected"), CHANGES)
def test_changes(base: dict[str, Any], text: str, expected: list[tuple[str, str]]) -> None:
    old = created(obj(Job, "", base))
    changed = codec.to_plain(old)
    new = obj(Job, text, {**changed, "spec": merged(base["spec"], changed["spec"])})
    found = [(cause[0], cause[2].rpartition(": ")[2]) for cause in change_causes(new, old)]
    assert found == expected


def test_an_indexed_job_is_resized_in_tandem() -> None:
    old = created(obj(Job, f"spec: {{{INDEXED}}}", JOB))
    resized = structs.replace(old, spec=structs.replace(old.spec, completions=5, parallelism=5))
    assert change_causes(resized, old) == []
    uneven = structs.replace(old, spec=structs.replace(old.spec, completions=5))
    assert change_causes(uneven, old) == [
        invalid("spec.completions", "5", "can only be modified in tandem with spec.parallelism")
    ]


START, END = "startTime: '2026-01-01T10:00:00Z'", "completionTime: '2026-01-01T11:00:00Z'"
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
            '{"failed":["u"]}',
            "uncountedTerminatedPods needs to be empty for finished job",
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
    old, new = (obj(Job, f"status: {{{text}}}", JOB) for text in (before, after))
    assert change_causes(new, structs.replace(created(old), status=old.status), "status") == expected


def test_an_index_does_not_fail_and_succeed() -> None:
    spec = f"spec: {{{INDEXED}, backoffLimitPerIndex: 1}}"
    old = created(obj(Job, spec, JOB))
    new = obj(Job, f"{spec}\nstatus: {{completedIndexes: '0-1', failedIndexes: '1,2'}}", JOB)
    assert change_causes(new, old, "status") == [
        invalid("status.failedIndexes", '"1,2"', "failedIndexes and completedIndexes overlap at index: 1")
    ]


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
        )
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
