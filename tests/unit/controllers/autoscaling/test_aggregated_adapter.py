"""Autoscalers over a real adapter: metrics that a server over HTTPS serves behind APIServices.

The test is the adapter. The way is whole: controller, API server, APIService, TLS with client certificates.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from podling import clock
from podling.api.apiregistration_v1 import APIService, APIServiceSpec, ServiceReference
from podling.api.apps_v1 import Deployment
from podling.api.autoscaling_v2 import HorizontalPodAutoscaler
from podling.api.core_v1 import Pod, Service, ServicePort, ServiceSpec
from podling.api.discovery_v1 import Endpoint, EndpointConditions, EndpointPort, EndpointSlice
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.admission.registry import plugins_without_controllers
from podling.apiserver.auth.pki import Pki
from podling.apiserver.server import ApiServer
from podling.apiserver.serving import Serving, tls_context
from podling.client.local import LocalClient
from podling.cluster.components import CONTROLLER_MANAGER
from podling.controllers.autoscaling.horizontal import HorizontalController
from podling.controllers.autoscaling.settings import AutoscalerSettings
from podling.kubelet.node.machine import primary_address
from podling.machinery.conditions import is_true
from podling.store.memory import MemoryStore
from tests.support.control_loops import running

real = pytest.mark.asyncio(loop_factories=["real"])
CUSTOM, EXTERNAL = "custom.metrics.k8s.io/v1beta2", "external.metrics.k8s.io/v1beta1"
DEADLINE_SECONDS = 60.0
PODS = f"/apis/{CUSTOM}/namespaces/default/pods/*/requests_per_second"
QUEUE = f"/apis/{CUSTOM}/namespaces/default/services/far/queue_length"
MESSAGES = f"/apis/{EXTERNAL}/namespaces/default/messages_waiting"


class Adapter:
    """Serves discovery and the metrics in ``values``: millis of each pod, of a Service, of a queue."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], str | None]] = []
        """Paths, their queries, and the users that the API server names."""

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        certificate = request.transport.get_extra_info("peercert") if request.transport else None
        if not certificate:
            return web.json_response({"message": "no certificate"}, status=401)
        self.requests.append((request.path, dict(request.query), request.headers.get("X-Remote-User")))
        group_version = "/".join(request.path.split("/")[2:4])
        if request.path in (f"/apis/{CUSTOM}", f"/apis/{EXTERNAL}"):
            listed = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version}
            return web.json_response({**listed, "resources": []})
        values = {PODS: self._pods, QUEUE: self._queue, MESSAGES: self._messages}.get(request.path)
        if values is None:
            return web.json_response({"message": "not found"}, status=404)
        kind = "ExternalMetricValueList" if group_version == EXTERNAL else "MetricValueList"
        return web.json_response({"kind": kind, "apiVersion": group_version, "items": values()})

    def _pods(self) -> list[dict[str, Any]]:
        return [self._value("Pod", f"web-{place}", "30") for place in range(2)]

    def _queue(self) -> list[dict[str, Any]]:
        return [self._value("Service", "far", "90")]

    def _messages(self) -> list[dict[str, Any]]:
        at = clock.now().isoformat()
        return [{"metricName": "messages_waiting", "timestamp": at, "value": text} for text in ("40", "30")]

    def _value(self, kind: str, name: str, value: str) -> dict[str, Any]:
        described = {"kind": kind, "namespace": "default", "name": name, "apiVersion": "v1"}
        metric = {"name": "m"}
        return {
            "describedObject": described,
            "metric": metric,
            "timestamp": clock.now().isoformat(),
            "value": value,
        }


@asynccontextmanager
async def adapter_server(pki: Pki) -> AsyncIterator[tuple[Adapter, int]]:
    adapter = Adapter()
    serving = Serving(certificate=pki.server("far", ("far.default.svc",)), client_ca=pki.ca)
    runner = web.ServerRunner(web.Server(adapter.answer))
    await runner.setup()
    await web.TCPSite(runner, "0.0.0.0", 0, ssl_context=tls_context(serving)).start()
    try:
        yield adapter, runner.addresses[0][1]
    finally:
        await runner.cleanup()


@asynccontextmanager
async def api_server(pki: Pki) -> AsyncIterator[ApiServer]:
    store = MemoryStore()
    front = pki.client("front-proxy-client", "front-proxy-client")
    api = ApiServer(store, plugins_without_controllers(), front=front)
    await api.start()
    try:
        yield api
    finally:
        await api.stop()
        await store.close()


