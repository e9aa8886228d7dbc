"""``podling why hpa/NAME``: autoscalers as the controller leaves them, on virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.apps_v1 import Deployment
from podling.cli.evidence import Explanation
from podling.cli.queries import why
from podling.testing import ControlPlane
from tests.unit.controllers.autoscaling.test_horizontal import Scene, autoscaled

EXTERNAL = {
    "type": "External",
    "external": {"metric": {"name": "q"}, "target": {"type": "Value", "value": "1"}},
}
MEMORY = {
    "type": "Resource",
    "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 50}},
}


async def asked(scene: Scene) -> Explanation:
    return await why(scene.client, "hpa", "web", "default")


async def test_new_autoscaler_has_not_been_looked_at(cluster: ControlPlane) -> None:
    async with autoscaled(cluster, 1) as scene:
        await scene.autoscale()
        found = await asked(scene)
        assert (found.healthy, found.area, found.reason) == (False, "autoscaler", "NotObserved")
        assert found.advice == "Look again in a moment."
    await cluster.advance(minutes=2)
    assert "horizontal-pod-autoscaler-controller" in (await asked(scene)).advice


@pytest.mark.parametrize(
    ("metric", "spec", "reason", "text", "advice"),
    [
        (
            {},
            {},
            "FailedGetResourceMetric",
            "a metric is missing: failed to get cpu",
            "v1beta1.metrics.k8s.io",
        ),
        (EXTERNAL, {}, "FailedGetExternalMetric", "unable to get external metric default/q/nil", "external"),
        (
            MEMORY,
            {},
            "FailedGetResourceMetric",
            "missing request for memory in container app",
            "give container app resources.requests.memory",
        ),
        (
            {},
            {"scaleTargetRef": {"kind": "Deployment", "name": "x", "apiVersion": "apps/v1"}},
            "FailedGetScale",
            'cannot read the scale of deployment/x: deployments.apps "x" not found',
            "Create deployment/x in namespace default",
        ),
        (
            {},
            {"scaleTargetRef": {"kind": "DaemonSet", "name": "x", "apiVersion": "apps/v1"}},
            "FailedGetScale",
            "could not find the requested resource",
            "Its kind has no scale",
        ),
    ],
)
async def test_missing_parts_are_named(
    cluster: ControlPlane, metric: dict[str, Any], spec: dict[str, Any], reason: str, text: str, advice: str
) -> None:
    async with autoscaled(cluster, 2) as scene:
        if metric is MEMORY:
            scene.adapter.cpu(5, 5)
        await scene.autoscale(*([metric] if metric else []), **spec)
        await scene.look()
        found = await asked(scene)
        assert (found.healthy, found.reason) == (False, reason)
        assert text in found.text
        assert advice in found.advice
        assert [each.kind for each in found.evidence] == ["condition"]


async def test_limits_are_named(cluster: ControlPlane) -> None:
    async with autoscaled(cluster, 4) as scene:
        scene.adapter.cpu(50, 50, 50, 50)
        await scene.autoscale(maxReplicas=5)
        await scene.look()
        found = await asked(scene)
        assert (found.healthy, found.reason) == (True, "Active")
        assert found.text.endswith("keeps deployment/web at 4 replicas, between 1 and 5.")
        scene.adapter.cpu(5, 5, 5, 5)
        await scene.look()
        found = await asked(scene)
        assert (found.healthy, found.reason) == (True, "ScaleDownStabilized")
        assert "keeps 4 replicas for now: the highest recommendation of the window" in found.text
        scene.adapter.cpu(500, 500, 500, 500)
        await scene.look()
        found = await asked(scene)
        assert (found.healthy, found.area, found.reason) == (False, "autoscaler", "TooManyReplicas")
        assert "would like more than 5 replicas" in found.text


async def test_two_autoscalers_and_a_target_of_zero(cluster: ControlPlane) -> None:
    async with autoscaled(cluster, 2) as scene:
        scene.adapter.cpu(50, 50)
        await scene.autoscale()
        await scene.autoscale(name="other")
        await scene.look(2)
        found = await asked(scene)
        assert found.reason == "AmbiguousSelector"
        assert "another one scales the same pods" in found.text
        scale = {"spec": {"replicas": 0}}
        await scene.client.patch(Deployment, "web", scale, "default")
        await scene.look(2)
        found = await asked(scene)
        assert found.reason == "ScalingDisabled"
        assert found.advice.endswith("kubectl scale deployment/web --replicas=1 -n default")
