"""Tests of the validation of autoscalers' metrics and scaling behavior."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.autoscaling_v2 import HorizontalPodAutoscaler
from tests.support.causes import LABEL_TEXT, Cause, KindRow, forbidden, invalid, required, unsupported
from tests.support.manifests import created, creation_causes, obj


def with_metric(text: str) -> str:
    return f"spec: {{metrics: [{{{text}}}]}}"


def with_scale_up(text: str) -> str:
    return f"spec: {{behavior: {{scaleUp: {{{text}}}}}}}"


NEEDS_SOURCE = "must populate information for the given metric source"
NO_TARGET = "must set either a target raw value or a target utilization"
TWO_TARGETS = "may not set both a target raw value and a target utilization"
STANDARD = "must be a standard resource type or fully qualified"
METRICS = ("ContainerResource", "External", "Object", "Pods", "Resource")
M0, UP, RULE = "spec.metrics[0]", "spec.behavior.scaleUp", "spec.rules[0]"
INVALID: list[KindRow] = [
    (
        HorizontalPodAutoscaler,
        with_metric(
            "type: Object, object: {describedObject: {apiVersion: a/b/c, kind: Ingress, name: i}, "
            "metric: {name: m}, target: {type: Value, value: 1}}"
        ),
        [
            invalid(
                f"{M0}.object.describedObject.apiVersion",
                '"a/b/c"',
                "unexpected GroupVersion string: a/b/c",
            )
        ],
    ),
    (
        HorizontalPodAutoscaler,
        with_metric(
            "type: Object, object: {describedObject: {kind: Node, name: n}, metric: {name: m}, "
            "target: {type: Value, value: 1}}"
        ),
        [],
    ),
    (
        HorizontalPodAutoscaler,
        with_metric("type: Other"),
        [unsupported(f"{M0}.type", "Other", *METRICS), unsupported(f"{M0}.type", "Other", *METRICS)],
    ),
    (HorizontalPodAutoscaler, with_metric("type: Pods"), [required(f"{M0}.pods", NEEDS_SOURCE)]),
    (
        HorizontalPodAutoscaler,
        with_metric("type: Resource, resource: {name: '', target: {type: Utilization}}"),
        [
            required(f"{M0}.resource.name", "must specify a resource name"),
            required(f"{M0}.resource.target.averageUtilization", NO_TARGET),
        ],
    ),
    (
        HorizontalPodAutoscaler,
        with_metric(
            "type: Resource, resource: {name: cpu, target: {averageUtilization: 0, averageValue: 0}}"
        ),
        [
            required(f"{M0}.resource.target.type", "must specify a metric target type"),
            invalid(f"{M0}.resource.target.type", '""', "must be either Utilization, Value, or AverageValue"),
            invalid(f"{M0}.resource.target.averageValue", '"0"', "must be positive"),
            invalid(f"{M0}.resource.target.averageUtilization", "0", "must be greater than 0"),
            forbidden(f"{M0}.resource.target.averageValue", TWO_TARGETS),
        ],
    ),
    (
        HorizontalPodAutoscaler,
        with_metric(
            "type: ContainerResource, containerResource: {name: gpus, container: A, "
            "target: {type: Utilization, averageUtilization: 5}}"
        ),
        [
            invalid(f"{M0}.containerResource.name", '"gpus"', STANDARD),
            invalid(f"{M0}.containerResource.name", '"gpus"', "must be a standard resource for containers"),
            invalid(f"{M0}.containerResource.container", '"A"', LABEL_TEXT),
        ],
    ),
    (
        HorizontalPodAutoscaler,
        with_metric(
            "type: External, external: {metric: {name: ''}, target: {type: Value, value: 1, averageValue: 1}}"
        ),
        [
            required(f"{M0}.external.metric.name", "must specify a metric name"),
            forbidden(
                f"{M0}.external.target.value",
                "may not set both a target value for metric and a per-pod target",
            ),
        ],
    ),
    (
        HorizontalPodAutoscaler,
        with_metric(
            "type: Pods, pods: {metric: {name: qps}, target: {type: AverageValue}}, "
            "resource: {name: cpu, target: {type: Utilization}}"
        ),
        [
            required(f"{M0}.pods.target.averageValue", "must specify a positive target averageValue"),
            forbidden(f"{M0}.resource", "must populate the given metric source only"),
        ],
    ),
    (
        HorizontalPodAutoscaler,
        with_scale_up("selectPolicy: Some, stabilizationWindowSeconds: 4000, tolerance: '-1'"),
        [
            invalid(f"{UP}.stabilizationWindowSeconds", "4000", "must be less than or equal to 3600"),
            unsupported(f"{UP}.selectPolicy", "Some", "Disabled", "Max", "Min"),
            invalid(f"{UP}.tolerance", '"-1"', "must be greater than or equal to 0"),
        ],
    ),
    (
        HorizontalPodAutoscaler,
        with_scale_up("policies: [{type: Nodes, value: 0, periodSeconds: 1801}]"),
        [
            unsupported(f"{UP}.policies[0].type", "Nodes", "Percent", "Pods"),
            invalid(f"{UP}.policies[0].value", "0", "must be greater than zero"),
            invalid(f"{UP}.policies[0].periodSeconds", "1801", "must be less than or equal to 1800"),
        ],
    ),
]
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


@pytest.mark.parametrize(("kind", "text", "expected"), INVALID)
def test_invalid_metric_or_behavior_is_refused_with_causes(
    kind: type[Any], text: str, expected: list[Cause]
) -> None:
    assert creation_causes(created(obj(kind, text, VALID[kind]))) == expected
