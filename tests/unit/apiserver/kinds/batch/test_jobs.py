"""Tests of the rules of Jobs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from podling.api.batch_v1 import Job
from podling.apiserver.kinds.common.base import Context
from tests.support.causes import Cause, KindRow, causes, required
from tests.support.manifests import NOW, PLAIN_JOB, created, creation_causes, obj, rules
from tests.support.workload_manifests import spec_of

JOB: dict[str, Any] = {
    "metadata": {"name": "web", "namespace": "default", "uid": "u1"},
    "spec": {
        "template": {
            "spec": {"containers": [{"name": "main", "image": "nginx:1.27"}], "restartPolicy": "Never"}
        }
    },
}


def make(kind: type[Any], fragment: str = "") -> Any:
    return created(obj(kind, fragment, JOB))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (
            Job,
            {
                "backoffLimit": 6,
                "completionMode": "NonIndexed",
                "completions": 1,
                "parallelism": 1,
                "podReplacementPolicy": "TerminatingOrFailed",
                "suspend": False,
            },
        ),
    ],
)
def test_defaults_of_job_are_filled_in(kind: type[Any], expected: dict[str, Any]) -> None:
    assert spec_of(make(kind)) == expected


NEW_OBJECTS: list[KindRow] = [
    (Job, "", []),
    (
        Job,
        "spec: {template: {spec: {restartPolicy: Always}}}",
        [required("spec.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"')],
    ),
    (
        Job,
        "spec: {completionMode: Indexed, completions: null, parallelism: 2}",
        [required("spec.completions", "when completion mode is Indexed")],
    ),
    (
        Job,
        "spec: {podFailurePolicy: {rules: [{action: FailJob}]}}",
        [
            (
                "spec.podFailurePolicy.rules[0]",
                "FieldValueInvalid",
                "Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
            )
        ],
    ),
]


@pytest.mark.parametrize(("kind", "fragment", "expected"), NEW_OBJECTS)
def test_new_job_is_validated(kind: type[Any], fragment: str, expected: list[Cause]) -> None:
    assert creation_causes(make(kind, fragment)) == expected


@pytest.mark.parametrize(
    ("kind", "fragment", "field"),
    [
        (Job, "spec: {template: {spec: {nodeName: n1}}}", "spec.template"),
        (Job, "spec: {completions: 5}", "spec.completions"),
    ],
)
def test_immutable_field_of_job_cannot_change(kind: type[Any], fragment: str, field: str) -> None:
    old = make(kind)
    changed = make(kind, fragment)
    if field == "spec.selector":
        other = structs.replace(changed.spec.selector, match_labels={"app": "other"})
        changed = structs.replace(changed, spec=structs.replace(changed.spec, selector=other))
    found = causes(rules(kind).validate_update(changed, old, Context(NOW)))
    assert field in [cause[0] for cause in found]


def test_job_selects_pods_by_its_own_uid() -> None:
    job = make(Job)
    assert job.spec.selector.match_labels == {"batch.kubernetes.io/controller-uid": "u1"}
    assert job.spec.template.metadata.labels == {
        "batch.kubernetes.io/controller-uid": "u1",
        "batch.kubernetes.io/job-name": "web",
        "controller-uid": "u1",
        "job-name": "web",
    }


def test_row_of_job_shows_status_and_duration() -> None:
    started = (NOW - timedelta(seconds=90)).strftime("%Y-%m-%dT%H:%M:%SZ")
    running = make(Job)
    done = obj(
        Job,
        f"status: {{startTime: '{started}', succeeded: 1, conditions: [{{type: Complete, status: 'True'}}]}}",
    )
    finished = structs.replace(running, status=done.status)
    assert list(rules(Job).row(running, NOW))[1:4] == ["Running", "0/1", ""]
    assert list(rules(Job).row(finished, NOW))[1:4] == ["Complete", "1/1", "90s"]


def test_labels_of_the_user_stay() -> None:
    made = created(obj(Job, "spec: {template: {metadata: {labels: {job-name: other}}}}", PLAIN_JOB))
    assert made.spec.template.metadata.labels["job-name"] == "other"
