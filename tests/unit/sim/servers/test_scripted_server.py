"""Answers of scenarios' webhooks and aggregated APIs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from podling.apiserver.backends.local_servers import ServerAnswer, ServerRequest
from podling.sim.servers.scripted_server import answer_of
from podling.sim.servers.server_scripts import Server

API = {"group": "g.example.com", "version": "v1", "resources": [{"name": "queues", "kind": "Queue"}]}
ROOT = "/apis/g.example.com/v1"


def server(**fields: Any) -> Server:
    return msgspec.convert({"service": "default/hook", **fields}, Server)


def never(text: str, values: Mapping[str, Any]) -> bool:
    return False


def plain(answer: ServerAnswer) -> Any:
    return json.loads(answer.body)


def test_conversion_returns_the_objects_in_the_wanted_version() -> None:
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "request": {
            "uid": "u2",
            "desiredAPIVersion": "example.com/v2",
            "objects": [{"apiVersion": "example.com/v1", "kind": "Site", "spec": {"size": 1}}],
        },
    }
    found = plain(answer_of(server(), ServerRequest("POST", "/", body=json.dumps(body).encode()), never))
    assert found["response"] == {
        "uid": "u2",
        "convertedObjects": [{"apiVersion": "example.com/v2", "kind": "Site", "spec": {"size": 1}}],
        "result": {"status": "Success"},
    }


@pytest.mark.parametrize(
    ("method", "path", "status", "kind"),
    [
        ("GET", ROOT, 200, "APIResourceList"),
        ("GET", f"{ROOT}/queues?limit=5", 200, "QueueList"),
        ("GET", f"{ROOT}/namespaces/default/queues", 200, "QueueList"),
        ("DELETE", f"{ROOT}/namespaces/default/queues", 200, "Status"),
        ("GET", f"{ROOT}/namespaces/default/queues/one", 404, "Status"),
        ("GET", f"{ROOT}/topics", 404, "Status"),
        ("GET", f"{ROOT}/metrics/cpu", 200, "Metric"),
        ("GET", "/openapi/v3", 404, "Status"),
    ],
)
def test_aggregated_api_lists_its_resources_and_no_objects(
    method: str, path: str, status: int, kind: str
) -> None:
    responses = {f"{ROOT}/metrics/*": {"kind": "Metric"}}
    answer = answer_of(server(apis=[API], responses=responses), ServerRequest(method, path), never)
    assert (answer.status, plain(answer)["kind"]) == (status, kind)
