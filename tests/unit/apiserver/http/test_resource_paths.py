"""Paths of resources, and the verbs of their methods."""

from __future__ import annotations

import pytest

from podling.apiserver.http.resource_paths import parse_path, verb_of
from podling.machinery.errors import ApiError


@pytest.mark.parametrize(
    ("path", "plural", "namespace", "name", "subresource"),
    [
        ("/api/v1/pods", "pods", "", "", ""),
        ("/api/v1/pods/", "pods", "", "", ""),
        ("/api/v1/namespaces/a/pods", "pods", "a", "", ""),
        ("/api/v1/namespaces/a/pods/p", "pods", "a", "p", ""),
        ("/api/v1/namespaces/a/pods/p/log", "pods", "a", "p", "log"),
        ("/api/v1/namespaces", "namespaces", "", "", ""),
        ("/api/v1/namespaces/a", "namespaces", "", "a", ""),
        ("/api/v1/namespaces/a/status", "namespaces", "", "a", "status"),
        ("/api/v1/namespaces/a/finalize", "namespaces", "", "a", "finalize"),
        ("/api/v1/nodes/n/status", "nodes", "", "n", "status"),
        ("/apis/apps/v1/deployments", "deployments", "", "", ""),
        ("/apis/apps/v1/namespaces/a/deployments/d/scale", "deployments", "a", "d", "scale"),
        (
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node",
            "clusterroles",
            "",
            "system:node",
            "",
        ),
    ],
)
def test_path_is_split_into_its_resource(
    path: str, plural: str, namespace: str, name: str, subresource: str
) -> None:
    parsed = parse_path(path)
    assert parsed is not None
    target = parsed.target
    assert (target.resource.plural, target.namespace, target.name) == (plural, namespace, name)
    assert target.subresource == subresource


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/api",
        "/api/v1",
        "/api/v2/pods",
        "/apis/apps/v1",
        "/apis/apps/v1/pods",
        "/api/v1/namespaces/a/nodes",
        "/api/v1/pods/p",
        "/api/v1/namespaces/a/pods/p/nothing",
        "/api/v1/namespaces/a/pods/p/log/more",
        "/api/v1/namespaces//pods",
        "/healthz",
        "/openapi/v2",
    ],
)
def test_path_without_a_resource_is_none(path: str) -> None:
    assert parse_path(path) is None


def test_path_of_a_proxy_has_a_remainder() -> None:
    parsed = parse_path("/api/v1/nodes/n/proxy/stats/summary")
    assert parsed is not None
    assert (parsed.target.subresource, parsed.tail) == ("proxy", "stats/summary")


def test_deprecated_watch_paths_are_watches() -> None:
    parsed = parse_path("/api/v1/watch/namespaces/a/pods")
    assert parsed is not None
    assert (parsed.watch, parsed.target.namespace) == (True, "a")


POD, PODS = "/api/v1/namespaces/a/pods/p", "/api/v1/namespaces/a/pods"


@pytest.mark.parametrize(
    ("method", "path", "watch", "verb"),
    [
        ("GET", POD, False, "get"),
        ("GET", f"{POD}/proxy", False, "get"),
        ("HEAD", f"{POD}/proxy", False, "get"),
        ("POST", f"{POD}/proxy", False, "create"),
        ("PUT", f"{POD}/proxy", False, "update"),
        ("OPTIONS", f"{POD}/proxy", False, ""),
        ("GET", "/api/v1/nodes/n/proxy/metrics", False, "get"),
        ("GET", PODS, False, "list"),
        ("GET", PODS, True, "watch"),
        ("GET", POD, True, "watch"),
        ("GET", f"{POD}/log", True, "get"),
        ("POST", PODS, False, "create"),
        ("PUT", POD, False, "update"),
        ("PATCH", POD, False, "patch"),
        ("DELETE", POD, False, "delete"),
        ("DELETE", PODS, False, "deletecollection"),
        ("POST", f"{POD}/binding", False, "create"),
        ("PUT", f"{POD}/status", False, "update"),
        ("GET", f"{POD}/log", False, "get"),
        ("GET", f"{POD}/exec", False, "create"),
        ("POST", f"{POD}/portforward", False, "create"),
    ],
)
def test_method_becomes_a_verb(method: str, path: str, watch: bool, verb: str) -> None:
    parsed = parse_path(path)
    assert parsed is not None
    assert verb_of(method, parsed.target, watch=watch) == verb


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", POD),
        ("PUT", PODS),
        ("GET", f"{POD}/binding"),
        ("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
        ("DELETE", "/api/v1/namespaces"),
        ("TRACE", POD),
        ("HEAD", POD),
        ("OPTIONS", POD),
        ("OPTIONS", f"{POD}/exec"),
    ],
)
def test_unsupported_method_is_405(method: str, path: str) -> None:
    parsed = parse_path(path)
    assert parsed is not None
    with pytest.raises(ApiError) as error:
        verb_of(method, parsed.target, watch=False)
    assert (error.value.code, error.value.reason) == (405, "MethodNotAllowed")
    assert str(error.value) == "the server does not allow this method on the requested resource"
