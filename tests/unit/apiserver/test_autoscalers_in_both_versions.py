"""An autoscaler that is read as ``autoscaling/v1`` and written back says the same as before."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import structs

from podling.api import autoscaling_v1, autoscaling_v2
from podling.apiserver.kinds.common.autoscaler_views import v1_from_v2, v2_from_v1
from podling.machinery.encoding import codec
from podling.testing import ControlPlane

METRICS = "autoscaling.alpha.kubernetes.io/metrics"
CURRENT = "autoscaling.alpha.kubernetes.io/current-metrics"
BEHAVIOR = "autoscaling.alpha.kubernetes.io/behavior"
CONDITIONS = "autoscaling.alpha.kubernetes.io/conditions"


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


def v1(annotations: dict[str, str], **spec: Any) -> autoscaling_v1.HorizontalPodAutoscaler:
    plain = {"metadata": {"name": "a", "annotations": annotations}, "spec": {"maxReplicas": 3, **spec}}
    return codec.convert(plain, autoscaling_v1.HorizontalPodAutoscaler)[0]


def usage(name: str, **target: Any) -> dict[str, Any]:
    return {"type": "Resource", "resource": {"name": name, "target": target}}


CPU = usage("cpu", type="Utilization", averageUtilization=70)
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


@pytest.mark.parametrize(("metric", "shown"), SHOWN)
def test_metrics_in_the_words_of_v1(metric: dict[str, Any], shown: str) -> None:
    """Kubernetes' own names and order, the CPU target beside them in its field."""
    stored = v2(spec={"minReplicas": 1, "metrics": [metric, CPU]})
    seen = v1_from_v2(stored)
    assert seen.metadata.annotations == {METRICS: f"[{shown}]"}
    assert seen.spec.target_cpu_utilization_percentage == 70
    assert v2_from_v1(seen) == stored


def test_a_cpu_target_alone_needs_no_annotation() -> None:
    stored = v2(spec={"metrics": [CPU]})
    seen = v1_from_v2(stored)
    assert seen.metadata.annotations == {}
    assert v2_from_v1(seen) == stored


def test_behavior_conditions_and_current_metrics_come_back() -> None:
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
def test_what_cannot_be_read_says_nothing(annotations: dict[str, str]) -> None:
    read = v2_from_v1(v1({**annotations, "mine": "kept"}))
    assert read.metadata.annotations == {"mine": "kept"}
    assert codec.to_plain(read.spec)["metrics"] == [DEFAULT]
    assert read.spec.behavior is None
    assert (read.status.conditions, read.status.current_metrics) == ((), ())


def test_go_reads_its_own_names_in_small_letters_too() -> None:
    read = v2_from_v1(v1({BEHAVIOR: '{"scaleDown": {"selectPolicy": "Min", "Policies": []}}'}))
    assert read.spec.behavior is not None
    assert read.spec.behavior.scale_down is not None
    assert read.spec.behavior.scale_down.select_policy == "Min"


async def test_through_the_server(cluster: ControlPlane) -> None:
    """Scaled by a client of ``v1``, the autoscaler keeps its metrics; stored are no annotations."""
    memory = usage("memory", type="AverageValue", averageValue="1Gi")
    told = {METRICS: "[]", "mine": "kept"}
    await cluster.client.create(v2(metadata={"annotations": told}, spec={"metrics": [memory, CPU]}))
    seen = await cluster.client.get(autoscaling_v1.HorizontalPodAutoscaler, "a", "default")
    assert json.loads(seen.metadata.annotations[METRICS])[0]["resource"]["name"] == "memory"
    await cluster.client.update(structs.replace(seen, spec=structs.replace(seen.spec, max_replicas=9)))
    stored = await cluster.client.get(autoscaling_v2.HorizontalPodAutoscaler, "a", "default")
    assert codec.to_plain(stored.spec)["metrics"] == [memory, CPU]
    assert stored.spec.max_replicas == 9
    assert stored.metadata.annotations == {"mine": "kept"}
