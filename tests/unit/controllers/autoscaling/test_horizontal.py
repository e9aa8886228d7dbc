"""The autoscaler on virtual time, beside the real API server; metrics are an adapter's answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from podling import clock
from podling.api.apps_v1 import Deployment
from podling.api.autoscaling_v2 import HorizontalPodAutoscaler
from podling.api.core_v1 import Event, Pod
from podling.controllers.autoscaling.horizontal import HorizontalController
from podling.controllers.autoscaling.settings import DEFAULT_SETTINGS, AutoscalerSettings
from podling.machinery import errors
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import stored_resource
from podling.testing import ControlPlane
from tests.support.control_loops import running
from tests.support.custom_resources import definition

CPU = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
}
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


class Adapter:
    """Answers the paths of aggregated metrics APIs; those that are absent are not served."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.asked: list[str] = []

    def cpu(self, *uses: int, window: str = "30s") -> None:
        """Set the millicores that the pods ``web-0``, ... use."""
        self.answers["/apis/metrics.k8s.io/v1beta1/namespaces/default/pods"] = {
            "items": [
                {
                    "metadata": {"name": f"web-{place}", "namespace": "default"},
                    "timestamp": clock.now().isoformat(),
                    "window": window,
                    "containers": [{"name": "app", "usage": {"cpu": f"{use}m", "memory": "1Mi"}}],
                }
                for place, use in enumerate(uses)
            ]
        }

    async def get(self, path: str) -> bytes:
        self.asked.append(path)
        answer = self.answers.get(urlsplit(path).path)
        if answer is None:
            raise errors.failure(404, "NotFound", "the server could not find the requested resource")
        if isinstance(answer, Exception):
            raise answer
        return msgspec.json.encode(answer)


class Scene:
    """A Deployment ``web`` of which the test is the controller, and an autoscaler of it."""

    def __init__(self, cluster: ControlPlane, adapter: Adapter) -> None:
        self.cluster, self.adapter, self.client = cluster, adapter, cluster.client

    async def deploy(self, replicas: int) -> None:
        labels = {"app": "web"}
        container = {"name": "app", "image": "app:1", "resources": {"requests": {"cpu": "100m"}}}
        plain = {
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            },
        }
        await self.client.create(msgspec.convert(plain, Deployment))
        await self.settle()

    async def settle(self) -> None:
        """Make the pods those that the Deployment wants, all running and ready for ten minutes."""
        deployment = await self.client.get(Deployment, "web", "default")
        wanted = deployment.spec.replicas or 0
        there = {each.metadata.name for each in (await self.client.list(Pod, "default")).items}
        for name in there - {f"web-{place}" for place in range(wanted)}:
            await self.client.delete(Pod, name or "", "default", grace_seconds=0)
        for place in range(wanted):
            if f"web-{place}" not in there:
                await self._start(f"web-{place}", msgspec.to_builtins(deployment.spec.template.spec))
        status = {"status": {"replicas": wanted}}
        await self.client.patch(Deployment, "web", status, "default", subresource="status")

    async def _start(self, name: str, spec: Any) -> None:
        metadata = {"name": name, "namespace": "default", "labels": {"app": "web"}}
        await self.client.create(msgspec.convert({"metadata": metadata, "spec": spec}, Pod))
        ago = clock.now().replace(microsecond=0).timestamp() - 600
        at = clock.now().fromtimestamp(ago, clock.now().tzinfo).isoformat()
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": at}
        status = {"status": {"phase": "Running", "startTime": at, "conditions": [ready]}}
        await self.client.patch(Pod, name, status, "default", subresource="status")

    async def autoscale(self, *metrics: dict[str, Any], name: str = "web", **spec: Any) -> None:
        spec = {"maxReplicas": 10, "scaleTargetRef": TARGET, "metrics": list(metrics) or [CPU], **spec}
        plain = {"metadata": {"name": name, "namespace": "default"}, "spec": spec}
        await self.client.create(msgspec.convert(plain, HorizontalPodAutoscaler))

    async def replicas(self) -> int:
        return (await self.client.get(Deployment, "web", "default")).spec.replicas or 0

    async def conditions(self, name: str = "web") -> dict[str, tuple[str, str, str]]:
        found = (await self.client.get(HorizontalPodAutoscaler, name, "default")).status.conditions
        return {each.type: (each.status, each.reason, each.message) for each in found}

    async def events(self) -> list[str]:
        """Return the events in the order of their writing; the names of those of one moment are drawn."""
        found = list((await self.client.list(Event, "default")).items)
        found.sort(key=lambda event: int(event.metadata.resource_version or 0))
        return [f"{each.type} {each.reason}: {each.message}" for each in found]

    async def look(self, times: int = 1) -> None:
        """Let the autoscaler look so many times."""
        await self.cluster.advance(seconds=15 * times + 0.2)


