"""The kubelet's server as its clients meet it: TLS, certificates, HTTP and WebSockets on loopback."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
from aiohttp import WSMsgType, WSServerHandshakeError

from podling.api.core_v1 import (
    Container,
    ContainerState,
    ContainerStateRunning,
    ContainerStateWaiting,
    ContainerStatus,
    Pod,
    PodSpec,
    PodStatus,
)
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.auth.pki import KeyPair, Pki
from podling.kubelet.probes.prober import ProbeLabels
from podling.kubelet.server.server import KubeletServer
from podling.runtime.base import ContainerEvent, ContainerSpec, Runtime, SandboxSpec
from podling.runtime.sim import ContainerScript, ExecScript, LogScript, PortScript, SimRuntime
from podling.runtime.sim.script import ANNOTATION_PREFIX, annotation
from podling.streaming.spdy import Data, Decoder, Encoder, SynStream
from podling.streaming.upgrades import UpgradeRefused, open_upgrade

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_factories=["uvloop"])]

SCRIPT = ContainerScript(
    logs=(LogScript(text="first"), LogScript(text="second"), LogScript(text="late", after=0.3)),
    exec=(
        ExecScript(command="cat", echo=True),
        ExecScript(command="sh -c exit 3", exit_code=3, stdout="out", stderr="err"),
    ),
    ports=(PortScript(port=80, reply="welcome", echo=True),),
)


@dataclass
class OnePod:
    """A kubelet with one pod, one container of which runs and one of which waits."""

    runtime: Runtime
    pod: Pod
    container: str
    sandbox: str

    def get_pod(self, namespace: str, name: str) -> Pod | None:
        return self.pod if (namespace, name) == ("default", "web") else None

    def pods(self) -> tuple[Pod, ...]:
        return (self.pod,)

    def container_id(self, pod: Pod, container_name: str, previous: bool = False) -> str | None:
        return self.container if (container_name, previous) == ("app", False) else None

    def sandbox_id(self, pod: Pod) -> str | None:
        return self.sandbox

    def log_path(self, pod: Pod, container_name: str, previous: bool = False) -> Path | None:
        return None

    def probe_counts(self) -> Mapping[ProbeLabels, int]:
        return {}


class Watched(SimRuntime):
    """A runtime that knows when somebody has stopped waiting for its events."""

    def __init__(self) -> None:
        super().__init__()
        self.reader_left = asyncio.Event()

    async def events(self) -> AsyncIterator[ContainerEvent]:
        try:
            async for event in super().events():
                yield event
        finally:
            self.reader_left.set()


async def one_pod() -> OnePod:
    runtime = Watched()
    sandbox = await runtime.run_sandbox(
        SandboxSpec(pod_uid="uid-1", pod_name="web", pod_namespace="default", log_directory=Path("/logs"))
    )
    image = await runtime.images.pull("app")
    scripted = {ANNOTATION_PREFIX + "app": annotation(SCRIPT)}
    container = await runtime.create_container(
        sandbox.id,
        ContainerSpec(name="app", image=image.id, log_path=Path("/logs/0.log"), annotations=scripted),
    )
    await runtime.start_container(container)
    running = ContainerState(running=ContainerStateRunning())
    waiting = ContainerState(waiting=ContainerStateWaiting(reason="ContainerCreating"))
    status = PodStatus(
        container_statuses=(
            ContainerStatus(name="app", state=running, container_id=f"sim://{container}"),
            ContainerStatus(name="side", state=waiting),
        )
    )
    pod = Pod(
        metadata=ObjectMeta(name="web", namespace="default", uid="uid-1"),
        spec=PodSpec(containers=(Container(name="app"), Container(name="side"))),
        status=status,
    )
    return OnePod(runtime, pod, container, sandbox.id)


class Client:
    """A client with one certificate, or none."""

    def __init__(self, port: int, ca: Path, certificate: KeyPair | None) -> None:
        self.context = ssl.create_default_context(cafile=str(ca))
        if certificate is not None:
            self.context.load_cert_chain(certificate.certificate, certificate.key)
        self.url = f"https://127.0.0.1:{port}"
        self.session = aiohttp.ClientSession(self.url, connector=aiohttp.TCPConnector(ssl=self.context))

    async def get(self, path: str) -> tuple[int, str]:
        async with self.session.get(path) as response:
            return response.status, await response.text()

    async def socket(self, path: str, *protocols: str) -> aiohttp.ClientWebSocketResponse:
        return await self.session.ws_connect(path, protocols=protocols)


@dataclass
class Served:
    """A listening server and clients for it, by who they are."""

    api_server: Client
    node: Client
    nobody: Client
    source: OnePod
    server: KubeletServer


@pytest.fixture
async def kubelet(tmp_path: Path) -> AsyncIterator[Served]:
    pki = Pki(tmp_path / "pki")
    pair = pki.node_server("node", ("127.0.0.1",))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(pki.ca.certificate))
    context.load_cert_chain(pair.certificate, pair.key)
    context.verify_mode = ssl.CERT_OPTIONAL
    server = KubeletServer(context)
    port = await server.listen()
    certificates: Sequence[KeyPair | None] = (pki.kubelet_client(), pki.node("node"), None)
    clients = [Client(port, pki.ca.certificate, certificate) for certificate in certificates]
    yield Served(clients[0], clients[1], clients[2], await one_pod(), server)
    for client in clients:
        await client.session.close()
    await server.close()


@pytest.fixture
async def served(kubelet: Served) -> Served:
    kubelet.server.serve(kubelet.source)
    return kubelet


async def test_before_the_kubelet_has_begun_there_are_no_pods(kubelet: Served) -> None:
    assert await kubelet.api_server.get("/healthz") == (200, "ok")
    assert await kubelet.api_server.get("/pods") == (503, "the kubelet is starting")


async def test_only_the_api_server_and_administrators_may_ask(served: Served) -> None:
    assert await served.nobody.get("/pods") == (401, "Unauthorized")
    refused = "Forbidden (user=system:node:node, verb=get, resource=nodes, subresource(s)=[pods proxy])\n"
    assert await served.node.get("/pods") == (403, refused)
    code, text = await served.api_server.get("/pods")
    assert code == 200
    assert '"kind":"PodList"' in text
    assert '"name":"web"' in text


async def test_logs_are_read_and_refused_in_kubernetes_words(served: Served) -> None:
    get = served.api_server.get
    assert await get("/containerLogs/default/web/app?tailLines=1") == (200, "second\n")
    assert await get("/containerLogs/default/web/app?limitBytes=3") == (200, "fir")
    for path, code, text in (
        ("default/none/app", 404, 'pod "none" does not exist'),
        ("default/web/none", 404, 'container "none" not found in pod "web"'),
        ("default/web/side", 400, 'container "side" in pod "web" is waiting to start: ContainerCreating'),
        ("default/web/app?previous=true", 400, 'previous terminated container "app" in pod "web" not found'),
        ("default/web/app?tailLines=x", 400, '{"message": "Unable to decode query."}'),
        ("default/web/app?sinceTime=2026-01-01T00:00:00", 400, '{"message": "Unable to decode query."}'),
        ("default/web/app?sinceSeconds=0", 422, '{"message": "Invalid request."}'),
    ):
        assert await get(f"/containerLogs/{path}") == (code, text)


async def test_a_followed_log_is_sent_as_it_grows(served: Served) -> None:
    async with served.api_server.session.get(
        "/containerLogs/default/web/app?follow=true&tailLines=1"
    ) as reply:
        assert await reply.content.readline() == b"second\n"
        assert await reply.content.readline() == b"late\n"


async def test_a_silent_log_is_let_go_when_its_reader_leaves(served: Served) -> None:
    """Nothing is ever written, so nothing but the closed connection can tell."""
    path = "/containerLogs/default/web/app?follow=true&limitBytes=1000000&sinceTime=2100-01-01T00:00:00Z"
    async with served.api_server.session.get(path) as reply:
        assert reply.status == 200
    assert isinstance(served.source.runtime, Watched)
    async with asyncio.timeout(10):
        await served.source.runtime.reader_left.wait()


async def test_exec_over_a_websocket(served: Served) -> None:
    socket = await served.api_server.socket(
        "/exec/default/web/app?command=sh&command=-c&command=exit+3&stdout=true&stderr=true",
        "v5.channel.k8s.io",
    )
    frames = [message.data async for message in socket if message.type is WSMsgType.BINARY]
    assert socket.protocol == "v5.channel.k8s.io"
    assert frames[:3] == [b"\x01", b"\x01out", b"\x02err"]
    assert b"NonZeroExitCode" in frames[3]
    assert socket.close_code == 1000


async def test_exec_with_input_and_half_close(served: Served) -> None:
    path = "/exec/default/web/app?command=cat&stdin=true&stdout=true"
    socket = await served.api_server.socket(path, "v4.channel.k8s.io", "v5.channel.k8s.io")
    assert socket.protocol == "v4.channel.k8s.io"
    await socket.close()
    socket = await served.api_server.socket(path, "v5.channel.k8s.io")
    await socket.send_bytes(b"\x00hello")
    await socket.send_bytes(b"\xff\x00")
    frames = [message.data async for message in socket if message.type is WSMsgType.BINARY]
    assert frames[1] == b"\x01hello"
    assert b'"Success"' in frames[2]


async def test_attach_shows_what_is_written_from_now_on(served: Served) -> None:
    socket = await served.api_server.socket("/attach/default/web/app?stdout=true", "v5.channel.k8s.io")
    assert await socket.receive_bytes() == b"\x01"
    assert await socket.receive_bytes() == b"\x01late\n"
    await socket.close()


@pytest.mark.parametrize(
    ("path", "code", "text"),
    [
        ("/exec/default/none/app?command=x&stdout=1", 404, "pod does not exist"),
        ("/exec/default/web/side?command=x&stdout=1", 500, 'container not found ("side")'),
        ("/attach/default/web/side?stdout=1", 500, "container side not found in pod web_default"),
        ("/exec/default/web/app?command=x", 400, "you must specify at least 1 of stdin, stdout, stderr"),
        ("/exec/default/web/app?stdout=1", 400, "you must specify at least 1 command for the container"),
        ("/exec/default/web/app?command=x&stdout=1", 400, "Upgrade request required"),
        ("/portForward/default/none?port=80", 404, "pod does not exist"),
        ("/portForward/default/web/other-uid?port=80", 404, "pod does not exist"),
    ],
)
async def test_streams_that_cannot_be(served: Served, path: str, code: int, text: str) -> None:
    assert await served.api_server.get(path) == (code, text)


async def test_a_port_is_forwarded_by_channels(served: Served) -> None:
    socket = await served.api_server.socket("/portForward/default/web?port=80", "v4.channel.k8s.io")
    frames = [await socket.receive_bytes() for _ in range(3)]
    assert frames == [b"\x00\x50\x00", b"\x01\x50\x00", b"\x00welcome"]
    await socket.send_bytes(b"\x00hello")
    assert await socket.receive_bytes() == b"\x00hello"
    await socket.close()


async def test_port_forward_has_version_4_of_the_channels_alone(served: Served) -> None:
    path, older = "/portForward/default/web?port=80", ("v3.channel.k8s.io", "channel.k8s.io")
    socket = await served.api_server.socket(path, "v5.channel.k8s.io", "v4.channel.k8s.io", *older)
    assert socket.protocol == "v4.channel.k8s.io"
    await socket.close()
    with pytest.raises(WSServerHandshakeError) as refused:
        await served.api_server.socket(path, "v5.channel.k8s.io", *older)
    assert refused.value.status == 403


async def test_ports_are_encoded_where_the_client_wants_base64(served: Served) -> None:
    path = "/portForward/default/web?port=80,80"
    socket = await served.api_server.socket(path, "v4.base64.channel.k8s.io")
    frames = [await socket.receive_str() for _ in range(6)]
    assert frames[:4] == ["0UAA=", "1UAA=", "2UAA=", "3UAA="]
    assert sorted(frames[4:]) == ["0d2VsY29tZQ==", "2d2VsY29tZQ=="]
    await socket.send_str("2aGVsbG8=")
    assert await socket.receive_str() == "2aGVsbG8="
    await socket.close()


async def test_a_port_is_forwarded_through_the_tunnel(served: Served) -> None:
    socket = await served.api_server.socket("/portForward/default/web", "SPDY/3.1+portforward.k8s.io")
    encoder, decoder = Encoder(), Decoder()
    for stream, kind in ((1, "error"), (3, "data")):
        headers = {"streamtype": kind, "port": "80", "requestid": "0"}
        await socket.send_bytes(encoder.encode(SynStream(stream, headers)))
    await socket.send_bytes(encoder.encode(Data(3, b"hello", fin=True)))
    received = []
    async with asyncio.timeout(10):
        while Data(1, b"", fin=True) not in received:
            received += decoder.feed(await socket.receive_bytes())
    assert [frame for frame in received if isinstance(frame, Data)] == [
        Data(3, b"welcome"),
        Data(3, b"hello"),
        Data(3, b"", fin=True),
        Data(1, b"", fin=True),
    ]
    await socket.close()


async def test_exec_by_an_older_client(served: Served) -> None:
    """The upgrade to SPDY, with a choice of protocols inside."""
    url = served.api_server.url + "/exec/default/web/app?command=cat&stdin=true&stdout=true"
    offers = [("X-Stream-Protocol-Version", name) for name in ("v9.channel.k8s.io", "v4.channel.k8s.io")]
    answer, connection = await open_upgrade(url, served.api_server.context, "SPDY/3.1", offers)
    assert answer["x-stream-protocol-version"] == "v4.channel.k8s.io"
    encoder, decoder = Encoder(), Decoder()
    for stream, kind in ((1, "error"), (3, "stdin"), (5, "stdout")):
        await connection.send(encoder.encode(SynStream(stream, {"streamtype": kind})))
    text = b"0123456789abcdef" * 100_000
    sending = asyncio.create_task(connection.send(encoder.encode(Data(3, text, fin=True))))
    frames: list[object] = []
    async with asyncio.timeout(20):
        while chunk := await connection.receive():
            frames += decoder.feed(chunk)
    await sending
    assert (
        b"".join(frame.content for frame in frames if isinstance(frame, Data) and frame.stream == 5) == text
    )
    assert frames[-2:] == [Data(5, b"", fin=True), Data(1, b"", fin=True)]
    await connection.close()


async def test_an_upgrade_can_be_refused(served: Served) -> None:
    url = served.api_server.url + "/exec/default/none/app?command=cat&stdin=true&stdout=true"
    with pytest.raises(UpgradeRefused) as caught:
        await open_upgrade(url, served.api_server.context, "SPDY/3.1", [])
    assert (caught.value.status, caught.value.body) == (404, b"pod does not exist")


async def test_a_port_is_forwarded_to_an_older_client(served: Served) -> None:
    url = served.api_server.url + "/portForward/default/web"
    offers = [("X-Stream-Protocol-Version", "portforward.k8s.io")]
    _, connection = await open_upgrade(url, served.api_server.context, "SPDY/3.1", offers)
    encoder, decoder = Encoder(), Decoder()
    for stream, kind in ((1, "error"), (3, "data")):
        headers = {"streamtype": kind, "port": "80", "requestid": "0"}
        await connection.send(encoder.encode(SynStream(stream, headers)))
    received: list[object] = []
    async with asyncio.timeout(10):
        while Data(3, b"welcome") not in received:
            received += decoder.feed(await connection.receive())
    await connection.close()


@pytest.mark.parametrize("after", [0, 1, 2])
async def test_clients_that_leave_early_are_no_errors(
    served: Served, caplog: pytest.LogCaptureFixture, after: int
) -> None:
    """They leave with their request, when it is accepted, or after the first message, all at once."""
    request = (
        b"GET /exec/default/web/app?command=cat&stdin=1&stdout=1 HTTP/1.1\r\nHost: x\r\n"
        b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )

    async def leaves() -> None:
        port = int(served.api_server.url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=served.api_server.context)
        writer.write(request)
        if after:
            await reader.readuntil(b"\r\n\r\n")
        if after > 1:
            await reader.readexactly(3)
        writer.transport.abort()

    await asyncio.gather(*(leaves() for _ in range(20)))
    assert await served.api_server.get("/healthz") == (200, "ok")
    await served.server.close()
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_metrics_count_what_runs(served: Served) -> None:
    code, text = await served.api_server.get("/metrics")
    assert code == 200
    assert "kubelet_running_pods 1\n" in text
    assert 'kubelet_running_containers{container_state="running"} 1\n' in text
    code, text = await served.api_server.get("/metrics/resource")
    assert 'container_cpu_usage_seconds_total{container="app",namespace="default",pod="web"} 0 ' in text
    code, text = await served.api_server.get("/metrics/cadvisor")
    assert 'container_memory_usage_bytes{container="app",id="' in text
    code, text = await served.api_server.get("/metrics/probes")
    assert (code, "# TYPE prober_probe_total counter" in text) == (200, True)
    code, text = await served.api_server.get("/stats/summary")
    assert '"podRef":{"name":"web","namespace":"default","uid":"uid-1"}' in text


async def test_closing_cuts_what_is_open(served: Served) -> None:
    socket = await served.api_server.socket("/attach/default/web/app?stdout=true", "v5.channel.k8s.io")
    closing = asyncio.create_task(served.server.close())
    async with asyncio.timeout(10):
        while (await socket.receive()).type is WSMsgType.BINARY:
            pass
        await closing
