"""Tests of the rules of Deployments."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling.api.apps_v1 import Deployment
from podling.apiserver.kinds.common.base import Context
from tests.support.causes import Cause, KindRow, causes, forbidden, invalid, required, unsupported
from tests.support.manifests import NOW, change_causes, created, creation_causes, obj, rules
from tests.support.workload_manifests import WORKLOAD, base, make, spec_of

WHOLE = "cannot be greater than status.replicas"
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
]


@pytest.mark.parametrize(("kind", "text", "expected"), STATUSES)
def test_status_counts_of_deployment_are_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    before = "status: {replicas: 0, collisionCount: 2}" if "collision" in text else "status: {replicas: 0}"
    old = obj(kind, before, base(kind))
    assert change_causes(obj(kind, f"status: {{{text}}}", base(kind)), old, "status") == expected


OTHER = "{matchLabels: {app: api}}"
RELABELLED = f"spec: {{selector: {OTHER}, template: {{metadata: {{labels: {{app: api}}}}}}}}"
CHANGES: list[KindRow] = [
    *(
        (kind, RELABELLED, [invalid("spec.selector", '{"matchLabels":{"app":"api"}}', "field is immutable")])
        for kind in (Deployment,)
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), CHANGES)
def test_change_of_deployment_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    old = created(obj(kind, "", base(kind)))
    assert change_causes(obj(kind, text, base(kind)), old) == expected


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
    ],
)
def test_defaults_of_deployment_are_filled_in(kind: type[Any], expected: dict[str, Any]) -> None:
    assert spec_of(make(kind)) == expected


NEW_OBJECTS: list[KindRow] = [
    *((kind, "", []) for kind in (Deployment,)),
    (
        Deployment,
        "spec: {replicas: -1}",
        [invalid("spec.replicas", "-1", "must be greater than or equal to 0")],
    ),
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
]


@pytest.mark.parametrize(("kind", "fragment", "expected"), NEW_OBJECTS)
def test_new_deployment_is_validated(kind: type[Any], fragment: str, expected: list[Cause]) -> None:
    assert creation_causes(make(kind, fragment)) == expected


@pytest.mark.parametrize(
    ("kind", "fragment", "field"),
    [
        (Deployment, "{metadata: {}, spec: {template: {metadata: {labels: {app: other}}}}}", "spec.selector"),
    ],
)
def test_immutable_field_of_deployment_cannot_change(kind: type[Any], fragment: str, field: str) -> None:
    old = make(kind)
    changed = make(kind, fragment)
    if field == "spec.selector":
        other = structs.replace(changed.spec.selector, match_labels={"app": "other"})
        changed = structs.replace(changed, spec=structs.replace(changed.spec, selector=other))
    found = causes(rules(kind).validate_update(changed, old, Context(NOW)))
    assert field in [cause[0] for cause in found]


TAIL = ["5m", "main", "nginx:1.27", "app=web"]
ROWS: list[tuple[type[Any], str, list[Any]]] = [
    (
        Deployment,
        "spec: {replicas: 3}\nstatus: {readyReplicas: 2, updatedReplicas: 3, availableReplicas: 1}",
        ["web", "2/3", 3, 1, *TAIL],
    ),
]
AGES = "metadata: {creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "fragment", "expected"), ROWS)
def test_row_of_deployment_shows_its_state(kind: type[Any], fragment: str, expected: list[Any]) -> None:
    thing = rules(kind).default(obj(kind, f"{AGES}\n{fragment}", WORKLOAD))
    assert list(rules(kind).row(thing, NOW)) == expected


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (Deployment, "spec: {strategy: {type: Roll}}", '{"Type":"Roll","RollingUpdate":null}'),
    ],
)
def test_unknown_strategy_of_deployment_is_shown_with_go_names(
    kind: type[Any], text: str, expected: str
) -> None:
    (cause,) = creation_causes(created(obj(kind, text, WORKLOAD)))
    assert cause[2].startswith(f"Unsupported value: {expected}: supported values: ")
