"""Tests of the rules of StatefulSets."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling.api.apps_v1 import StatefulSet
from podling.apiserver.kinds.common.base import Context
from tests.support.causes import (
    LABEL_TEXT,
    Cause,
    KindRow,
    Row,
    causes,
    forbidden,
    invalid,
    required,
    unsupported,
)
from tests.support.manifests import NOW, change_causes, created, creation_causes, obj, rules
from tests.support.workload_manifests import WORKLOAD, base, make, spec_of

WHOLE = "cannot be greater than status.replicas"
STATUSES: list[KindRow] = [
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
]


@pytest.mark.parametrize(("kind", "text", "expected"), STATUSES)
def test_status_counts_of_stateful_set_are_validated(
    kind: type[Any], text: str, expected: list[Cause]
) -> None:
    before = "status: {replicas: 0, collisionCount: 2}"
    old = obj(kind, before, base(kind))
    assert change_causes(obj(kind, f"status: {{{text}}}", base(kind)), old, "status") == expected


ONLY_THESE = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
CHANGES: list[KindRow] = [
    (StatefulSet, "spec: {replicas: 5, ordinals: {start: 1}, minReadySeconds: 3}", []),
    (StatefulSet, "spec: {revisionHistoryLimit: 3, updateStrategy: {type: OnDelete}}", []),
    (StatefulSet, "spec: {serviceName: web}", [forbidden("spec", ONLY_THESE)]),
    (StatefulSet, "spec: {podManagementPolicy: Parallel}", [forbidden("spec", ONLY_THESE)]),
]


@pytest.mark.parametrize(("kind", "text", "expected"), CHANGES)
def test_change_of_stateful_set_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    old = created(obj(kind, "", base(kind)))
    assert change_causes(obj(kind, text, base(kind)), old) == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
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
    ],
)
def test_defaults_of_stateful_set_are_filled_in(kind: type[Any], expected: dict[str, Any]) -> None:
    assert spec_of(make(kind)) == expected


NEW_OBJECTS: list[KindRow] = [
    *((kind, "", []) for kind in (StatefulSet,)),
    (
        StatefulSet,
        "spec: {podManagementPolicy: Chaotic}",
        [invalid("spec.podManagementPolicy", '"Chaotic"', "must be 'OrderedReady' or 'Parallel'")],
    ),
]


@pytest.mark.parametrize(("kind", "fragment", "expected"), NEW_OBJECTS)
def test_new_stateful_set_is_validated(kind: type[Any], fragment: str, expected: list[Cause]) -> None:
    assert creation_causes(make(kind, fragment)) == expected


@pytest.mark.parametrize(
    ("kind", "fragment", "field"),
    [
        (StatefulSet, "spec: {serviceName: other}", "spec"),
    ],
)
def test_immutable_field_of_stateful_set_cannot_change(kind: type[Any], fragment: str, field: str) -> None:
    old = make(kind)
    changed = make(kind, fragment)
    if field == "spec.selector":
        other = structs.replace(changed.spec.selector, match_labels={"app": "other"})
        changed = structs.replace(changed, spec=structs.replace(changed.spec, selector=other))
    found = causes(rules(kind).validate_update(changed, old, Context(NOW)))
    assert field in [cause[0] for cause in found]


ROWS: list[tuple[type[Any], str, list[Any]]] = [
    (StatefulSet, "status: {readyReplicas: 1}", ["web", "1/1", "5m", "main", "nginx:1.27"]),
]
AGES = "metadata: {creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "fragment", "expected"), ROWS)
def test_row_of_stateful_set_shows_its_state(kind: type[Any], fragment: str, expected: list[Any]) -> None:
    thing = rules(kind).default(obj(kind, f"{AGES}\n{fragment}", WORKLOAD))
    assert list(rules(kind).row(thing, NOW)) == expected


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
def test_invalid_stateful_set_is_refused_with_causes(text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(StatefulSet, text, WORKLOAD))) == expected


def test_invalid_claim_template_is_refused_with_stateful_set() -> None:
    text = "spec: {volumeClaimTemplates: [{metadata: {name: data}, spec: {volumeMode: Tape}}]}"
    here = "spec.volumeClaimTemplates[0].spec"
    new = created(obj(StatefulSet, text, WORKLOAD))
    assert creation_causes(new) == [
        required(f"{here}.accessModes", "at least 1 access mode is required"),
        required(f"{here}.resources[storage]"),
        unsupported(f"{here}.volumeMode", "Tape", "Block", "Filesystem"),
    ]
    assert change_causes(new, new) == [], "stored claim templates are not validated again"


def test_claim_volumes_come_before_template_volumes() -> None:
    spec = "{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}"
    claim = f"{{metadata: {{name: Data}}, spec: {spec}}}"
    volumes = "volumes: [{name: Data, emptyDir: {}}, {name: Old, emptyDir: {}}]"
    text = f"spec: {{volumeClaimTemplates: [{claim}, {claim}], template: {{spec: {{{volumes}}}}}}}"
    found = creation_causes(created(obj(StatefulSet, text, WORKLOAD)))
    assert [cause[0] for cause in found] == [
        "spec.template.spec.volumes[0].name",
        "spec.template.spec.volumes[1].name",
    ]


def warnings_of(new: Any, old: Any = None) -> list[str]:
    return rules(type(new)).warnings(new, old, Context(NOW))


FRACTION = 'fractional byte value "100m" is invalid, must be an integer'
GREEDY = "volumeClaimTemplates: [{spec: {resources: {requests: {storage: 100m}, limits: {storage: 100m}}}}]"


def test_stateful_set_warns_of_fractions_and_history_limit() -> None:
    new = created(obj(StatefulSet, f"spec: {{revisionHistoryLimit: -1, {GREEDY}}}", WORKLOAD))
    where = "spec.volumeClaimTemplates[0]"
    history = "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is "
    assert warnings_of(new) == [
        f"{where}.resources.requests[storage]: {FRACTION}",
        f"{where}.resources.limits[storage]: {FRACTION}",
        f"{history}recommended",
    ]
    assert warnings_of(new, new)[0] == f"{where}.Spec.resources.requests[storage]: {FRACTION}"