@asynccontextmanager
async def autoscaled(
    cluster: ControlPlane, replicas: int, settings: AutoscalerSettings = DEFAULT_SETTINGS
) -> AsyncIterator[Scene]:
    adapter = Adapter()
    make = partial(HorizontalController, metrics=adapter, settings=settings)
    async with running(cluster.client, make):
        scene = Scene(cluster, adapter)
        await scene.deploy(replicas)
        yield scene


async def test_target_is_scaled_up_at_the_next_look(cluster: ControlPlane) -> None:
    async with autoscaled(cluster, 2) as scene:
        scene.adapter.cpu(90, 90)
        await scene.autoscale()
        await cluster.advance(seconds=14)
        assert await scene.replicas() == 2
        await cluster.advance(seconds=2)
        assert await scene.replicas() == 4
        found = (await cluster.client.get(HorizontalPodAutoscaler, "web", "default")).status
        assert (found.current_replicas, found.desired_replicas) == (2, 4)
        assert found.last_scale_time is not None
        (metric,) = found.current_metrics
        assert metric.resource is not None
        current = metric.resource.current
        assert (current.average_utilization, current.average_value) == (90, "90m")
        assert await scene.conditions() == {
            "AbleToScale": (
                "True",
                "SucceededRescale",
                "the HPA controller was able to update the target scale to 4",
            ),
            "ScalingActive": (
                "True",
                "ValidMetricFound",
                "the HPA was able to successfully calculate a replica count from cpu resource utilization "
                "(percentage of request)",
            ),
            "ScalingLimited": (
                "False",
                "DesiredWithinRange",
                "the desired count is within the acceptable range",
            ),
        }
        reason = "cpu resource utilization (percentage of request) above target"
        assert await scene.events() == [f"Normal SuccessfulRescale: New size: 4; reason: {reason}"]
        assert scene.adapter.asked == [
            "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods?labelSelector=app%3Dweb"
        ]


async def test_scaling_down_waits_for_the_window(cluster: ControlPlane) -> None:
    async with autoscaled(cluster, 4) as scene:
        scene.adapter.cpu(5, 5, 5, 5)
        await scene.autoscale()
        await scene.look(10)
        assert await scene.replicas() == 4
        assert (await scene.conditions())["AbleToScale"][1] == "ScaleDownStabilized"
        await scene.look(12)
        assert await scene.replicas() == 1
        assert (await scene.events())[-1] == (
            "Normal SuccessfulRescale: New size: 1; reason: All metrics below target"
        )


