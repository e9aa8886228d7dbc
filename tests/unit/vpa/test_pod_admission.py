"""New pods of a targeted controller get requests by the recommendation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import LimitRange, Pod
from podling_kruise.extension import KruiseExtension
from podling_vpa.types import VerticalPodAutoscaler
from tests.support.kubelet_node import NODE
from tests.support.vertical_autoscalers import LABELS
from tests.support.vpa_cluster import VpaCluster, vpa_api

STATUS = {
    "recommendation": {
        "containerRecommendations": [
            {
                "containerName": "app",
                "target": {"cpu": "300m", "memory": "600Mi"},
                "lowerBound": {"cpu": "100m", "memory": "100Mi"},
                "upperBound": {"cpu": "1", "memory": "1Gi"},
            }
        ]
    },
    "conditions": [{"type": "RecommendationProvided", "status": "True"}],
}


async def recommend(
    cluster: VpaCluster, mode: str = "Initial", *policies: dict[str, Any], **spec: Any
) -> None:
    await cluster.autoscale(mode, *policies, **spec)
    await cluster.client.patch(
        VerticalPodAutoscaler, "web", {"status": STATUS}, "default", subresource="status"
    )


async def only_pod(cluster: VpaCluster, resources: dict[str, Any]) -> Pod:
    await cluster.deploy(1, [(0, 1, 1)], resources)
    (pod,) = await cluster.pods()
    return pod


BOTH = {"requests": {"cpu": "100m", "memory": "100Mi"}, "limits": {"cpu": "200m", "memory": "100Mi"}}


@pytest.mark.parametrize(
    ("given", "policy", "requests", "limits", "note"),
    [
        (
            BOTH,
            {},
            {"cpu": "300m", "memory": "600Mi"},
            {"cpu": "600m", "memory": "600Mi"},
            "container 0: cpu request, memory request, cpu limit, memory limit",
        ),
        (
            BOTH,
            {"controlledValues": "RequestsOnly"},
            {"cpu": "200m", "memory": "100Mi"},
            {"cpu": "200m", "memory": "100Mi"},
            "container 0: cpu capped to container limit, memory capped to container limit, cpu request, "
            "memory request",
        ),
        (
            {"requests": {"cpu": "100m"}},
            {"maxAllowed": {"cpu": "150m"}},
            {"cpu": "150m", "memory": "600Mi"},
            {},
            "container 0: cpu capped to maxAllowed, cpu request, memory request",
        ),
        ({}, {}, {"cpu": "300m", "memory": "600Mi"}, {}, "container 0: cpu request, memory request"),
    ],
    ids=["requests and limits", "requests only", "capped", "without resources"],
)
async def test_new_pods_get_the_recommendation(
    tmp_path: Path,
    given: dict[str, Any],
    policy: dict[str, Any],
    requests: dict[str, str],
    limits: dict[str, str],
    note: str,
) -> None:
    async with vpa_api(tmp_path) as cluster:
        await recommend(cluster, "Initial", *([{"containerName": "*", **policy}] if policy else []))
        found = await only_pod(cluster, given)
        resources = found.spec.containers[0].resources
        assert (resources.requests, resources.limits) == (requests, limits)
        assert found.metadata.annotations["vpaUpdates"] == f"Pod resources updated by web: {note}"
        assert found.metadata.annotations["vpaObservedContainers"] == "app"


async def test_limit_range_of_the_namespace_is_kept(tmp_path: Path) -> None:
    item = {"type": "Container", "max": {"cpu": "400m", "memory": "10Gi"}}
    plain = {"metadata": {"name": "most", "namespace": "default"}, "spec": {"limits": [item]}}
    async with vpa_api(tmp_path) as cluster:
        await cluster.client.create(msgspec.convert(plain, LimitRange))
        await recommend(cluster)
        found = await only_pod(cluster, BOTH)
        resources = found.spec.containers[0].resources
        assert (resources.requests["cpu"], resources.limits["cpu"]) == ("200m", "400m")


@pytest.mark.parametrize(
    ("mode", "target"),
    [
        ("Off", "web"),
        ("Recreate", "another"),
    ],
)
async def test_pods_that_no_autoscaler_changes_stay(tmp_path: Path, mode: str, target: str) -> None:
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": target}
    async with vpa_api(tmp_path) as cluster:
        await recommend(cluster, mode, targetRef=reference)
        found = await only_pod(cluster, BOTH)
        assert found.spec.containers[0].resources.requests == BOTH["requests"]
        assert "vpaUpdates" not in found.metadata.annotations


async def test_pod_without_a_controller_stays(tmp_path: Path) -> None:
    async with vpa_api(tmp_path) as cluster:
        await recommend(cluster)
        container = {"name": "app", "image": "app:1"}
        plain = {
            "metadata": {"name": "alone", "namespace": "default", "labels": LABELS},
            "spec": {"nodeName": NODE, "containers": [container]},
        }
        found = await cluster.client.create(msgspec.convert(plain, Pod))
        assert found.spec.containers[0].resources.requests == {}


def test_extensions_of_custom_workloads_have_scales() -> None:
    """CloneSets can be targeted, as their definition has the subresource ``scale`` with a selector."""
    definition = next(each for each in KruiseExtension().definitions() if each.spec.names.kind == "CloneSet")
    stored = next(each for each in definition.spec.versions if each.storage)
    assert stored.subresources is not None
    assert stored.subresources.scale is not None
    assert stored.subresources.scale.label_selector_path == ".status.labelSelector"
