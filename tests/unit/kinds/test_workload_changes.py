"""What may change of workloads: their specs, and the counts in their statuses."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.apps_v1 import DaemonSet, Deployment, ReplicaSet, StatefulSet
from podling.api.core_v1 import ReplicationController
from tests.support.causes import Cause, KindRow, Row, forbidden, invalid, required, unsupported
from tests.support.manifests import change_causes, created, creation_causes, merged, obj

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
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
            "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for "
            "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        )
    ]),
    ("spec: {persistentVolumeClaimRetentionPolicy: {whenScaled: Burn}}", [
        unsupported("spec.persistentVolumeClaimRetentionPolicy.whenScaled", "Burn", "Retain", "Delete")
    ]),
    ("spec: {updateStrategy: {type: OnDelete, rollingUpdate: {partition: 1}}}", [
        invalid(
            "spec.updateStrategy.rollingUpdate",
            '{"partition":1}',
            "only allowed for updateStrategy 'RollingUpdate'",
        )
    ]),
    ("spec: {updateStrategy: {rollingUpdate: {maxUnavailable: 0%}}}", [
        invalid("spec.updateStrategy.rollingUpdate.maxUnavailable", '"0%"', "cannot be 0")
    ]),
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