async def test_metrics_are_missing(cluster: ControlPlane) -> None:
    async with autoscaled(cluster, 2) as scene:
        await scene.autoscale()
        await scene.look()
        why = (
            "failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics "
            "from resource metrics API: the server could not find the requested resource "
            "(get pods.metrics.k8s.io)"
        )
        active = (
            "False",
            "FailedGetResourceMetric",
            f"the HPA was unable to compute the replica count: {why}",
        )
        assert (await scene.conditions())["ScalingActive"] == active
        first = f"failed to get cpu resource metric value: {why}"
        assert await scene.events() == [
            f"Warning FailedGetResourceMetric: {why}",
            "Warning FailedComputeMetricsReplicas: invalid metrics (1 invalid out of 1), first error is: "
            + first,
        ]
        scene.adapter.cpu()
        await scene.look()
        assert (
            "no metrics returned from resource metrics API" in (await scene.conditions())["ScalingActive"][2]
        )
        scene.adapter.answers = dict.fromkeys(scene.adapter.answers, errors.service_unavailable("no"))
        await scene.look()
        text = "the server is currently unable to handle the request (get pods.metrics.k8s.io)"
        assert text in (await scene.conditions())["ScalingActive"][2]
        scene.adapter.cpu(50, 50)
        await scene.look()
        assert (await scene.conditions())["ScalingActive"][:2] == ("True", "ValidMetricFound")
        assert await scene.replicas() == 2


@pytest.mark.parametrize(
    ("replicas", "spec", "expected", "reason"),
    [
        (12, {}, 10, "Current number of replicas above Spec.MaxReplicas"),
        (1, {"minReplicas": 3}, 3, "Current number of replicas below Spec.MinReplicas"),
    ],
)
async def test_bounds_need_no_metrics(
    cluster: ControlPlane, replicas: int, spec: dict[str, Any], expected: int, reason: str
) -> None:
    async with autoscaled(cluster, replicas) as scene:
        await scene.autoscale(**spec)
        await scene.look()
        assert await scene.replicas() == expected
        assert await scene.events() == [f"Normal SuccessfulRescale: New size: {expected}; reason: {reason}"]
        assert scene.adapter.asked == []


async def test_target_of_zero_replicas_is_left_alone(cluster: ControlPlane) -> None:
    async with autoscaled(cluster, 0) as scene:
        scene.adapter.cpu(90)
        await scene.autoscale()
        await scene.look(3)
        assert await scene.replicas() == 0
        text = "scaling is disabled since the replica count of the target is zero"
        assert (await scene.conditions())["ScalingActive"] == ("False", "ScalingDisabled", text)


async def test_most_replicas_limit(cluster: ControlPlane) -> None:
    async with autoscaled(cluster, 4) as scene:
        scene.adapter.cpu(500, 500, 500, 500)
        await scene.autoscale(maxReplicas=6)
        await scene.look()
        assert await scene.replicas() == 6
        text = "the desired replica count is more than the maximum replica count"
        assert (await scene.conditions())["ScalingLimited"] == ("True", "TooManyReplicas", text)


@pytest.mark.parametrize(
    ("reference", "error"),
    [
        (
            {"kind": "Deployment", "name": "none", "apiVersion": "apps/v1"},
            'deployments.apps "none" not found',
        ),
        (
            {"kind": "Unknown", "name": "x", "apiVersion": "example.com/v1"},
            'no matches for kind "Unknown" in group "example.com"',
        ),
        (
            {"kind": "DaemonSet", "name": "x", "apiVersion": "apps/v1"},
            "the server could not find the requested resource",
        ),
    ],
)
async def test_target_without_scale(cluster: ControlPlane, reference: dict[str, str], error: str) -> None:
    async with autoscaled(cluster, 1) as scene:
        await scene.autoscale(scaleTargetRef=reference)
        await scene.look()
        able = f"the HPA controller was unable to get the target's current scale: {error}"
        assert (await scene.conditions())["AbleToScale"] == ("False", "FailedGetScale", able)
        assert await scene.events() == [f"Warning FailedGetScale: {error}"]


async def test_two_autoscalers_of_the_same_pods_do_nothing(cluster: ControlPlane) -> None:
    async with autoscaled(cluster, 2) as scene:
        scene.adapter.cpu(90, 90)
        await scene.autoscale(minReplicas=2, maxReplicas=2)
        await scene.look()
        await scene.autoscale(name="other")
        await scene.look(2)
        text = "pods by selector app=web are controlled by multiple HPAs: [{other default} {web default}]"
        for name in ("web", "other"):
            assert (await scene.conditions(name))["ScalingActive"] == ("False", "AmbiguousSelector", text)
        assert await scene.replicas() == 2
        await cluster.client.delete(HorizontalPodAutoscaler, "other", "default")
        await scene.look(2)
        assert (await scene.conditions())["ScalingActive"][1] == "ValidMetricFound"


