"""HTTP requests of probes and hooks: headers, addresses, and errors of connections."""

from __future__ import annotations

import errno
import socket
from typing import Any

import msgspec
import pytest
from aiohttp import web

from podling.api.core_v1 import HTTPGetAction, Probe
from podling.kubelet.probes.http_action import dial_failure, request_for
from podling.kubelet.probes.probe_handlers import Answer, run_probe
from tests.unit.kubelet.probes.servers import NoAnswers, server, subject

real = pytest.mark.asyncio(loop_factories=["real"])


async def probe(plain: dict[str, Any], port: int = 80, timeout: float = 1) -> Answer:
    return await run_probe(NoAnswers(), subject(port), msgspec.convert(plain, Probe), timeout)  # type: ignore[arg-type]


@real
async def test_http_request_has_default_and_given_headers() -> None:
    seen: list[web.Request] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request)
        return web.Response()

    given = [{"name": "Host", "value": "example.com"}, {"name": "X-One", "value": "1"}]
    async with server(handler) as port:
        await probe({"httpGet": {"port": port, "path": "/a?b=c", "httpHeaders": given}})
        await probe({"httpGet": {"port": port, "httpHeaders": [{"name": "Accept", "value": ""}]}})
    first, second = seen
    assert first.path_qs == "/a?b=c"
    assert first.headers["User-Agent"] == "kube-probe/1.36"
    assert first.headers["Accept"] == "*/*"
    assert first.headers["Host"] == "example.com"
    assert first.headers["X-One"] == "1"
    assert "Accept-Encoding" not in first.headers
    assert "Accept" not in second.headers


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(errno.EHOSTUNREACH, "x"), "dial tcp [fd00::1]:80: connect: no route to host"),
        (OSError(errno.ENETUNREACH, "x"), "dial tcp [fd00::1]:80: connect: network is unreachable"),
        (socket.gaierror(-2, "x"), "dial tcp: lookup fd00::1: no such host"),
        (OSError("something else"), "dial tcp [fd00::1]:80: something else"),
    ],
)
def test_failed_connection_is_described_as_go_does(error: OSError, text: str) -> None:
    assert dial_failure("fd00::1", 80, error) == text


def test_request_url_brackets_ipv6_addresses() -> None:
    request = request_for(HTTPGetAction(port=80, path="x"), subject().container, "fd00::1", "agent")
    assert request.url == "http://[fd00::1]:80/x"
