"""Reading metrics APIs: answers of every shape, and errors in Kubernetes' words."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.autoscaling_v2 import MetricSpec
from podling.client.base import Unreachable
from podling.controllers.autoscaling.metric_proposals import FailedReading, PodReading, Reading
from podling.controllers.autoscaling.metric_readings import MetricReadings
from podling.machinery import errors
from tests.unit.controllers.autoscaling.autoscaled import NOW

TARGET = {"type": "AverageValue", "averageValue": "1"}
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": TARGET}}
APP = {
    "type": "ContainerResource",
    "containerResource": {"name": "cpu", "container": "app", "target": TARGET},
}
PACKETS = {"type": "Pods", "pods": {"metric": {"name": "packets"}, "target": TARGET}}
QUEUE = {"type": "External", "external": {"metric": {"name": "queue"}, "target": TARGET}}
FETCH = "unable to fetch metrics from {} metrics API: "


def item(name: str, **usages: str) -> dict[str, Any]:
    """Return the metrics of a pod: CPU by container; an empty text means that it is not known."""
    containers = [{"name": each, "usage": {"cpu": use} if use else {}} for each, use in usages.items()]
    metadata = {"name": name, "namespace": "test"}
    return {"metadata": metadata, "timestamp": NOW.isoformat(), "window": "20s", "containers": containers}


async def read(spec: dict[str, Any], answer: Any) -> Reading:
    class Answers:
        async def get(self, path: str) -> bytes:
            if isinstance(answer, Exception):
                raise answer
            return answer if isinstance(answer, bytes) else msgspec.json.encode(answer)

    readings = MetricReadings(Answers(), lambda group, kind: None)
    return await readings.read(msgspec.convert(spec, MetricSpec), "test", "app=x", NOW)


@pytest.mark.parametrize(
    ("spec", "items", "expected"),
    [
        (CPU, [item("a", app="100m", side="50m"), item("b", app="1")], {"a": 150, "b": 1000}),
        (CPU, [item("a", app="100m", side=""), item("b", app="1n")], {"b": 1}),
        (CPU, [item("a")], {}),
        (APP, [item("a", app="100m", side="50m"), item("b", app="")], {"a": 100}),
    ],
)
async def test_use_of_pods(spec: dict[str, Any], items: list[Any], expected: dict[str, int]) -> None:
    found = await read(spec, {"items": items})
    assert isinstance(found, PodReading)
    assert {name: metric.value for name, metric in found.metrics.items()} == expected
    assert all(metric.window.total_seconds() == 20 for metric in found.metrics.values())


@pytest.mark.parametrize(
    ("spec", "answer", "error"),
    [
        (CPU, {"items": []}, "no metrics returned from resource metrics API"),
        (PACKETS, {"items": []}, "no metrics returned from custom metrics API"),
        (QUEUE, {"items": []}, "no metrics returned from external metrics API"),
        (APP, {"items": [item("a", side="1m")]}, "container app not present in metrics for pod test/a"),
        (CPU, Unreachable("the connection is cut"), FETCH.format("resource") + "the connection is cut"),
        (
            QUEUE,
            errors.failure(404, "NotFound", "x"),
            FETCH.format("external")
            + "the server could not find the requested resource (get queue.external.metrics.k8s.io)",
        ),
        (
            CPU,
            errors.service_unavailable("service unavailable"),
            FETCH.format("resource")
            + "the server is currently unable to handle the request (get pods.metrics.k8s.io)",
        ),
        (QUEUE, {"items": [{"value": "many"}]}, "quantities must match the regular expression"),
        (CPU, b"<html>", FETCH.format("resource") + "JSON is malformed"),
        (CPU, {"items": [{"metadata": {}}]}, FETCH.format("resource") + "Object missing required field"),
    ],
)
async def test_failures_are_values(spec: dict[str, Any], answer: Any, error: str) -> None:
    found = await read(spec, answer)
    assert isinstance(found, FailedReading)
    assert found.error.startswith(error)


async def test_described_kind_must_be_known() -> None:
    described = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "w"}
    source = {"metric": {"name": "hits"}, "describedObject": described, "target": TARGET}
    found = await read({"type": "Object", "object": source}, {})
    assert isinstance(found, FailedReading)
    assert found.error.endswith('no matches for kind "Widget" in group "example.com"')