async def register(client: LocalClient, pki: Pki, port: int) -> None:
    """Create the adapter's Service and its APIServices, and wait until both are available."""
    metadata = ObjectMeta(name="far", namespace="default")
    service = ServiceSpec(ports=(ServicePort(port=443),), cluster_ip="None")
    await client.create(Service(metadata=metadata, spec=service))
    labels = {"kubernetes.io/service-name": "far"}
    await client.create(
        EndpointSlice(
            metadata=ObjectMeta(name="far", namespace="default", labels=labels),
            address_type="IPv4",
            ports=(EndpointPort(port=port),),
            endpoints=(Endpoint(addresses=(primary_address(),), conditions=EndpointConditions(ready=True)),),
        )
    )
    for group, _, version in (each.partition("/") for each in (CUSTOM, EXTERNAL)):
        spec = APIServiceSpec(
            group=group,
            version=version,
            ca_bundle=base64.b64encode(pki.ca_pem).decode(),
            group_priority_minimum=100,
            version_priority=100,
            service=ServiceReference(name="far", namespace="default"),
        )
        await client.create(APIService(metadata=ObjectMeta(name=f"{version}.{group}"), spec=spec))
    async with asyncio.timeout(DEADLINE_SECONDS):
        while True:
            found = (await client.list(APIService)).items
            ours = [each for each in found if "metrics.k8s.io" in (each.metadata.name or "")]
            if sum(is_true(each.status.conditions, "Available") for each in ours) >= 2:
                return
            await clock.sleep(0.05)


async def deploy(client: LocalClient) -> None:
    """Create a Deployment of two replicas and its pods, which run and are ready."""
    labels = {"app": "web"}
    container = {"name": "app", "image": "app:1"}
    spec = {
        "replicas": 2,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
    }
    plain = {"metadata": {"name": "web", "namespace": "default"}, "spec": spec}
    await client.create(msgspec.convert(plain, Deployment))
    patch: dict[str, Any] = {"status": {"replicas": 2}}
    await client.patch(Deployment, "web", patch, "default", subresource="status")
    at = clock.now().replace(microsecond=0).isoformat()
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": at}
    for place in range(2):
        metadata = {"name": f"web-{place}", "namespace": "default", "labels": labels}
        await client.create(msgspec.convert({"metadata": metadata, "spec": {"containers": [container]}}, Pod))
        patch = {"status": {"phase": "Running", "startTime": at, "conditions": [ready]}}
        await client.patch(Pod, f"web-{place}", patch, "default", subresource="status")


def target(kind: str, value: str) -> dict[str, Any]:
    return {"type": kind, "value" if kind == "Value" else "averageValue": value}


SERIES = {"matchLabels": {"verb": "GET"}}


@real
@pytest.mark.parametrize(
    ("metric", "replicas", "path", "query"),
    [
        (
            {
                "type": "Pods",
                "pods": {
                    "metric": {"name": "requests_per_second", "selector": SERIES},
                    "target": target("AverageValue", "20"),
                },
            },
            3,
            PODS,
            {"labelSelector": "app=web", "metricLabelSelector": "verb=GET"},
        ),
        (
            {
                "type": "Object",
                "object": {
                    "metric": {"name": "queue_length"},
                    "describedObject": {"apiVersion": "v1", "kind": "Service", "name": "far"},
                    "target": target("Value", "45"),
                },
            },
            4,
            QUEUE,
            {},
        ),
        (
            {
                "type": "External",
                "external": {
                    "metric": {"name": "messages_waiting", "selector": SERIES},
                    "target": target("AverageValue", "20"),
                },
            },
            4,
            MESSAGES,
            {"labelSelector": "verb=GET"},
        ),
    ],
    ids=["pods", "object", "external"],
)
async def test_autoscaler_scales_by_an_aggregated_adapter(
    tmp_path: Path, metric: dict[str, Any], replicas: int, path: str, query: dict[str, str]
) -> None:
    pki = Pki(tmp_path)
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"minReplicas": 1, "maxReplicas": 10, "scaleTargetRef": reference, "metrics": [metric]}
    plain = {"metadata": {"name": "web", "namespace": "default"}, "spec": spec}
    async with adapter_server(pki) as (adapter, port), api_server(pki) as api:
        client = api.client()
        await register(client, pki, port)
        await deploy(client)
        others = api.other_contents(CONTROLLER_MANAGER)
        make = partial(HorizontalController, metrics=others, settings=AutoscalerSettings(sync_period=0.2))
        async with running(client, make):
            await client.create(msgspec.convert(plain, HorizontalPodAutoscaler))
            async with asyncio.timeout(DEADLINE_SECONDS):
                while (await client.get(Deployment, "web", "default")).spec.replicas == 2:
                    await clock.sleep(0.05)
        assert (await client.get(Deployment, "web", "default")).spec.replicas == replicas
        assert (path, query, "system:kube-controller-manager") in adapter.requests
