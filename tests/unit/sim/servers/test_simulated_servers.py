"""Webhooks and aggregated APIs of a simulated cluster: time-outs and lost packets in virtual time."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from podling import clock
from podling.api.admissionregistration_v1 import ValidatingWebhookConfiguration
from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.api.apiregistration_v1 import APIService
from podling.api.core_v1 import ConfigMap, Namespace, Pod, Service
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.backends.local_servers import ServerAnswer, ServerRequest
from podling.machinery.errors import ApiError
from podling.sim.scenario_parts import Duration
from podling.sim.servers.scripted_handler import ScriptedHandler
from podling.sim.servers.server_scripts import Server
from podling.sim.servers.simulated_servers import ServerFault
from podling.sim.simulated_cluster import SimulatedCluster, simulated_cluster

NAME = "default/hook"
FAILED = 'Internal error occurred: failed calling webhook "a.example.com": failed to call webhook: '
POST = 'Post "https://hook.default.svc:443/?timeout=10s": '
RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}


def config(**more: Any) -> ValidatingWebhookConfiguration:
    webhook = {
        "name": "a.example.com",
        "clientConfig": {"service": {"name": "hook", "namespace": "default"}},
        "rules": [RULE],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 10,
        **more,
    }
    plain = {"metadata": {"name": "c"}, "webhooks": [webhook]}
    return msgspec.convert(plain, ValidatingWebhookConfiguration)


async def configure(cluster: SimulatedCluster, **more: Any) -> None:
    """Configure the webhook once the cluster has the ConfigMaps that pods need."""
    await cluster.advance(seconds=5)
    await cluster.client.create(config(**more))


def config_map(name: str = "a") -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"))


def scripted(seconds: float = 0, **fields: Any) -> ScriptedHandler:
    server = msgspec.convert({"service": NAME, **fields}, Server)
    return ScriptedHandler(replace(server, seconds=Duration(seconds)))


async def run_pod(cluster: SimulatedCluster, node: str = "node-1") -> None:
    """Run a pod behind the Service ``hook``."""
    container = {"name": "app", "image": "hook:1"}
    pod = {
        "metadata": {"name": "hook", "namespace": "default", "labels": {"app": "hook"}},
        "spec": {"nodeName": node, "containers": [container]},
    }
    spec = {"selector": {"app": "hook"}, "ports": [{"port": 443, "targetPort": 8443}]}
    service = {"metadata": {"name": "hook", "namespace": "default"}, "spec": spec}
    await cluster.client.create(msgspec.convert(pod, Pod))
    await cluster.client.create(msgspec.convert(service, Service))
    await cluster.advance(seconds=5)


async def refusal(cluster: SimulatedCluster) -> tuple[float, str]:
    """Return the seconds after which a ConfigMap is refused, and why."""
    began = clock.monotonic()
    with pytest.raises(ApiError) as error:
        await cluster.client.create(config_map())
    return round(clock.monotonic() - began, 3), str(error.value)


async def test_answer_takes_its_time() -> None:
    async with simulated_cluster(nodes=1) as cluster:
        cluster.servers.serve(NAME, scripted(seconds=3), needs_endpoint=False)
        await configure(cluster)
        began = clock.monotonic()
        await cluster.client.create(config_map())
        assert round(clock.monotonic() - began, 3) == 3


async def test_webhook_time_out_passes_in_virtual_time() -> None:
    async with simulated_cluster(nodes=1) as cluster:
        cluster.servers.serve(NAME, scripted(seconds=11), needs_endpoint=False)
        await configure(cluster)
        assert await refusal(cluster) == (10, f"{FAILED}{POST}context deadline exceeded")


async def test_failure_policy_ignore_allows_after_the_time_out() -> None:
    async with simulated_cluster(nodes=1) as cluster:
        cluster.servers.serve(NAME, scripted(), needs_endpoint=False)
        cluster.servers.faults.append(ServerFault(server="default/*", hangs=True))
        await configure(cluster, failurePolicy="Ignore")
        began = clock.monotonic()
        await cluster.client.create(config_map())
        assert round(clock.monotonic() - began, 3) == 10


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (ServerFault(code=0), f"{POST}EOF"),
        (
            ServerFault(code=500),
            'an error on the server ("an injected fault") has prevented the request from succeeding',
        ),
        (ServerFault(seconds=10), f"{POST}context deadline exceeded"),
    ],
)
async def test_fault_of_a_server_decides_its_answer(fault: ServerFault, message: str) -> None:
    async with simulated_cluster(nodes=1) as cluster:
        cluster.servers.serve(NAME, scripted(), needs_endpoint=False)
        await configure(cluster)
        cluster.servers.faults.append(fault)
        assert (await refusal(cluster))[1] == FAILED + message
        cluster.servers.faults.remove(fault)
        await cluster.client.create(config_map())


async def test_server_behind_a_service_answers_while_its_pod_runs() -> None:
    async with simulated_cluster(nodes=2) as cluster:
        cluster.servers.serve(NAME, scripted())
        await configure(cluster)
        missing = f'{FAILED}{POST}service "hook" not found'
        assert await refusal(cluster) == (0, missing)
        await run_pod(cluster)
        await cluster.client.create(config_map("b"))
        await cluster.client.delete(Pod, "hook", "default", grace_seconds=0)
        await cluster.advance(seconds=5)
        gone = f'{FAILED}{POST}no endpoints available for service "hook"'
        assert await refusal(cluster) == (0, gone)


@pytest.mark.parametrize("fault", ["crash", "partition"])
async def test_packets_to_a_lost_machine_run_into_the_time_out(fault: str) -> None:
    async with simulated_cluster(nodes=2) as cluster:
        cluster.servers.serve(NAME, scripted())
        await configure(cluster)
        await run_pod(cluster)
        node = cluster.nodes["node-1"]
        await (node.crash() if fault == "crash" else node.connection.cut())
        assert await refusal(cluster) == (10, f"{FAILED}{POST}context deadline exceeded")
        await cluster.advance(minutes=1)
        assert await refusal(cluster) == (
            0,
            f'{FAILED}{POST}no endpoints available for service "hook"',
        )


async def test_pod_without_a_server_refuses_connections() -> None:
    async with simulated_cluster(nodes=1) as cluster:
        await configure(cluster)
        await run_pod(cluster)
        seconds, text = await refusal(cluster)
        assert seconds == 0
        assert text.startswith(f"{FAILED}{POST}dial tcp 100.64.")
        assert text.endswith(":8443: connect: connection refused")


async def test_url_outside_of_the_simulation_is_unknown() -> None:
    async with simulated_cluster(nodes=1) as cluster:
        await configure(cluster, clientConfig={"url": "https://hooks.example.com/review"})
        assert (await refusal(cluster))[1].endswith("dial tcp: lookup hooks.example.com: no such host")
        cluster.servers.serve("https://hooks.example.com", scripted())
        await cluster.client.create(config_map())


async def test_conversion_webhook_converts() -> None:
    asked: list[ServerRequest] = []
    answer = scripted()

    async def handler(request: ServerRequest) -> ServerAnswer:
        asked.append(request)
        return await answer(request)

    names = {"plural": "sites", "singular": "site", "kind": "Site", "listKind": "SiteList"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [
        {"name": name, "served": True, "storage": name == "v1", "schema": schema} for name in ("v1", "v2")
    ]
    webhook = {
        "clientConfig": {"service": {"name": "hook", "namespace": "default", "path": "/convert"}},
        "conversionReviewVersions": ["v1"],
    }
    spec = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": names,
        "versions": versions,
        "conversion": {"strategy": "Webhook", "webhook": webhook},
    }
    plain = {"metadata": {"name": "sites.example.com"}, "spec": spec}
    async with simulated_cluster(nodes=1) as cluster:
        cluster.servers.serve(NAME, handler, needs_endpoint=False)
        await cluster.client.create(msgspec.convert(plain, CustomResourceDefinition))
        await cluster.advance(seconds=10)
        catalogue = cluster.server.catalogue
        old, new = (catalogue.by_path("example.com", version, "sites") for version in ("v1", "v2"))
        assert old is not None
        assert new is not None
        made = old.type(
            api_version="example.com/v1",
            kind="Site",
            metadata=ObjectMeta(name="a", namespace="default"),
            content={"spec": {"size": 3}},
        )
        await cluster.client.create(made, namespace="default")
        found = await cluster.client.get(new.type, "a", "default")
        assert found.api_version == "example.com/v2"
        assert found.content == {"spec": {"size": 3}}
        assert [each.path for each in asked] == ["/convert"]


async def test_api_service_is_available_while_its_server_answers() -> None:
    async def available(cluster: SimulatedCluster) -> tuple[str | None, str | None]:
        service = await cluster.client.get(APIService, "v1.q.example.com")
        found = next(each for each in service.status.conditions if each.type == "Available")
        return found.status, found.reason

    spec = {
        "group": "q.example.com",
        "version": "v1",
        "groupPriorityMinimum": 1000,
        "versionPriority": 10,
        "insecureSkipTLSVerify": True,
        "service": {"name": "hook", "namespace": "default"},
    }
    api = {"group": "q.example.com", "version": "v1", "resources": [{"name": "queues", "kind": "Queue"}]}
    async with simulated_cluster(nodes=1) as cluster:
        cluster.servers.serve(NAME, scripted(apis=[api]))
        plain = {"metadata": {"name": "v1.q.example.com"}, "spec": spec}
        await cluster.client.create(msgspec.convert(plain, APIService))
        await cluster.advance(seconds=5)
        assert await available(cluster) == ("False", "ServiceNotFound")
        await run_pod(cluster)
        await cluster.advance(seconds=40)
        assert await available(cluster) == ("True", "Passed")
        assert [each.plural for each in cluster.server.aggregation.resources()] == ["queues"]

        cluster.servers.faults.append(ServerFault(hangs=True))
        await cluster.advance(seconds=40)
        assert await available(cluster) == ("False", "FailedDiscoveryCheck")
        namespace = Namespace(metadata=ObjectMeta(name="old"))
        await cluster.client.create(namespace)
        await cluster.client.delete(Namespace, "old")
        await cluster.advance(seconds=30)
        left = await cluster.client.get(Namespace, "old")
        reasons = {each.reason for each in left.status.conditions if each.status == "True"}
        assert reasons, "an API that does not answer keeps a namespace from ending"
