"""Clients of the kubelet's server: users, the access that they need, and those admitted without a review."""

from __future__ import annotations

import pytest

from podling.kubelet.server.server_auth import Peer, attributes_of, is_trusted, peer_of, token_of


@pytest.mark.parametrize(
    ("name", "path", "trusted"),
    [
        ("system:node:n1", "/images", True),
        ("system:node:n1", "/images/load", True),
        ("system:node:n1", "/imagesx", False),
        ("system:node:n1", "/pods", False),
        ("system:node:n1", "/exec/default/web/app", False),
        ("system:node:n2", "/images", False),
        ("", "/images", False),
        ("kube-apiserver-kubelet-client", "/exec/default/web/app", True),
    ],
)
def test_node_itself_may_use_its_images_alone(name: str, path: str, trusted: bool) -> None:
    peer = Peer(name, ("system:nodes",))
    assert is_trusted(peer, path, "system:node:n1") is trusted
    assert is_trusted(peer, path) is (name == "kube-apiserver-kubelet-client")


def test_administrators_are_trusted() -> None:
    assert is_trusted(Peer("admin", ("system:masters",)), "/pods")


@pytest.mark.parametrize(
    ("method", "path", "verb", "subresources"),
    [
        ("GET", "/stats/summary", "get", ("stats",)),
        ("GET", "/metrics", "get", ("metrics",)),
        ("GET", "/metrics/cadvisor", "get", ("metrics",)),
        ("GET", "/logs/messages", "get", ("log",)),
        ("GET", "/statusz", "get", ("statusz",)),
        ("GET", "/flagz", "get", ("configz",)),
        ("GET", "/pods", "get", ("pods", "proxy")),
        ("GET", "/pods/", "get", ("pods", "proxy")),
        ("GET", "/runningpods/", "get", ("pods", "proxy")),
        ("GET", "/healthz", "get", ("healthz", "proxy")),
        ("GET", "/configz", "get", ("configz", "proxy")),
        ("POST", "/exec/default/web/app", "create", ("proxy",)),
        ("PUT", "/anything", "update", ("proxy",)),
        ("DELETE", "/anything", "delete", ("proxy",)),
    ],
)
def test_request_needs_access_to_subresources_of_the_node(
    method: str, path: str, verb: str, subresources: tuple[str, ...]
) -> None:
    needed = attributes_of(method, path)
    assert (needed.verb, needed.subresources) == (verb, subresources)


@pytest.mark.parametrize(
    ("header", "token"),
    [("", ""), ("Bearer abc", "abc"), ("bearer  abc ", "abc"), ("Basic abc", ""), ("Bearer", "")],
)
def test_bearer_token_is_read_from_the_header(header: str, token: str) -> None:
    assert token_of(header) == token


def test_certificate_names_user_and_groups() -> None:
    subject = ((("organizationName", "a"),), (("organizationName", "b"),), (("commonName", "jane"),))
    assert peer_of({"subject": subject}) == Peer("jane", ("a", "b"))
    assert peer_of({"subject": ()}) is None
    assert peer_of(None) is None
