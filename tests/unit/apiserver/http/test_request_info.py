"""Attributes of a request: verb, resource, namespace and name from method and path."""

from __future__ import annotations

import pytest

from podling.apiserver.http.request_info import attributes_of


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
def test_attributes_of_resource_requests(method: str, path: str, asked: tuple[str, ...]) -> None:
    found = attributes_of(method, path, watch=False)
    about = (found.verb, found.group, found.resource, found.subresource, found.namespace, found.name)
    assert about == asked
    assert not found.path


@pytest.mark.parametrize("path", ["/", "/healthz", "/api/v1", "/apis/g/v1", "/nowhere/at/all/now"])
def test_attributes_of_nonresource_requests(path: str) -> None:
    found = attributes_of("POST", path, watch=False)
    assert (found.verb, found.path, found.resource) == ("post", path, "")
