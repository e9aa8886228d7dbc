"""Requests for manifests over real sockets."""

from __future__ import annotations

import socket

import pytest
from aiohttp import web

from podling.kubelet.manifest_fetch import MAX_BYTES, FetchFailed, fetch
from tests.unit.kubelet.probes.servers import server

pytestmark = pytest.mark.asyncio(loop_factories=["real"])


async def test_request_has_every_header_and_its_response_is_returned() -> None:
    seen: list[web.Request] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request)
        return web.Response(status=418, reason="Teapot", text="kind: Pod")

    headers = {"Metadata-Flavor": ("Google",), "X-Two": ("a", "b")}
    async with server(handler) as port:
        found = await fetch(f"http://127.0.0.1:{port}/manifest?x=1", headers)
    assert (found.code, found.reason, found.body) == (418, "Teapot", b"kind: Pod")
    assert seen[0].path_qs == "/manifest?x=1"
    assert seen[0].headers["Metadata-Flavor"] == "Google"
    assert seen[0].headers.getall("X-Two") == ["a", "b"]


async def test_endless_response_is_cut_off() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x" * (1 << 20))

    async with server(handler) as port:
        found = await fetch(f"http://127.0.0.1:{port}/", {})
    assert MAX_BYTES < len(found.body) <= MAX_BYTES + (1 << 16)


async def test_server_that_is_not_there_and_nonsense_are_failures() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for url in (f"http://127.0.0.1:{port}/", "no-url", "http://"):
        with pytest.raises(FetchFailed):
            await fetch(url, {})
