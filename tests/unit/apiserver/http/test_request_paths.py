"""What a method and a path ask for."""

from __future__ import annotations

import pytest

from podling.apiserver.http.request_info import attributes_of
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
def test_a_path_names_a_resource(path: str, plural: str, namespace: str, name: str, subresource: str) -> None:
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
def test_a_path_that_names_none(path: str) -> None:
    assert parse_path(path) is None


def test_a_proxy_has_a_tail() -> None:
    parsed = parse_path("/api/v1/nodes/n/proxy/stats/summary")
    assert parsed is not None
    assert (parsed.target.subresource, parsed.tail) == ("proxy", "stats/summary")


def test_watches_of_the_old_form() -> None:
    parsed = parse_path("/api/v1/watch/namespaces/a/pods")
    assert parsed is not None
    assert (parsed.watch, parsed.target.namespace) == (True, "a")


POD, PODS = "/api/v1/namespaces/a/pods/p", "/api/v1/namespaces/a/pods"


@pytest.mark.parametrize(
    ("method", "path", "watch", "verb"),
    [
        ("GET", POD, False, "get"),
        ("HEAD", f"{POD}/proxy", False, "create"),
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
def test_a_method_is_a_verb(method: str, path: str, watch: bool, verb: str) -> None:
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
    ],
)
def test_what_is_not_offered_is_405(method: str, path: str) -> None:
    parsed = parse_path(path)
    assert parsed is not None
    with pytest.raises(ApiError) as error:
        verb_of(method, parsed.target, watch=False)
    assert (error.value.code, error.value.reason) == (405, "MethodNotAllowed")
    assert str(error.value) == "the server does not allow this method on the requested resource"


@pytest.mark.parametrize(
    ("method", "path", "asked"),
    [
        ("GET", "/apis/g/v1/stars", ("list", "g", "stars", "", "", "")),
        ("HEAD", "/apis/g/v1/stars/a", ("get", "g", "stars", "", "", "a")),
        ("PUT", "/apis/g/v1/namespaces/n/stars/a/status", ("update", "g", "stars", "status", "n", "a")),
        ("DELETE", "/apis/g/v1/namespaces/n/stars", ("deletecollection", "g", "stars", "", "n", "")),
        ("GET", "/apis/g/v1/watch/stars/a", ("watch", "g", "stars", "", "", "a")),
        ("GET", "/api/v9/namespaces/n/stars", ("list", "", "stars", "", "n", "")),
        ("PUT", "/api/v1/namespaces/n/finalize", ("update", "", "namespaces", "finalize", "n", "n")),
        ("BREW", "/api/v1/pods", ("", "", "pods", "", "", "")),
    ],
)
def test_what_any_path_asks_for(method: str, path: str, asked: tuple[str, ...]) -> None:
    found = attributes_of(method, path, watch=False)
    about = (found.verb, found.group, found.resource, found.subresource, found.namespace, found.name)
    assert about == asked
    assert not found.path


@pytest.mark.parametrize("path", ["/", "/healthz", "/api/v1", "/apis/g/v1", "/nowhere/at/all/now"])
def test_what_is_no_resource_is_asked_for_by_its_path(path: str) -> None:
    found = attributes_of("POST", path, watch=False)
    assert (found.verb, found.path, found.resource) == ("post", path, "")
