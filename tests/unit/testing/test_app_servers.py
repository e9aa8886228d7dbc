"""Webhooks of tests as Python functions and ASGI applications, in the cluster's time. Real threads."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from podling.machinery.errors import ApiError
from podling.testing.app_servers import admission_response, conversion_response
from podling.testing.clusters import Cluster, running_cluster
from tests.support.tested_clusters import request

RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
WEBHOOK = {
    "name": "a.example.com",
    "clientConfig": {"service": {"name": "hook", "namespace": "default", "path": "/review"}},
    "rules": [RULE],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "timeoutSeconds": 10,
}
CONFIGURATION = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "MutatingWebhookConfiguration",
    "metadata": {"name": "hook"},
    "webhooks": [WEBHOOK],
}
LABEL = [{"op": "add", "path": "/metadata/labels", "value": {"seen": "yes"}}]
TIMED_OUT = 'Post "https://hook.default.svc:443/review?timeout=10s": context deadline exceeded'


def config_map(name: str = "a") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with running_cluster() as running:
        running.advance(seconds=5)
        running.apply(CONFIGURATION)
        yield running


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (None, {"allowed": True}),
        (True, {"allowed": True}),
        (False, {"allowed": False}),
        ("no", {"allowed": False, "status": {"code": 403, "message": "no"}}),
        ({"allowed": True, "warnings": ["w"]}, {"allowed": True, "warnings": ["w"]}),
    ],
)
def test_value_of_a_function_is_a_response(found: Any, expected: dict[str, Any]) -> None:
    assert admission_response({"uid": "u"}, found) == {"uid": "u", **expected}


def test_list_is_a_json_patch() -> None:
    found = admission_response({"uid": "u"}, LABEL)
    assert json.loads(base64.b64decode(found["patch"])) == LABEL


def test_conversion_returns_objects_or_a_message() -> None:
    made = conversion_response({"uid": "u"}, [{"a": 1}])
    assert made == {"uid": "u", "convertedObjects": [{"a": 1}], "result": {"status": "Success"}}
    failed = conversion_response({"uid": "u"}, "cannot")
    assert failed["result"] == {"status": "Failure", "message": "cannot"}


@pytest.mark.parametrize("respond", [admission_response, conversion_response])
def test_other_values_are_errors(respond: Any) -> None:
    with pytest.raises(TypeError, match="returned int"):
        respond({"uid": "u"}, 3)


def test_function_that_uses_the_cluster_changes_objects(cluster: Cluster) -> None:
    def review(asked: dict[str, Any]) -> Any:
        assert request(cluster, "/api/v1/namespaces/default")
        return "not this one" if asked["name"] == "bad" else LABEL

    cluster.serve("default/hook", review)
    assert cluster.apply(config_map())[0]["metadata"]["labels"] == {"seen": "yes"}
    with pytest.raises(ApiError, match="denied the request: not this one"):
        cluster.apply(config_map("bad"))


def test_standing_clock_moves_on_by_the_time_of_an_answer(cluster: Cluster) -> None:
    cluster.serve("default/hook", lambda _: True, seconds=3)
    began = cluster.now
    cluster.apply(config_map())
    assert cluster.now - began == timedelta(seconds=3)


def test_time_of_an_answer_passes_for_a_client_over_https(cluster: Cluster) -> None:
    import kubernetes

    cluster.serve("default/hook", lambda _: True, seconds=3)
    api = kubernetes.client.CoreV1Api(cluster.kubernetes())
    began = cluster.now
    metadata = kubernetes.client.V1ObjectMeta(name="a")
    api.create_namespaced_config_map("default", kubernetes.client.V1ConfigMap(metadata=metadata))
    assert cluster.now - began == timedelta(seconds=3)


def test_fault_of_a_server_runs_into_the_time_out(cluster: Cluster) -> None:
    cluster.serve("default/hook", lambda _: True)
    began = cluster.now
    with cluster.fault("server", service="default/*"), pytest.raises(ApiError) as error:
        cluster.apply(config_map())
    assert TIMED_OUT in str(error.value)
    assert timedelta(seconds=10) <= cluster.now - began < timedelta(seconds=11)
    cluster.apply(config_map())


def test_error_of_a_function_is_that_of_a_server(cluster: Cluster) -> None:
    def review(_: dict[str, Any]) -> None:
        raise LookupError("lost")

    cluster.serve("default/hook", review)
    with pytest.raises(ApiError, match=r"an error on the server \(\"LookupError: lost\"\)"):
        cluster.apply(config_map())


def test_asgi_application_answers(cluster: Cluster) -> None:
    paths = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        paths.append((scope["method"], scope["path"], scope["query_string"]))
        asked = json.loads((await receive())["body"])
        asked["response"] = {"uid": asked["request"]["uid"], "allowed": False, "status": {"message": "asgi"}}
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps(asked).encode()})

    cluster.serve("default/hook", app)
    with pytest.raises(ApiError, match="denied the request: asgi"):
        cluster.apply(config_map())
    assert paths == [("POST", "/review", b"timeout=10s")]


def test_server_that_needs_an_endpoint_has_none_without_a_service(cluster: Cluster) -> None:
    cluster.serve("default/hook", lambda _: True, needs_endpoint=True)
    with pytest.raises(ApiError, match='service "hook" not found'):
        cluster.apply(config_map())


def test_aggregated_api_answers_clients(cluster: Cluster) -> None:
    listed = {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": "q.example.com/v1",
        "resources": [],
    }

    async def app(scope: Any, receive: Any, send: Any) -> None:
        known = scope["path"] == "/apis/q.example.com/v1"
        user = dict(scope["headers"]).get(b"x-remote-user", b"").decode()
        body = listed if known else {"kind": "Thing", "user": user}
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-type", b"application/json")],
            }
        )
        await send({"type": "http.response.body", "body": json.dumps(body).encode()})

    cluster.serve("default/api", app)
    spec = {
        "group": "q.example.com",
        "version": "v1",
        "groupPriorityMinimum": 1000,
        "versionPriority": 10,
        "insecureSkipTLSVerify": True,
        "service": {"name": "api", "namespace": "default"},
    }
    name = {"name": "v1.q.example.com"}
    cluster.apply(
        {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": name, "spec": spec}
    )
    cluster.expect("apiservice/v1.q.example.com", "condition=Available")
    assert json.loads(request(cluster, "/apis/q.example.com/v1/things")) == {
        "kind": "Thing",
        "user": "kubernetes-admin",
    }


def test_name_of_neither_service_nor_url_is_refused(cluster: Cluster) -> None:
    with pytest.raises(ValueError, match="'hook' names no server"):
        cluster.serve("hook", lambda _: True)
