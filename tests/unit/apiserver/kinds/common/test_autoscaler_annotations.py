"""Tests of the annotations of ``autoscaling/v1`` for the fields of ``v2`` alone."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api import autoscaling_v1, autoscaling_v2
from podling.apiserver.kinds.common.autoscaler_views import v1_from_v2, v2_from_v1
from podling.machinery.encoding import codec


def usage(name: str, **target: Any) -> dict[str, Any]:
    return {"type": "Resource", "resource": {"name": name, "target": target}}


SELECTOR = {"matchLabels": {"verb": "GET"}}
SHOWN = [
    (
        usage("memory", type="AverageValue", averageValue="1Gi"),
        '{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}}',
    ),
    (
        usage("cpu", type="AverageValue", averageValue="300m"),
        '{"type":"Resource","resource":{"name":"cpu","targetAverageValue":"300m"}}',
    ),
    (
        {
            "type": "ContainerResource",
            "containerResource": {
                "name": "cpu",
                "container": "app",
                "target": {"type": "Utilization", "averageUtilization": 60},
            },
        },
        '{"type":"ContainerResource","containerResource":'
        '{"name":"cpu","targetAverageUtilization":60,"container":"app"}}',
    ),
    (
        {
            "type": "Pods",
            "pods": {
                "metric": {"name": "qps", "selector": SELECTOR},
                "target": {"type": "AverageValue", "averageValue": "10"},
            },
        },
        '{"type":"Pods","pods":{"metricName":"qps","targetAverageValue":"10",'
        '"selector":{"matchLabels":{"verb":"GET"}}}}',
    ),
    (
        {
            "type": "Object",
            "object": {
                "describedObject": {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "i"},
                "metric": {"name": "qps"},
                "target": {"type": "AverageValue", "averageValue": "10"},
            },
        },
        '{"type":"Object","object":{"target":{"kind":"Ingress","name":"i","apiVersion":"networking.k8s.io/v1"},'
        '"metricName":"qps","targetValue":"0","averageValue":"10"}}',
    ),
    (
        {
            "type": "External",
            "external": {
                "metric": {"name": "queue", "selector": SELECTOR},
                "target": {"type": "Value", "value": "30"},
            },
        },
        '{"type":"External","external":{"metricName":"queue",'
        '"metricSelector":{"matchLabels":{"verb":"GET"}},"targetValue":"30"}}',
    ),
]


def v2(**parts: Any) -> autoscaling_v2.HorizontalPodAutoscaler:
    plain = {
        "metadata": {"name": "a", "namespace": "default", **parts.get("metadata", {})},
        "spec": {
            "maxReplicas": 3,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            **parts.get("spec", {}),
        },
        "status": {"currentReplicas": 0, "desiredReplicas": 0, **parts.get("status", {})},
    }
    return codec.convert(plain, autoscaling_v2.HorizontalPodAutoscaler)[0]


METRICS = "autoscaling.alpha.kubernetes.io/metrics"
CPU = usage("cpu", type="Utilization", averageUtilization=70)


@pytest.mark.parametrize(("metric", "shown"), SHOWN)
def test_metric_without_v1_field_becomes_annotation(metric: dict[str, Any], shown: str) -> None:
    """Names and order are Kubernetes'; the CPU target is in its own field."""
    stored = v2(spec={"minReplicas": 1, "metrics": [metric, CPU]})
    seen = v1_from_v2(stored)
    assert seen.metadata.annotations == {METRICS: f"[{shown}]"}
    assert seen.spec.target_cpu_utilization_percentage == 70
    assert v2_from_v1(seen) == stored


BEHAVIOR = "autoscaling.alpha.kubernetes.io/behavior"
CONDITIONS = "autoscaling.alpha.kubernetes.io/conditions"
CURRENT = "autoscaling.alpha.kubernetes.io/current-metrics"


def test_behavior_conditions_and_metrics_survive_round_trip() -> None:
    rules = {"policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}], "tolerance": "50m"}
    stored = v2(
        metadata={"annotations": {"mine": "kept"}},
        spec={"metrics": [CPU], "behavior": {"scaleUp": {"stabilizationWindowSeconds": 0, **rules}}},
        status={
            "conditions": [{"type": "AbleToScale", "status": "True", "reason": "R", "message": "m"}],
            "currentMetrics": [
                {
                    "type": "Resource",
                    "resource": {"name": "cpu", "current": {"averageUtilization": 5, "averageValue": "9m"}},
                }
            ],
        },
    )
    seen = v1_from_v2(stored)
    assert seen.metadata.annotations == {
        "mine": "kept",
        BEHAVIOR: '{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":null,"Policies":'
        '[{"Type":"Pods","Value":4,"PeriodSeconds":15}],"Tolerance":"50m"},"ScaleDown":null}',
        CONDITIONS: '[{"type":"AbleToScale","status":"True","lastTransitionTime":null,'
        '"reason":"R","message":"m"}]',
        CURRENT: '[{"type":"Resource","resource":'
        '{"name":"cpu","currentAverageUtilization":5,"currentAverageValue":"9m"}}]',
    }
    assert seen.status.current_cpu_utilization_percentage == 5
    assert v2_from_v1(seen) == stored


def v1(annotations: dict[str, str], **spec: Any) -> autoscaling_v1.HorizontalPodAutoscaler:
    plain = {"metadata": {"name": "a", "annotations": annotations}, "spec": {"maxReplicas": 3, **spec}}
    return codec.convert(plain, autoscaling_v1.HorizontalPodAutoscaler)[0]


DEFAULT = usage("cpu", type="Utilization", averageUtilization=80)


@pytest.mark.parametrize(
    "annotations",
    [
        {},
        {METRICS: "no JSON"},
        {METRICS: "{}", CURRENT: "3", CONDITIONS: "[1]", BEHAVIOR: "[]"},
        {METRICS: '[{"type": 3}]', CURRENT: "[null]", CONDITIONS: '[{"type": []}]', BEHAVIOR: "{}"},
        {METRICS: '[{"type": "Pods", "pods": {"targetAverageValue": "many"}}]'},
        {BEHAVIOR: '{"ScaleUp": 3}', METRICS: "[" * 10_000},
    ],
)
def test_unreadable_annotation_counts_as_absent(annotations: dict[str, str]) -> None:
    read = v2_from_v1(v1({**annotations, "mine": "kept"}))
    assert read.metadata.annotations == {"mine": "kept"}
    assert codec.to_plain(read.spec)["metrics"] == [DEFAULT]
    assert read.spec.behavior is None
    assert (read.status.conditions, read.status.current_metrics) == ((), ())


def test_go_names_are_read_in_lower_case() -> None:
    read = v2_from_v1(v1({BEHAVIOR: '{"scaleDown": {"selectPolicy": "Min", "Policies": []}}'}))
    assert read.spec.behavior is not None
    assert read.spec.behavior.scale_down is not None
    assert read.spec.behavior.scale_down.select_policy == "Min"
