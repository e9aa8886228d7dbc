"""The servers that objects make the API server call."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.admissionregistration_v1 import MutatingWebhookConfiguration
from podling.api.apiregistration_v1 import APIService
from podling.api.core_v1 import ConfigMap
from podling.sim.servers.server_scripts import Server
from podling.sim.servers.server_validation import called_servers

SERVICE = {"name": "hook", "namespace": "ops"}


def webhook(client: dict[str, Any]) -> dict[str, Any]:
    return {"name": "a.b.c", "clientConfig": client, "sideEffects": "None", "admissionReviewVersions": ["v1"]}


@pytest.mark.parametrize(
    ("kind", "plain", "called"),
    [
        (ConfigMap, {}, []),
        (MutatingWebhookConfiguration, {"webhooks": [webhook({"service": SERVICE})]}, ["ops/hook"]),
        (
            MutatingWebhookConfiguration,
            {"webhooks": [webhook({"url": "https://a/b"}), webhook({"service": SERVICE})]},
            ["https://a/b", "ops/hook"],
        ),
        (
            APIService,
            {"spec": {"groupPriorityMinimum": 1, "versionPriority": 1, "service": SERVICE}},
            ["ops/hook"],
        ),
        (APIService, {"spec": {"groupPriorityMinimum": 1, "versionPriority": 1}}, []),
    ],
)
def test_called_servers_are_those_of_client_configurations(
    kind: Any, plain: dict[str, Any], called: list[str]
) -> None:
    obj = msgspec.convert({"metadata": {"name": "a"}, **plain}, kind)
    assert list(called_servers(obj)) == called


@pytest.mark.parametrize(
    ("server", "called", "serves"),
    [
        (Server(service="ops/hook"), "ops/hook", True),
        (Server(service="ops/hook"), "ops/hook2", False),
        (Server(url="https://a.example.com"), "https://a.example.com/review", True),
        (Server(url="https://a.example.com"), "https://a.example.com.evil/review", False),
    ],
)
def test_server_serves_its_own_name(server: Server, called: str, serves: bool) -> None:
    assert server.serves(called) == serves
