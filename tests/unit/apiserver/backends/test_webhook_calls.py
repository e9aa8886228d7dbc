"""Addresses of webhooks, and messages about unsuccessful answers."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from podling.api.admissionregistration_v1 import ServiceReference, WebhookClientConfig
from podling.api.core_v1 import Service
from podling.api.discovery_v1 import EndpointSlice
from podling.apiserver.backends.webhook_calls import Address, WebhookFailed, ask, locate, said_of
from podling.testing import ControlPlane
from tests.support.manifests import obj
from tests.support.webhooks import serving_hook

UNSUPPORTED = "the server was unable to respond with a content type that the client supports"


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (400, "why", "the server rejected our request for an unknown reason"),
        (403, "why", "why"),
        (404, "why", "the server could not find the requested resource"),
        (406, "why", "why"),
        (406, "unknown", UNSUPPORTED),
        (415, "unknown", UNSUPPORTED),
        (418, "why", "the server responded with the status code 418 but did not return more information"),
        (500, 'a "b"', r'an error on the server ("a \"b\"") has prevented the request from succeeding'),
        (503, "why", "the server is currently unable to handle the request"),
    ],
)
def test_message_of_an_unsuccessful_answer(status: int, body: str, message: str) -> None:
    assert said_of(status, body) == message


def service_of(name: str, path: str | None = None, port: int | None = None) -> WebhookClientConfig:
    return WebhookClientConfig(service=ServiceReference(name=name, namespace="default", path=path, port=port))


async def serve(cluster: ControlPlane) -> None:
    """Create a service with one endpoint."""
    await cluster.client.create(
        obj(
            Service,
            """
            metadata: {name: hook, namespace: default}
            spec: {selector: {app: hook}, ports: [{port: 443, targetPort: 8443}]}
            """,
        )
    )
    await cluster.client.create(
        obj(
            EndpointSlice,
            """
            metadata: {name: hook-1, namespace: default, labels: {kubernetes.io/service-name: hook}}
            addressType: IPv4
            ports: [{port: 8443, name: ""}]
            endpoints: [{addresses: [10.0.0.7], conditions: {ready: true}}]
            """,
        )
    )


async def test_url_is_the_address(cluster: ControlPlane) -> None:
    client = WebhookClientConfig(url="https://example.com/a")
    expected = "https://example.com/a?timeout=10s"
    assert await locate(client, cluster.server.objects, "?timeout=10s") == Address(expected, expected)


@pytest.mark.parametrize(
    ("path", "shown"),
    [(None, "/"), ("validate", "/validate"), ("/validate", "/validate")],
)
async def test_service_is_called_at_its_endpoint(cluster: ControlPlane, path: str | None, shown: str) -> None:
    await serve(cluster)
    assert await locate(service_of("hook", path), cluster.server.objects) == Address(
        f"https://10.0.0.7:8443{shown}", f"https://hook.default.svc:443{shown}", "hook.default.svc"
    )


@pytest.mark.parametrize(
    ("client", "why"),
    [
        (WebhookClientConfig(), "neither url nor service"),
        (service_of("other"), 'Post "https://other.default.svc:443/": service "other" not found'),
        (service_of("hook", port=444), 'Post "https://hook.default.svc:444/": '),
    ],
)
async def test_missing_address_fails_the_call(
    cluster: ControlPlane, client: WebhookClientConfig, why: str
) -> None:
    await serve(cluster)
    with pytest.raises(WebhookFailed) as error:
        await locate(client, cluster.server.objects)
    assert str(error.value).startswith(why)
    assert error.value.code == 503


@pytest.mark.asyncio(loop_factories=["real"])
async def test_endpoint_is_called_by_the_name_of_its_service(tmp_path: Path) -> None:
    async with serving_hook(tmp_path) as hook:
        host = urlsplit(hook.client["url"]).hostname
        address = Address(hook.client["url"], "https://hook.default.svc:443/admit", host)
        body = json.dumps({"request": {"uid": "1"}}).encode()
        await ask(address, hook.client["caBundle"], body, seconds=10)
    (headers,) = hook.headers
    assert headers["Host"] == "hook.default.svc:443"
    assert headers["User-Agent"] == "kube-apiserver-admission"
    assert headers["Accept"] == "application/json, */*"