async def test_failing_metric_allows_scaling_up_only(cluster: ControlPlane) -> None:
    external = {
        "type": "External",
        "external": {"metric": {"name": "queue"}, "target": {"type": "Value", "value": "1"}},
    }
    async with autoscaled(cluster, 4) as scene:
        scene.adapter.cpu(5, 5, 5, 5)
        await scene.autoscale(CPU, external)
        await scene.look(25)
        assert await scene.replicas() == 4
        status, reason, message = (await scene.conditions())["ScalingActive"]
        assert (status, reason) == ("False", "FailedGetExternalMetric")
        assert message == (
            "the HPA was unable to compute the replica count: unable to get external metric "
            "default/queue/nil: unable to fetch metrics from external metrics API: the server could not find "
            "the requested resource (get queue.external.metrics.k8s.io)"
        )
        scene.adapter.cpu(90, 90, 90, 90)
        await scene.look()
        assert await scene.replicas() == 8
        assert (await scene.conditions())["ScalingActive"][1] == "ValidMetricFound"


async def test_metrics_of_pods_objects_and_external_systems(cluster: ControlPlane) -> None:
    selector = {"matchLabels": {"verb": "GET"}}
    pods = {
        "type": "Pods",
        "pods": {"metric": {"name": "packets"}, "target": {"type": "AverageValue", "averageValue": "1k"}},
    }
    described = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "main-route"}
    requests = {
        "type": "Object",
        "object": {
            "metric": {"name": "requests", "selector": selector},
            "describedObject": described,
            "target": {"type": "Value", "value": "2k"},
        },
    }
    queue = {
        "type": "External",
        "external": {
            "metric": {"name": "queue", "selector": {"matchLabels": {"queue": "worker"}}},
            "target": {"type": "AverageValue", "averageValue": "30"},
        },
    }
    async with autoscaled(cluster, 2) as scene:
        base = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/default"
        now = clock.now().isoformat()

        def values(*found: tuple[str, str]) -> dict[str, Any]:
            return {
                "items": [
                    {"describedObject": {"name": name}, "timestamp": now, "windowSeconds": 60, "value": value}
                    for name, value in found
                ]
            }

        scene.adapter.answers = {
            f"{base}/pods/*/packets": values(("web-0", "1k"), ("web-1", "1200")),
            f"{base}/ingresses.networking.k8s.io/main-route/requests": values(("main-route", "3k")),
            "/apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue": {
                "items": [{"value": "100"}, {"value": "50"}]
            },
        }
        await scene.autoscale(pods, requests, queue)
        await scene.look()
        assert await scene.replicas() == 4
        status = (await cluster.client.get(HorizontalPodAutoscaler, "web", "default")).status
        first, second, third = status.current_metrics
        assert first.pods is not None
        assert second.object is not None
        assert third.external is not None
        assert first.pods.current.average_value == "1100"
        assert second.object.current.value == "3k"
        assert third.external.current.average_value == "75"
        reason = "external metric queue(&LabelSelector{MatchLabels:map[string]string{queue: worker,},"
        reason += "MatchExpressions:[]LabelSelectorRequirement{},}) above target"
        # A metric of 150 for 30 per pod wants five, and twice as many pods are the most at once.
        assert await scene.events() == [f"Normal SuccessfulRescale: New size: 4; reason: {reason}"]
        queries = [parse_qs(urlsplit(path).query) for path in scene.adapter.asked]
        assert queries == [
            {"labelSelector": ["app=web"]},
            {"metricLabelSelector": ["verb=GET"]},
            {"labelSelector": ["queue=worker"]},
        ]


