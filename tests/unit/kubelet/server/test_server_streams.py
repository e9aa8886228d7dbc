"""Streams over the kubelet's server: exec, attach and port-forward in all protocols."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import WSMsgType, WSServerHandshakeError

from podling.streaming.spdy import Data, Decoder, Encoder, SynStream
from podling.streaming.upgrades import UpgradeRefused, open_upgrade
from tests.unit.kubelet.server.served_kubelet import Served

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_factories=["uvloop"])]


async def test_exec_runs_over_a_websocket(served: Served) -> None:
    socket = await served.api_server.socket(
        "/exec/default/web/app?command=sh&command=-c&command=exit+3&stdout=true&stderr=true",
        "v5.channel.k8s.io",
    )
    frames = [message.data async for message in socket if message.type is WSMsgType.BINARY]
    assert socket.protocol == "v5.channel.k8s.io"
    assert frames[:3] == [b"\x01", b"\x01out", b"\x02err"]
    assert b"NonZeroExitCode" in frames[3]
    assert socket.close_code == 1000


async def test_exec_with_input_ends_with_a_half_close(served: Served) -> None:
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


async def test_attach_shows_output_from_now_on(served: Served) -> None:
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
async def test_invalid_stream_requests_are_refused(served: Served, path: str, code: int, text: str) -> None:
    assert await served.api_server.get(path) == (code, text)


async def test_port_is_forwarded_by_channels(served: Served) -> None:
    socket = await served.api_server.socket("/portForward/default/web?port=80", "v4.channel.k8s.io")
    frames = [await socket.receive_bytes() for _ in range(3)]
    assert frames == [b"\x00\x50\x00", b"\x01\x50\x00", b"\x00welcome"]
    await socket.send_bytes(b"\x00hello")
    assert await socket.receive_bytes() == b"\x00hello"
    await socket.close()


async def test_port_forward_has_only_version_4_of_the_channels(served: Served) -> None:
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


async def test_port_is_forwarded_through_the_tunnel(served: Served) -> None:
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


async def test_exec_runs_over_spdy(served: Served) -> None:
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


async def test_spdy_upgrade_can_be_refused(served: Served) -> None:
    url = served.api_server.url + "/exec/default/none/app?command=cat&stdin=true&stdout=true"
    with pytest.raises(UpgradeRefused) as caught:
        await open_upgrade(url, served.api_server.context, "SPDY/3.1", [])
    assert (caught.value.status, caught.value.body) == (404, b"pod does not exist")


async def test_port_is_forwarded_over_spdy(served: Served) -> None:
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
