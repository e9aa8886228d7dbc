"""Probes and hooks over real sockets: what is sent, and what the answers mean."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
import pytest
from aiohttp import web

from podling.api.core_v1 import Container, HTTPGetAction, LifecycleHandler, Pod, Probe
from podling.kubelet.containers.hooks import HookFailure, HookRunner
from podling.kubelet.ports import UnknownPort, resolve_port
from podling.kubelet.probes.grpc_health import METHOD, decode_response, encode_request
from podling.kubelet.probes.http_action import dial_failure, request_for
from podling.kubelet.probes.probe_handlers import Answer, ProbeError, Subject, run_probe
from podling.runtime.sim import SimRuntime
from tests.support.descriptors import no_descriptors

real = pytest.mark.asyncio(loop_factories=["real"])


class NoAnswers:
    """The runtime of these tests has sockets: nothing in it answers for the container."""

    def __init__(self) -> None:
        self.images = SimRuntime().images

    name = "none"

    async def exec(self, *arguments: Any, **options: Any) -> int:
        """Open what a command needs, as runtimes do."""
        os.close(os.open("/dev/null", os.O_RDONLY))
        return 0


def subject(port: int = 80) -> Subject:
    ports = [{"name": "web", "containerPort": port}]
    container = msgspec.convert({"name": "app", "ports": ports}, Container)
    return Subject(container, "id", "127.0.0.1")


async def probe(plain: dict[str, Any], port: int = 80, timeout: float = 1) -> Answer:
    return await run_probe(NoAnswers(), subject(port), msgspec.convert(plain, Probe), timeout)  # type: ignore[arg-type]


@asynccontextmanager
async def server(handler: Any) -> AsyncIterator[int]:
    """An HTTP server on some port of this machine."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


def answering(status: int, **headers: str) -> Any:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(status=status, text="the body", headers=headers)

    return handler


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
async def test_http_answers(status: int, success: bool, output: str) -> None:
    async with server(answering(status)) as port:
        found = await probe({"httpGet": {"port": "web"}}, port)
        assert found == Answer(success, output, warning=300 <= status < 400)


@real
async def test_http_headers() -> None:
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
async def test_silence_and_refusal() -> None:
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
async def test_what_is_said_of_servers_that_do_not_speak_http() -> None:
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


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(errno.EHOSTUNREACH, "x"), "dial tcp [fd00::1]:80: connect: no route to host"),
        (OSError(errno.ENETUNREACH, "x"), "dial tcp [fd00::1]:80: connect: network is unreachable"),
        (socket.gaierror(-2, "x"), "dial tcp: lookup fd00::1: no such host"),
        (OSError("something else"), "dial tcp [fd00::1]:80: something else"),
    ],
)
def test_why_no_connection_came_about(error: OSError, text: str) -> None:
    assert dial_failure("fd00::1", 80, error) == text


@real
async def test_an_open_port_is_enough_even_if_it_hangs_up() -> None:
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
async def test_grpc_health(status: int, answer: Answer) -> None:
    grpc = pytest.importorskip("grpc")
    asked: list[bytes] = []

    async def check(request: bytes, _: Any) -> bytes:
        asked.append(request)
        return bytes([8, status])

    handler = grpc.unary_unary_rpc_method_handler(check)
    service, method = METHOD.strip("/").split("/")
    grpc_server = grpc.aio.server()
    grpc_server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {method: handler}),))
    port = grpc_server.add_insecure_port("127.0.0.1:0")
    await grpc_server.start()
    try:
        assert await probe({"grpc": {"port": port, "service": "live"}}, timeout=5) == answer
    finally:
        await grpc_server.stop(None)
    assert asked == [encode_request("live")]


@real
async def test_grpc_without_a_server() -> None:
    pytest.importorskip("grpc")
    answer = await probe({"grpc": {"port": 1}}, timeout=0.3)
    assert not answer.success
    assert answer.output.startswith('timeout: failed to connect service "127.0.0.1:1" within 300ms: ')


def test_grpc_messages() -> None:
    assert encode_request("") == b""
    assert encode_request("live") == b"\x0a\x04live"
    assert [decode_response(data) for data in (b"", b"\x08\x01", b"\x08\x02", b"\x08\x80\x01")] == [
        0,
        1,
        2,
        128,
    ]
    with pytest.raises(ValueError, match="not a health"):
        decode_response(b"hello")


async def test_a_port_nobody_knows_is_an_error_not_a_failure() -> None:
    with pytest.raises(ProbeError, match="couldn't find port: nope"):
        await probe({"httpGet": {"port": "nope"}})


@pytest.mark.parametrize(("port", "number"), [("web", 80), (8080, 8080), ("9090", 9090)])
def test_ports(port: int | str, number: int) -> None:
    assert resolve_port(port, subject().container) == number


@pytest.mark.parametrize("port", ["nope", 0, 70000, None])
def test_what_is_no_port(port: int | str | None) -> None:
    with pytest.raises(UnknownPort):
        resolve_port(port, subject().container)


def test_a_request_to_an_address_of_the_newer_family() -> None:
    request = request_for(HTTPGetAction(port=80, path="x"), subject().container, "fd00::1", "agent")
    assert request.url == "http://[fd00::1]:80/x"


class Silent:
    """A recorder that remembers."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def event(self, obj: Any, type: str, reason: str, message: str, *, field_path: str = "") -> None:
        self.told.append(reason)


async def run_hook(plain: dict[str, Any], recorder: Silent) -> None:
    handler = msgspec.convert(plain, LifecycleHandler)
    runner = HookRunner(NoAnswers(), recorder)  # type: ignore[arg-type]
    await runner.run(Pod(), subject().container, handler, "id", ("127.0.0.1",))


@real
async def test_a_hook_does_not_care_what_it_is_answered() -> None:
    async with server(answering(500)) as port:
        await run_hook({"httpGet": {"port": port}}, Silent())
    with pytest.raises(HookFailure):
        await run_hook({"httpGet": {"port": port}}, Silent())


@real
async def test_a_hook_that_meets_plain_http_tries_again_without_encryption() -> None:
    seen: list[str | None] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Authorization"))
        return web.Response()

    recorder = Silent()
    headers = [{"name": "Authorization", "value": "secret"}]
    async with server(handler) as port:
        await run_hook({"httpGet": {"port": port, "scheme": "HTTPS", "httpHeaders": headers}}, recorder)
    assert seen == [None]
    assert recorder.told == ["LifecycleHTTPFallback"]


async def test_a_socket_hook_has_no_meaning() -> None:
    with pytest.raises(HookFailure, match="invalid handler"):
        await run_hook({"tcpSocket": {"port": 80}}, Silent())


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
async def test_node_without_descriptors_says_nothing_about_the_container(plain: dict[str, Any]) -> None:
    with suppress(ProbeError):
        await probe(plain)  # loads what it needs
    with no_descriptors(), pytest.raises(ProbeError):
        await probe(plain)