async def test_older_version_of_custom_metrics(cluster: ControlPlane) -> None:
    namespace = {
        "type": "Object",
        "object": {
            "metric": {"name": "hits"},
            "describedObject": {"apiVersion": "v1", "kind": "Namespace", "name": "default"},
            "target": {"type": "Value", "value": "10"},
        },
    }
    async with autoscaled(cluster, 2) as scene:
        path = "/apis/custom.metrics.k8s.io/v1beta1/namespaces/default/metrics/hits"
        value = {"metricName": "hits", "timestamp": clock.now().isoformat(), "window": 60, "value": "15"}
        scene.adapter.answers[path] = {"items": [value]}
        await scene.autoscale(namespace)
        await scene.look()
        assert await scene.replicas() == 3


async def test_tolerance_of_the_behavior_counts(cluster: ControlPlane) -> None:
    behavior = {
        "scaleUp": {"tolerance": "500m"},
        "scaleDown": {"tolerance": "0", "stabilizationWindowSeconds": 0},
    }
    async with autoscaled(cluster, 4) as scene:
        await scene.autoscale(behavior=behavior)
        scene.adapter.cpu(74, 74, 74, 74)
        await scene.look()
        assert await scene.replicas() == 4
        scene.adapter.cpu(76, 76, 76, 76)
        await scene.look()
        assert await scene.replicas() == 7
        await scene.settle()
        scene.adapter.cpu(*[42] * 7)
        await scene.look()
        assert await scene.replicas() == 6


async def test_behavior_limits_the_rate(cluster: ControlPlane) -> None:
    slow = {
        "scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]},
        "scaleDown": {"selectPolicy": "Disabled"},
    }
    async with autoscaled(cluster, 1) as scene:
        await scene.autoscale(behavior=slow)
        sizes = []
        for _ in range(12):
            scene.adapter.cpu(*[500] * await scene.replicas())
            await scene.look()
            await scene.settle()
            sizes.append(await scene.replicas())
        assert sizes == [2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4]
        assert (await scene.conditions())["ScalingLimited"][1] == "ScaleUpLimit"
        scene.adapter.cpu(0, 0, 0, 0)
        await scene.look(40)
        assert await scene.replicas() == 4


async def test_custom_resource_is_scaled(cluster: ControlPlane) -> None:
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    scale["labelSelectorPath"] = ".status.selector"
    made = definition()
    plain = codec.to_plain(made)
    (version,) = plain["spec"]["versions"]
    version["subresources"] = {"status": {}, "scale": scale}
    version["schema"] = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    plain["metadata"] = {"name": made.metadata.name}
    made = await cluster.client.create(msgspec.convert(plain, type(made)))
    async with autoscaled(cluster, 2) as scene:
        await cluster.advance(seconds=1)
        resource = stored_resource(await cluster.client.get(type(made), made.metadata.name or ""))
        kind: Any = resource.type
        head = {"api_version": resource.group_version, "kind": resource.kind}
        metadata = (await cluster.client.get(Deployment, "web", "default")).metadata
        own = type(metadata)(name="w", namespace="default")
        await cluster.client.create(kind(metadata=own, content={"spec": {"replicas": 2}}, **head))
        status = {"status": {"replicas": 2, "selector": "app=web"}}
        await cluster.client.patch(kind, "w", status, "default", subresource="status")
        scene.adapter.cpu(90, 90)
        reference = {"apiVersion": resource.group_version, "kind": resource.kind, "name": "w"}
        await scene.autoscale(scaleTargetRef=reference)
        await scene.look()
        assert (await cluster.client.get(kind, "w", "default")).content["spec"]["replicas"] == 4


async def test_sync_period_is_a_setting(cluster: ControlPlane) -> None:
    async with autoscaled(cluster, 2, AutoscalerSettings(sync_period=1)) as scene:
        scene.adapter.cpu(90, 90)
        await scene.autoscale()
        await cluster.advance(seconds=1.2)
        assert await scene.replicas() == 4
