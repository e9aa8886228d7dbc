"""Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs and CronJobs: defaults, causes and rows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from podling.api.apps_v1 import DaemonSet, Deployment, ReplicaSet, StatefulSet
from podling.api.autoscaling_v1 import Scale, ScaleSpec
from podling.api.batch_v1 import CronJob, Job
from podling.api.core_v1 import ReplicationController
from podling.apiserver.kinds.common.base import Context, View
from podling.machinery.encoding import codec
from tests.support.causes import Cause, KindRow, causes, forbidden, invalid, required, unsupported
from tests.support.manifests import NOW, created, creation_causes, merged, obj, rules

TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "main", "image": "nginx:1.27"}]},
}
PLAIN: dict[str, Any] = {
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE},
}
JOB: dict[str, Any] = {
    "metadata": {"name": "web", "namespace": "default", "uid": "u1"},
    "spec": {"template": {"spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}},
}
CRON: dict[str, Any] = {
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": JOB["spec"]}},
}


BASES: dict[Any, dict[str, Any]] = {Job: JOB, CronJob: CRON}


def make(kind: type[Any], fragment: str = "") -> Any:
    base = BASES.get(kind, PLAIN)
    if kind is ReplicationController:
        base = merged(base, {"spec": {"selector": None}})
    return created(obj(kind, fragment, base))


def spec_of(thing: Any, *left_out: str) -> dict[str, Any]:
    spec: dict[str, Any] = codec.to_plain(thing)["spec"]
    return {key: value for key, value in spec.items() if key not in ("template", "selector", *left_out)}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (
            Deployment,
            {
                "progressDeadlineSeconds": 600,
                "replicas": 1,
                "revisionHistoryLimit": 10,
                "strategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
                },
            },
        ),
        (ReplicaSet, {"replicas": 1}),
        (ReplicationController, {"replicas": 1}),
        (
            StatefulSet,
            {
                "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
                "podManagementPolicy": "OrderedReady",
                "replicas": 1,
                "revisionHistoryLimit": 10,
                "serviceName": "",
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            },
        ),
        (
            DaemonSet,
            {
                "revisionHistoryLimit": 10,
                "updateStrategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1},
                },
            },
        ),
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
def test_defaults(kind: type[Any], expected: dict[str, Any]) -> None:
    assert spec_of(make(kind)) == expected


def test_defaults_of_a_cron_job() -> None:
    assert spec_of(make(CronJob), "jobTemplate") == {
        "concurrencyPolicy": "Allow",
        "failedJobsHistoryLimit": 1,
        "schedule": "*/5 * * * *",
        "successfulJobsHistoryLimit": 3,
        "suspend": False,
    }


def test_the_template_gets_a_pods_defaults() -> None:
    for kind in (Deployment, ReplicaSet, StatefulSet, DaemonSet, Job):
        assert make(kind).spec.template.spec.dns_policy == "ClusterFirst"


def test_a_job_finds_its_pods_by_its_own_uid() -> None:
    job = make(Job)
    assert job.spec.selector.match_labels == {"batch.kubernetes.io/controller-uid": "u1"}
    assert job.spec.template.metadata.labels == {
        "batch.kubernetes.io/controller-uid": "u1",
        "batch.kubernetes.io/job-name": "web",
        "controller-uid": "u1",
        "job-name": "web",
    }


CAUSES: list[KindRow] = [
    *((kind, "", []) for kind in (Deployment, ReplicaSet, ReplicationController, StatefulSet, DaemonSet)),
    (Job, "", []),
    (CronJob, "", []),
    (
        Deployment,
        "spec: {replicas: -1}",
        [invalid("spec.replicas", "-1", "must be greater than or equal to 0")],
    ),
    (
        ReplicationController,
        "spec: {template: {metadata: {labels: null}}}",
        [required("spec.selector")],
    ),
    (ReplicationController, "spec: {template: null}", [required("spec.selector"), required("spec.template")]),
    (
        Deployment,
        "spec: {selector: null}",
        [
            required("spec.selector"),
            invalid(
                "spec.template.metadata.labels",
                '{"app":"web"}',
                "`selector` does not match template `labels`",
            ),
        ],
    ),
    (
        Deployment,
        "spec: {selector: {matchLabels: {app: other}}}",
        [
            invalid(
                "spec.template.metadata.labels",
                '{"app":"web"}',
                "`selector` does not match template `labels`",
            )
        ],
    ),
    (
        Deployment,
        "spec: {strategy: {type: Recreate, rollingUpdate: {maxSurge: 1}}}",
        [forbidden("spec.strategy.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")],
    ),
    (
        Deployment,
        "spec: {strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 0}}}",
        [invalid("spec.strategy.rollingUpdate.maxUnavailable", "0", "may not be 0 when `maxSurge` is 0")],
    ),
    (
        Deployment,
        "spec: {strategy: {rollingUpdate: {maxUnavailable: 150%}}}",
        [invalid("spec.strategy.rollingUpdate.maxUnavailable", '"150%"', "must not be greater than 100%")],
    ),
    (
        Deployment,
        "spec: {template: {spec: {restartPolicy: Never}}}",
        [unsupported("spec.template.spec.restartPolicy", "Never", "Always")],
    ),
    (
        ReplicaSet,
        "spec: {template: {spec: {containers: [{name: main}]}}}",
        [required("spec.template.spec.containers[0].image")],
    ),
    (
        StatefulSet,
        "spec: {podManagementPolicy: Chaotic}",
        [invalid("spec.podManagementPolicy", '"Chaotic"', "must be 'OrderedReady' or 'Parallel'")],
    ),
    (
        DaemonSet,
        "spec: {updateStrategy: {rollingUpdate: {maxUnavailable: 1, maxSurge: 1}}}",
        [
            invalid(
                "spec.updateStrategy.rollingUpdate.maxSurge",
                "1",
                "may not be set when maxUnavailable is non-zero",
            )
        ],
    ),
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


@pytest.mark.parametrize(("kind", "fragment", "expected"), CAUSES)
def test_causes(kind: type[Any], fragment: str, expected: list[Cause]) -> None:
    assert creation_causes(make(kind, fragment)) == expected


@pytest.mark.parametrize(
    ("kind", "fragment", "field"),
    [
        (Deployment, "{metadata: {}, spec: {template: {metadata: {labels: {app: other}}}}}", "spec.selector"),
        (DaemonSet, "{metadata: {}}", "spec.selector"),
        (Job, "spec: {template: {spec: {nodeName: n1}}}", "spec.template"),
        (Job, "spec: {completions: 5}", "spec.completions"),
        (StatefulSet, "spec: {serviceName: other}", "spec"),
    ],
)
def test_what_may_never_change(kind: type[Any], fragment: str, field: str) -> None:
    old = make(kind)
    changed = make(kind, fragment)
    if field == "spec.selector":
        other = structs.replace(changed.spec.selector, match_labels={"app": "other"})
        changed = structs.replace(changed, spec=structs.replace(changed.spec, selector=other))
    found = causes(rules(kind).validate_update(changed, old, Context(NOW)))
    assert field in [cause[0] for cause in found]


AGES = "metadata: {creationTimestamp: '2026-01-01T11:55:00Z'}"
TAIL = ["5m", "main", "nginx:1.27", "app=web"]

TABLES: list[tuple[type[Any], str, list[Any]]] = [
    (
        Deployment,
        "spec: {replicas: 3}\nstatus: {readyReplicas: 2, updatedReplicas: 3, availableReplicas: 1}",
        ["web", "2/3", 3, 1, *TAIL],
    ),
    (ReplicaSet, "spec: {replicas: 3}\nstatus: {replicas: 2, readyReplicas: 1}", ["web", 3, 2, 1, *TAIL]),
    (StatefulSet, "status: {readyReplicas: 1}", ["web", "1/1", "5m", "main", "nginx:1.27"]),
    (
        DaemonSet,
        "spec: {template: {spec: {nodeSelector: {disk: ssd}}}}\n"
        "status: {desiredNumberScheduled: 4, currentNumberScheduled: 3, numberReady: 2, "
        "updatedNumberScheduled: 1, numberAvailable: 1}",
        ["web", 4, 3, 2, 1, 1, "disk=ssd", *TAIL],
    ),
]


@pytest.mark.parametrize(("kind", "fragment", "expected"), TABLES)
def test_rows(kind: type[Any], fragment: str, expected: list[Any]) -> None:
    thing = rules(kind).default(obj(kind, f"{AGES}\n{fragment}", PLAIN))
    assert list(rules(kind).row(thing, NOW)) == expected


def test_rows_of_jobs() -> None:
    started = (NOW - timedelta(seconds=90)).strftime("%Y-%m-%dT%H:%M:%SZ")
    running = make(Job)
    done = obj(
        Job,
        f"status: {{startTime: '{started}', succeeded: 1, conditions: [{{type: Complete, status: 'True'}}]}}",
    )
    finished = structs.replace(running, status=done.status)
    assert list(rules(Job).row(running, NOW))[1:4] == ["Running", "0/1", ""]
    assert list(rules(Job).row(finished, NOW))[1:4] == ["Complete", "1/1", "90s"]


def test_row_of_a_cron_job() -> None:
    row = rules(CronJob).row(make(CronJob, "spec: {timeZone: Europe/Berlin}"), NOW)
    assert list(row)[:6] == ["web", "*/5 * * * *", "Europe/Berlin", "False", 0, "<none>"]


def test_scale_shows_and_sets_the_replicas() -> None:
    deployment = make(Deployment)
    view = rules(Deployment).subresources["scale"]
    assert isinstance(view, View)
    shown = view.show(deployment)
    assert isinstance(shown, Scale)
    assert (shown.spec.replicas, shown.status.selector) == (1, "app=web")
    changed = view.put(deployment, Scale(spec=ScaleSpec(replicas=5)), Context(NOW))
    assert changed.spec.replicas == 5
