"""Tests of the rules of DaemonSets."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling.api.apps_v1 import DaemonSet
from podling.apiserver.kinds.common.base import Context
from tests.support.causes import Cause, KindRow, causes, invalid
from tests.support.manifests import NOW, change_causes, created, creation_causes, obj, rules
from tests.support.workload_manifests import WORKLOAD, base, make, spec_of

STATUSES: list[KindRow] = [
    (
        DaemonSet,
        "numberReady: -1, collisionCount: 2",
        [invalid("status.numberReady", "-1", "must be greater than or equal to 0")],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), STATUSES)
def test_status_counts_of_daemon_set_are_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    before = "status: {collisionCount: 2}"
    old = obj(kind, before, base(kind))
    assert change_causes(obj(kind, f"status: {{{text}}}", base(kind)), old, "status") == expected


OTHER = "{matchLabels: {app: api}}"
RELABELLED = f"spec: {{selector: {OTHER}, template: {{metadata: {{labels: {{app: api}}}}}}}}"
CHANGES: list[KindRow] = [
    *(
        (kind, RELABELLED, [invalid("spec.selector", '{"matchLabels":{"app":"api"}}', "field is immutable")])
        for kind in (DaemonSet,)
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), CHANGES)
def test_change_of_daemon_set_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    old = created(obj(kind, "", base(kind)))
    assert change_causes(obj(kind, text, base(kind)), old) == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
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
    ],
)
def test_defaults_of_daemon_set_are_filled_in(kind: type[Any], expected: dict[str, Any]) -> None:
    assert spec_of(make(kind)) == expected


NEW_OBJECTS: list[KindRow] = [
    *((kind, "", []) for kind in (DaemonSet,)),
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
]


@pytest.mark.parametrize(("kind", "fragment", "expected"), NEW_OBJECTS)
def test_new_daemon_set_is_validated(kind: type[Any], fragment: str, expected: list[Cause]) -> None:
    assert creation_causes(make(kind, fragment)) == expected


@pytest.mark.parametrize(
    ("kind", "fragment", "field"),
    [
        (DaemonSet, "{metadata: {}}", "spec.selector"),
    ],
)
def test_immutable_field_of_daemon_set_cannot_change(kind: type[Any], fragment: str, field: str) -> None:
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
        DaemonSet,
        "spec: {template: {spec: {nodeSelector: {disk: ssd}}}}\n"
        "status: {desiredNumberScheduled: 4, currentNumberScheduled: 3, numberReady: 2, "
        "updatedNumberScheduled: 1, numberAvailable: 1}",
        ["web", 4, 3, 2, 1, 1, "disk=ssd", *TAIL],
    ),
]
AGES = "metadata: {creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "fragment", "expected"), ROWS)
def test_row_of_daemon_set_shows_its_state(kind: type[Any], fragment: str, expected: list[Any]) -> None:
    thing = rules(kind).default(obj(kind, f"{AGES}\n{fragment}", WORKLOAD))
    assert list(rules(kind).row(thing, NOW)) == expected


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (
            DaemonSet,
            "spec: {updateStrategy: {type: Roll, rollingUpdate: {maxSurge: 5%}}}",
            '{"Type":"Roll","RollingUpdate":{"MaxUnavailable":0,"MaxSurge":"5%"}}',
        ),
    ],
)
def test_unknown_strategy_of_daemon_set_is_shown_with_go_names(
    kind: type[Any], text: str, expected: str
) -> None:
    (cause,) = creation_causes(created(obj(kind, text, WORKLOAD)))
    assert cause[2].startswith(f"Unsupported value: {expected}: supported values: ")


def test_daemon_set_without_selector_selects_no_pods() -> None:
    (cause,) = creation_causes(created(obj(DaemonSet, "spec: {selector: null}", WORKLOAD)))
    assert cause[0] == "spec.template.metadata.labels"
