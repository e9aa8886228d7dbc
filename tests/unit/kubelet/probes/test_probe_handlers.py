"""Probe handlers against servers that listen for the test: HTTP, TCP and gRPC."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from aiohttp import web

from podling.api.core_v1 import Probe
from podling.kubelet.probes.grpc_health import METHOD, check_descriptors, encode_request
from podling.kubelet.probes.probe_handlers import Answer, ProbeError, run_probe
from tests.support.descriptors import no_descriptors
from tests.unit.kubelet.probes.servers import NoAnswers, answering, server, subject

real = pytest.mark.asyncio(loop_factories=["real"])


async def probe(plain: dict[str, Any], port: int = 80, timeout: float = 1) -> Answer:
    return await run_probe(NoAnswers(), subject(port), msgspec.convert(plain, Probe), timeout)  # type: ignore[arg-type]


async def serve_checks(port: int, check: Callable[[bytes, Any], Awaitable[bytes]]) -> tuple[Any, int]:
    """Start a server of the health check; return it and its port."""
    grpc = pytest.importorskip("grpc")
    service, method = METHOD.strip("/").split("/")
    handler = grpc.unary_unary_rpc_method_handler(check)
    found = grpc.aio.server()
    found.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {method: handler}),))
    port = found.add_insecure_port(f"127.0.0.1:{port}")
    await found.start()
    return found, port


@real
@pytest.mark.parametrize(
    ("status", "success", "output"),
    [
        (200, True, "the body"),
        (204, True, ""),
        (302, True, "Probe terminated redirects, Response body: the body"),
        (399, True, "Probe terminated redirects, Response body: the body"),
        (400, False, "HTTP probe failed with statuscode: 400"),
        (503, False, "HTTP probe failed with statuscode: 503"),
    ],
)
async def test_http_probe_follows_the_status_code(status: int, success: bool, output: str) -> None:
    async with server(answering(status)) as port:
        found = await probe({"httpGet": {"port": "web"}}, port)
        assert found == Answer(success, output, warning=300 <= status < 400)


@real
async def test_redirects_are_followed_on_the_same_host_only() -> None:
    async def handler(request: web.Request) -> web.Response:
        if request.path == "/local":
            raise web.HTTPFound("/end")
        if request.path == "/away":
            raise web.HTTPFound("http://example.invalid/")
        return web.Response(text="arrived")

    async with server(handler) as port:
        assert await probe({"httpGet": {"port": port, "path": "/local"}}) == Answer(True, "arrived")
        away = await probe({"httpGet": {"port": port, "path": "/away"}})
        assert (away.success, away.warning) == (True, True)


@real
async def test_cookies_are_not_sent_back_after_a_redirect() -> None:
    async def handler(request: web.Request) -> web.Response:
        if request.path == "/":
            raise web.HTTPFound("/end", headers={"Set-Cookie": "session=1"})
        return web.Response(text=request.headers.get("Cookie", "no cookie"))

    async with server(handler) as port:
        found = await probe({"httpGet": {"port": port, "host": "localhost"}})
    assert found == Answer(True, "no cookie")


@real
async def test_silent_and_refusing_servers_fail_the_probe() -> None:
    async def silent(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _reader.read()
        writer.close()

    listener = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    answer = await probe({"httpGet": {"port": port}}, timeout=0.2)
    assert not answer.success
    assert "context deadline exceeded" in answer.output
    assert await probe({"tcpSocket": {"port": port}}) == Answer(True)
    listener.close()
    await listener.wait_closed()
    refused = await probe({"tcpSocket": {"port": port}})
    assert refused == Answer(False, f"dial tcp 127.0.0.1:{port}: connect: connection refused")
    http = await probe({"httpGet": {"port": port, "path": "/x"}})
    text = f"dial tcp 127.0.0.1:{port}: connect: connection refused"
    assert http == Answer(False, f'Get "http://127.0.0.1:{port}/x": {text}')


@real
async def test_servers_without_http_fail_the_probe() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    listener = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    assert await probe({"httpGet": {"port": port}}) == Answer(False, f'Get "http://127.0.0.1:{port}/": EOF')
    listener.close()
    await listener.wait_closed()
    async with server(answering(200)) as port:
        found = await probe({"httpGet": {"port": port, "scheme": "HTTPS"}})
    text = "http: server gave HTTP response to HTTPS client"
    assert found == Answer(False, f'Get "https://127.0.0.1:{port}/": {text}')


@real
async def test_open_port_is_enough_for_a_tcp_probe() -> None:
    async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    listener = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    assert await probe({"tcpSocket": {"port": port}}) == Answer(True)
    listener.close()
    await listener.wait_closed()


@real
@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (1, Answer(True, "service healthy")),
        (2, Answer(False, 'service unhealthy (responded with "NOT_SERVING")')),
    ],
)
async def test_grpc_probe_follows_the_serving_status(status: int, answer: Answer) -> None:
    requests: list[bytes] = []

    async def check(request: bytes, _: Any) -> bytes:
        requests.append(request)
        return bytes([8, status])

    grpc_server, port = await serve_checks(0, check)
    try:
        assert await probe({"grpc": {"port": port, "service": "live"}}, timeout=5) == answer
    finally:
        await grpc_server.stop(None)
    assert requests == [encode_request("live")]


@real
async def test_grpc_probe_fails_without_a_server() -> None:
    pytest.importorskip("grpc")
    answer = await probe({"grpc": {"port": 1}}, timeout=0.3)
    text = 'timeout: failed to connect service "127.0.0.1:1" within 300ms: context deadline exceeded'
    assert answer == Answer(False, text)


@real
async def test_grpc_probe_fails_in_the_words_of_kubernetes() -> None:
    async def check(request: bytes, context: Any) -> bytes:
        if request == encode_request("slow"):
            await asyncio.Event().wait()
        name = "NOT_FOUND" if request else "CANCELLED"
        await context.abort(getattr(pytest.importorskip("grpc").StatusCode, name), "unknown service")
        return b""

    found, port = await serve_checks(0, check)
    failed = "error: health rpc probe failed: rpc error: code = {} desc = unknown service"
    try:
        for service, text in (
            ("none", failed.format("NotFound")),
            ("", failed.format("Canceled")),
            ("slow", "timeout: health rpc did not complete within 500ms"),
        ):
            plain = {"grpc": {"port": port, "service": service}}
            assert await probe(plain, timeout=0.5) == Answer(False, text)
    finally:
        await found.stop(None)


@real
async def test_grpc_probe_waits_for_a_server_that_starts_within_its_time() -> None:
    failed = asyncio.Event()

    async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        failed.set()
        writer.close()

    async def check(_request: bytes, _context: Any) -> bytes:
        return bytes([8, 1])

    listener = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    asked = asyncio.create_task(probe({"grpc": {"port": port}}, timeout=20))
    await failed.wait()
    listener.close()
    await listener.wait_closed()
    found, _ = await serve_checks(port, check)
    try:
        assert await asked == Answer(True, "service healthy")
    finally:
        await found.stop(None)


async def test_unknown_port_is_an_error_not_a_failure() -> None:
    with pytest.raises(ProbeError, match="couldn't find port: nope"):
        await probe({"httpGet": {"port": "nope"}})


@real
@pytest.mark.parametrize(
    "plain",
    [
        {"httpGet": {"path": "/", "port": 80}},
        {"tcpSocket": {"port": 80}},
        {"grpc": {"port": 80}},
        {"exec": {"command": ["true"]}},
    ],
    ids=lambda plain: next(iter(plain)),
)
async def test_shortage_of_descriptors_is_no_failure_of_the_container(plain: dict[str, Any]) -> None:
    with suppress(ProbeError):
        await probe(plain)  # loads what it needs
    with no_descriptors(), pytest.raises(ProbeError):
        await probe(plain)


def test_few_free_descriptors_are_too_few_for_the_library() -> None:
    """The one that is free has a low number, as those that are closed late."""
    low = os.dup(0)
    with no_descriptors():
        os.close(low)
        with pytest.raises(OSError, match="Too many open files"):
            check_descriptors()
    check_descriptors()
