"""Tests of the rules of HorizontalPodAutoscalers."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.autoscaling_v2 import HorizontalPodAutoscaler
from podling.machinery.encoding import codec
from tests.support.causes import Cause, KindRow, forbidden, invalid, required
from tests.support.manifests import NOW, change_causes, created, creation_causes, obj, rules

METADATA: dict[str, Any] = {"name": "x", "namespace": "default"}
VALID: dict[type[Any], dict[str, Any]] = {
    HorizontalPodAutoscaler: {
        "metadata": METADATA,
        "spec": {
            "maxReplicas": 3,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        },
    },
}


@pytest.mark.parametrize(
    ("kind", "text", "subresource", "expected"),
    [
        (
            HorizontalPodAutoscaler,
            "status: {desiredReplicas: -1, currentReplicas: -2}",
            "status",
            [
                invalid("status.currentReplicas", "-2", "must be greater than or equal to 0"),
                invalid("status.desiredReplicas", "-1", "must be greater than or equal to 0"),
            ],
        ),
    ],
)
def test_change_of_autoscaler_is_validated(
    kind: type[Any], text: str, subresource: str, expected: list[Cause]
) -> None:
    old = created(obj(kind, "", VALID[kind]))
    assert change_causes(obj(kind, text, VALID[kind]), old, subresource) == expected


NEW_OBJECTS: list[KindRow] = [
    (
        HorizontalPodAutoscaler,
        "spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, "
        "minReplicas: 3, maxReplicas: 2}",
        [invalid("spec.maxReplicas", "2", "must be greater than or equal to `minReplicas`")],
    ),
]
AGED = "metadata: {name: x, namespace: default, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "text", "expected"), NEW_OBJECTS)
def test_new_autoscaler_is_validated(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, f"{AGED}\n{text}"))) == expected


ROWS: list[tuple[type[Any], str, list[Any]]] = [
    (
        HorizontalPodAutoscaler,
        "spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, "
        "minReplicas: 1, maxReplicas: 3, metrics: "
        "[{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]}",
        ["x", "Deployment/web", "cpu: <unknown>/80%", "1", 3, 0, "5m"],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), ROWS)
def test_row_of_autoscaler_shows_its_state(kind: type[Any], text: str, expected: list[Any]) -> None:
    assert list(rules(kind).row(obj(kind, f"{AGED}\n{text}"), NOW)) == expected


SCALED_TO_NOTHING = forbidden(
    "spec.metrics",
    "must specify at least one Object or External metric to support scaling to zero replicas",
)
NO_GROUP = "apiVersion must specify API group"
INVALID: list[KindRow] = [
    (HorizontalPodAutoscaler, "", []),
    (
        HorizontalPodAutoscaler,
        "spec: {minReplicas: 0, maxReplicas: 0}",
        [
            invalid("spec.minReplicas", "0", "must be greater than or equal to 1"),
            invalid("spec.maxReplicas", "0", "must be greater than 0"),
            SCALED_TO_NOTHING,
        ],
    ),
    (
        HorizontalPodAutoscaler,
        "spec: {minReplicas: 0, metrics: [{type: External, external: {metric: {name: m}, "
        "target: {type: Value, value: 1}}}]}",
        [invalid("spec.minReplicas", "0", "must be greater than or equal to 1")],
    ),
    (
        HorizontalPodAutoscaler,
        "spec: {minReplicas: 4}",
        [invalid("spec.maxReplicas", "3", "must be greater than or equal to `minReplicas`")],
    ),
    (
        HorizontalPodAutoscaler,
        "spec: {scaleTargetRef: {kind: '', name: a/b}}",
        [
            required("spec.scaleTargetRef.kind"),
            invalid("spec.scaleTargetRef.name", '"a/b"', "may not contain '/'"),
        ],
    ),
    (
        HorizontalPodAutoscaler,
        "spec: {scaleTargetRef: {apiVersion: null}}",
        [invalid("spec.scaleTargetRef.apiVersion", '""', NO_GROUP)],
    ),
    (
        HorizontalPodAutoscaler,
        "spec: {scaleTargetRef: {apiVersion: v1}}",
        [invalid("spec.scaleTargetRef.apiVersion", '"v1"', NO_GROUP)],
    ),
    (HorizontalPodAutoscaler, "spec: {scaleTargetRef: {apiVersion: v1, kind: ReplicationController}}", []),
    (
        HorizontalPodAutoscaler,
        "spec: {scaleTargetRef: {apiVersion: a/b/c, kind: ReplicationController}}",
        [invalid("spec.scaleTargetRef.apiVersion", '"a/b/c"', "unexpected GroupVersion string: a/b/c")],
    ),
]


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_autoscaler_is_refused_with_causes(kind: type[Any], text: str, expected: list[Cause]) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected


def with_metric(text: str) -> str:
    return f"spec: {{metrics: [{{{text}}}]}}"


DESCRIBED = with_metric(
    "type: Object, object: {describedObject: {apiVersion: a/b/c, kind: Ingress, name: i}, metric: {name: m}, "
    "target: {type: Value, value: 1}}"
)
MALFORMED = "{apiVersion: a/b/c, kind: Deployment, name: web}"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            f"spec: {{scaleTargetRef: {MALFORMED}}}",
            f"spec: {{maxReplicas: 9, scaleTargetRef: {MALFORMED}}}",
            [],
        ),
        (
            f"spec: {{scaleTargetRef: {MALFORMED}}}",
            "spec: {scaleTargetRef: {apiVersion: '', kind: Deployment, name: web}}",
            [invalid("spec.scaleTargetRef.apiVersion", '""', NO_GROUP)],
        ),
        (DESCRIBED, DESCRIBED, []),
        ("spec: {minReplicas: 0}", "spec: {minReplicas: 0, metrics: []}", [SCALED_TO_NOTHING]),
    ],
)
def test_stored_errors_of_autoscaler_stay_valid(before: str, after: str, expected: list[Cause]) -> None:
    """Unchanged versions of the target and of described objects stay valid, and so do zero replicas."""
    kind = HorizontalPodAutoscaler
    old, new = (created(obj(kind, text, VALID[kind])) for text in (before, after))
    assert change_causes(new, old) == expected


def test_autoscaler_measures_cpu_by_default() -> None:
    text = "spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 3}"
    spec = codec.to_plain(created(obj(HorizontalPodAutoscaler, text)).spec)
    assert spec["minReplicas"] == 1
    assert spec["metrics"] == [
        {
            "type": "Resource",
            "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
        }
    ]


_TARGETS = (
    "spec: {scaleTargetRef: {kind: Deployment, name: web}, maxReplicas: 3, metrics: [%s]}\n"
    "status: {currentMetrics: [%s]}"
)


def metric(kind: str, name: str, target: str, current: str) -> str:
    spec, status = f"target: {{{target}}}", f"current: {{{current}}}"
    if kind == "resource":
        spec = f"name: {name}, {spec}"
    shown = f"{{type: {kind.capitalize()}, {kind}: {{{spec}}}}}"
    return _TARGETS % (shown, f"{{type: {kind.capitalize()}, {kind}: {{{status}}}}}")


CELLS: list[tuple[type[Any], str, list[Any]]] = [
    *(
        (HorizontalPodAutoscaler, metric(*parts), ["x", "Deployment/web", shown])
        for parts, shown in (
            (("resource", "cpu", "averageUtilization: 80", "averageUtilization: 7"), "cpu: 7%/80%"),
            (("resource", "cpu", "averageValue: 2", "averageValue: 1"), "cpu: 1/2"),
            (("resource", "cpu", "type: Utilization", ""), "cpu: <unknown>/<auto>"),
            (("pods", "", "averageValue: 2", "averageValue: 1"), "1/2"),
            (("object", "", "averageValue: 2", "averageValue: 1"), "1/2 (avg)"),
            (("object", "", "value: 2", "value: 1"), "1/2"),
            (("external", "", "averageValue: 2", ""), "<unknown>/2 (avg)"),
            (("external", "", "value: 2", "value: 1"), "1/2"),
        )
    ),
]
AGED_IN_CLUSTER = "metadata: {name: x, creationTimestamp: '2026-01-01T11:55:00Z'}"


@pytest.mark.parametrize(("kind", "given", "expected"), CELLS)
def test_cells_of_autoscaler_follow_kubernetes(kind: type[Any], given: str, expected: list[Any]) -> None:
    thing = obj(
        kind,
        given if "metadata" in given else f"{AGED_IN_CLUSTER}\n{given}" if given != "{}" else AGED_IN_CLUSTER,
    )
    assert list(rules(kind).row(thing, NOW))[: len(expected)] == expected
