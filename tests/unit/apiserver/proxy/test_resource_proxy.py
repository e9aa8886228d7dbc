"""Requests to servers behind nodes, pods and services: redirects to their root, and headers."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp.test_utils import make_mocked_request

from podling.apiserver.proxy.link_rewriting import Links
from podling.apiserver.proxy.resource_proxy import proxied_headers, to_root

PROXY = "/api/v1/nodes/n1/proxy"
LINKS = Links(PROXY, "n1:10250", "api.example.com", "https", "api.example.com")


@pytest.mark.parametrize(
    ("method", "path", "tail", "location"),
    [
        ("GET", PROXY, "", f"{PROXY}/"),
        ("HEAD", PROXY, "", f"{PROXY}/"),
        ("GET", f"{PROXY}?a=%26&b", "", f"{PROXY}/?a=%26&b"),
        ("POST", PROXY, "", None),
        ("GET", f"{PROXY}/", "", None),
        ("GET", f"{PROXY}/logs", "logs", None),
    ],
)
def test_root_without_a_slash_is_redirected(method: str, path: str, tail: str, location: str | None) -> None:
    response = to_root(make_mocked_request(method, path), tail)
    assert (response and (response.status, response.headers["Location"])) == (location and (301, location))


@pytest.mark.parametrize(
    ("before", "after"),
    [({}, "192.0.2.7"), ({"X-Forwarded-For": "10.0.0.1"}, "10.0.0.1, 192.0.2.7")],
)
def test_address_of_the_client_is_appended(before: dict[str, str], after: str) -> None:
    transport = asyncio.Transport({"peername": ("192.0.2.7", 5000)})
    request = make_mocked_request("GET", f"{PROXY}/logs", before, transport=transport)
    assert proxied_headers(request, LINKS, "/logs")["X-Forwarded-For"] == after


def test_headers_of_the_connection_are_not_forwarded() -> None:
    given = {"Connection": "close", "X-Other": "y"}
    headers = proxied_headers(make_mocked_request("GET", PROXY, given), LINKS, "/")
    assert headers["X-Other"] == "y"
    assert "Connection" not in headers
