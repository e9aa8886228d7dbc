"""Tests of the conversion of autoscalers between their versions."""

from __future__ import annotations

import json
from typing import Any

from msgspec import structs

from podling.api import autoscaling_v1, autoscaling_v2
from podling.apiserver.kinds.common.autoscaler_views import v1_from_v2, v2_from_v1
from podling.machinery.encoding import codec
from podling.testing import ControlPlane


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


def usage(name: str, **target: Any) -> dict[str, Any]:
    return {"type": "Resource", "resource": {"name": name, "target": target}}


CPU = usage("cpu", type="Utilization", averageUtilization=70)


def test_cpu_target_alone_needs_no_annotation() -> None:
    stored = v2(spec={"metrics": [CPU]})
    seen = v1_from_v2(stored)
    assert seen.metadata.annotations == {}
    assert v2_from_v1(seen) == stored


METRICS = "autoscaling.alpha.kubernetes.io/metrics"


async def test_server_converts_autoscaler_between_versions(cluster: ControlPlane) -> None:
    """An update through ``v1`` keeps the metrics of ``v2``, and no annotations are stored."""
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
