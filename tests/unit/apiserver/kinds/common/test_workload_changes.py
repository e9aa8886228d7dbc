"""What may change of workloads: their specs, and the counts in their statuses."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.apps_v1 import ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet
from podling.api.batch_v1 import CronJob, Job
from podling.api.core_v1 import ReplicationController
from podling.apiserver.kinds.common.base import Context
from tests.support.causes import LABEL_TEXT, Cause, KindRow, Row, forbidden, invalid, required, unsupported
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

PLAIN: dict[str, Any] = {
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
    ReplicationController: merged(PLAIN, {"spec": {"selector": None}}),
    Job: PLAIN_JOB,
    CronJob: {
        "metadata": {"name": "sum", "namespace": "default"},
        "spec": {"schedule": "@daily", "jobTemplate": {"spec": PLAIN_JOB["spec"]}},
    },
}
WHOLE = "cannot be greater than status.replicas"


def base(kind: type[Any]) -> dict[str, Any]:
    return BASES.get(kind, PLAIN)


STATUSES: list[KindRow] = [
    (Deployment, "replicas: 3, readyReplicas: 2, availableReplicas: 1, updatedReplicas: 3", []),
    (
        Deployment,
        "replicas: 1, updatedReplicas: 2",
        [invalid("status.updatedReplicas", "2", WHOLE)],
    ),
    (
        Deployment,
        "replicas: 1, availableReplicas: 1",
        [invalid("status.availableReplicas", "1", "cannot be greater than readyReplicas")],
    ),
    (
        Deployment,
        "unavailableReplicas: -1",
        [invalid("status.unavailableReplicas", "-1", "must be greater than or equal to 0")],
    ),
    (Deployment, "collisionCount: 1", [invalid("status.collisionCount", "1", "cannot be decremented")]),
    (
        ReplicaSet,
        "replicas: 1, fullyLabeledReplicas: 2",
        [invalid("status.fullyLabeledReplicas", "2", WHOLE)],
    ),
    (
        ReplicationController,
        "replicas: 1, readyReplicas: 2",
        [invalid("status.readyReplicas", "2", WHOLE)],
    ),
    (
        StatefulSet,
        "replicas: 1, currentReplicas: 2",
        [
            invalid("status.currentReplicas", "2", WHOLE),
            invalid("status.collisionCount", "0", "cannot be decremented"),
        ],
    ),
    (
        StatefulSet,
        "replicas: 1, availableReplicas: 1, collisionCount: 2",
        [invalid("status.availableReplicas", "1", "cannot be greater than status.readyReplicas")],
    ),
    (
        DaemonSet,
        "numberReady: -1, collisionCount: 2",
        [invalid("status.numberReady", "-1", "must be greater than or equal to 0")],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), STATUSES)
def test_statuses(kind: type[Any], text: str, expected: list[Cause]) -> None:
    counted = kind in (StatefulSet, DaemonSet) or "collision" in text
    before = "status: {replicas: 0, collisionCount: 2}" if counted else "status: {replicas: 0}"
    if kind is DaemonSet:
        before = "status: {collisionCount: 2}"
    old = obj(kind, before, base(kind))
    assert change_causes(obj(kind, f"status: {{{text}}}", base(kind)), old, "status") == expected


ONLY_THESE = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
OTHER = "{matchLabels: {app: api}}"
RELABELLED = f"spec: {{selector: {OTHER}, template: {{metadata: {{labels: {{app: api}}}}}}}}"
CHANGES: list[KindRow] = [
    (StatefulSet, "spec: {replicas: 5, ordinals: {start: 1}, minReadySeconds: 3}", []),
    (StatefulSet, "spec: {revisionHistoryLimit: 3, updateStrategy: {type: OnDelete}}", []),
    (StatefulSet, "spec: {serviceName: web}", [forbidden("spec", ONLY_THESE)]),
    (StatefulSet, "spec: {podManagementPolicy: Parallel}", [forbidden("spec", ONLY_THESE)]),
    *(
        (kind, RELABELLED, [invalid("spec.selector", '{"matchLabels":{"app":"api"}}', "field is immutable")])
        for kind in (Deployment, ReplicaSet, DaemonSet)
    ),
    (ReplicationController, "spec: {selector: {app: api}, template: {metadata: {labels: {app: api}}}}", []),
]


@pytest.mark.parametrize(("kind", "text", "expected"), CHANGES)
def test_changes(kind: type[Any], text: str, expected: list[Cause]) -> None:
    old = created(obj(kind, "", base(kind)))
    assert change_causes(obj(kind, text, base(kind)), old) == expected


STATEFUL: list[Row] = [
    ("spec: {serviceName: Web}", [
        invalid(
            "spec.serviceName",
            '"Web"',
            LABEL_TEXT,
        )
    ]),
    ("spec: {persistentVolumeClaimRetentionPolicy: {whenScaled: Burn}}", [
        unsupported("spec.persistentVolumeClaimRetentionPolicy.whenScaled", "Burn", "Retain", "Delete")
    ]),
    ("spec: {updateStrategy: {type: OnDelete, rollingUpdate: {partition: 1}}}", [
        invalid(
            "spec.updateStrategy.rollingUpdate",
            '{"Partition":1,"MaxUnavailable":null}',
            "only allowed for updateStrategy 'RollingUpdate'",
        )
    ]),
    ("spec: {updateStrategy: {rollingUpdate: {maxUnavailable: 0%}}}", [
        invalid("spec.updateStrategy.rollingUpdate.maxUnavailable", '"0%"', "cannot be 0")
    ]),
    ("spec: {updateStrategy: {type: Rolling}}", [
        invalid(
            "spec.updateStrategy",
            '{"Type":"Rolling","RollingUpdate":null}',
            "must be 'RollingUpdate' or 'OnDelete'",
        )
    ]),
    ("spec: {revisionHistoryLimit: -1, template: {spec: {hostname: N_O, subdomain: N_O}}}", []),
    ("spec: {ordinals: {start: -1}}", [
        invalid("spec.ordinals.start", "-1", "must be greater than or equal to 0")
    ]),
    ("spec: {template: {spec: {restartPolicy: Never}}}", [
        unsupported("spec.template.spec.restartPolicy", "Never", "Always")
    ]),
    ("spec: {template: {spec: {activeDeadlineSeconds: 1}}}", [
        forbidden(
            "spec.template.spec.activeDeadlineSeconds",
            "activeDeadlineSeconds in StatefulSet is not Supported",
        )
    ]),
    ("spec: {selector: null}", [
        required("spec.selector"),
        invalid(
            "spec.template.metadata.labels",
            '{"app":"web"}',
            "`selector` does not match template `labels`",
        ),
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), STATEFUL)
def test_stateful_sets(text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(StatefulSet, text, PLAIN))) == expected


def test_claims_that_could_not_be_made_are_refused_with_the_set() -> None:
    text = "spec: {volumeClaimTemplates: [{metadata: {name: data}, spec: {volumeMode: Tape}}]}"
    here = "spec.volumeClaimTemplates[0].spec"
    new = created(obj(StatefulSet, text, PLAIN))
    assert creation_causes(new) == [
        required(f"{here}.accessModes", "at least 1 access mode is required"),
        required(f"{here}.resources[storage]"),
        unsupported(f"{here}.volumeMode", "Tape", "Block", "Filesystem"),
    ]
    assert change_causes(new, new) == [], "what was let in before is left alone"


def test_volumes_of_claims_come_first_and_go_before_others_of_their_name() -> None:
    spec = "{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}"
    claim = f"{{metadata: {{name: Data}}, spec: {spec}}}"
    volumes = "volumes: [{name: Data, emptyDir: {}}, {name: Old, emptyDir: {}}]"
    text = f"spec: {{volumeClaimTemplates: [{claim}, {claim}], template: {{spec: {{{volumes}}}}}}}"
    found = creation_causes(created(obj(StatefulSet, text, PLAIN)))
    assert [cause[0] for cause in found] == [
        "spec.template.spec.volumes[0].name",
        "spec.template.spec.volumes[1].name",
    ]


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (Deployment, "spec: {strategy: {type: Roll}}", '{"Type":"Roll","RollingUpdate":null}'),
        (
            DaemonSet,
            "spec: {updateStrategy: {type: Roll, rollingUpdate: {maxSurge: 5%}}}",
            '{"Type":"Roll","RollingUpdate":{"MaxUnavailable":0,"MaxSurge":"5%"}}',
        ),
    ],
)
def test_strategies_of_unknown_types_are_shown_with_go_s_names(
    kind: type[Any], text: str, expected: str
) -> None:
    (cause,) = creation_causes(created(obj(kind, text, PLAIN)))
    assert cause[2].startswith(f"Unsupported value: {expected}: supported values: ")


def test_a_daemon_set_without_a_selector_selects_none_of_its_pods() -> None:
    (cause,) = creation_causes(created(obj(DaemonSet, "spec: {selector: null}", PLAIN)))
    assert cause[0] == "spec.template.metadata.labels"


FRACTION = 'fractional byte value "100m" is invalid, must be an integer'
GREEDY = "volumeClaimTemplates: [{spec: {resources: {requests: {storage: 100m}, limits: {storage: 100m}}}}]"
PORTS = "[{containerPort: 1}, {containerPort: 1}]"
PORTED = f"template: {{spec: {{containers: [{{name: main, image: x, ports: {PORTS}}}]}}}}"


def warned(new: Any, old: Any = None) -> list[str]:
    return rules(type(new)).warnings(new, old, Context(NOW))


@pytest.mark.parametrize("kind", [Deployment, ReplicaSet, ReplicationController, Job, CronJob])
def test_names_that_are_no_host_names_are_warned_of_once(kind: type[Any]) -> None:
    new = created(obj(kind, "metadata: {name: web.v1}", base(kind)))
    (text,) = warned(new)
    assert text.endswith("a DNS label is recommended: [must not contain dots]")
    assert text.startswith("metadata.name: this is used in Pod names and hostnames, ")
    assert warned(new, new) == []


@pytest.mark.parametrize("kind", [Deployment, ReplicaSet, DaemonSet, StatefulSet])
def test_templates_are_warned_of_with_every_new_generation(kind: type[Any]) -> None:
    new = created(obj(kind, f"spec: {{{PORTED}}}", PLAIN))
    other = created(obj(kind, f"spec: {{{PORTED}, minReadySeconds: 9}}", PLAIN))
    assert len(warned(new)) == len(warned(other, new)) == 1
    assert warned(new, new) == []


def test_what_stateful_sets_are_warned_of() -> None:
    new = created(obj(StatefulSet, f"spec: {{revisionHistoryLimit: -1, {GREEDY}}}", PLAIN))
    where = "spec.volumeClaimTemplates[0]"
    history = "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is "
    assert warned(new) == [
        f"{where}.resources.requests[storage]: {FRACTION}",
        f"{where}.resources.limits[storage]: {FRACTION}",
        f"{history}recommended",
    ]
    assert warned(new, new)[0] == f"{where}.Spec.resources.requests[storage]: {FRACTION}"


def test_jobs_too_large_to_track() -> None:
    large = "completionMode: Indexed, completions: 100001, parallelism: 10001"
    (text,) = warned(created(obj(Job, f"spec: {{{large}}}", PLAIN_JOB)))
    assert text.startswith("spec: In Indexed Jobs with a number of completions higher than 10^5 ")
    scheduled = f"spec: {{schedule: '@daily', jobTemplate: {{spec: {{{large}}}}}}}"
    (text,) = warned(created(obj(CronJob, scheduled, base(CronJob))))
    assert text.startswith("spec.jobTemplate.spec: In Indexed Jobs ")


def test_zones_in_old_schedules_are_warned_of_with_every_update() -> None:
    old = created(obj(CronJob, "spec: {schedule: 'TZ=UTC @daily'}", base(CronJob)))
    assert warned(old, old) == [
        "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
        "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
    ]
    new = created(obj(CronJob, "spec: {schedule: '@daily', timeZone: UTC}", base(CronJob)))
    assert warned(new, old) == []


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("{}", []),
        ("null", [required("data", "data is mandatory")]),
        ("[1]", [required("data", "data must be a valid JSON object")]),
    ],
)
def test_controller_revisions_hold_objects(data: str, expected: list[Cause]) -> None:
    text = f"{{metadata: {{name: a}}, revision: 1, data: {data}}}"
    assert creation_causes(obj(ControllerRevision, text)) == expected
