"""Port-forward over WebSocket channels."""

from __future__ import annotations

import asyncio

import pytest

from podling import clock
from podling.kubelet.server.carriers import WebSocketCarrier
from podling.kubelet.server.channels import BY_NAME
from podling.kubelet.server.port_forward import PortForward, parse_ports
from podling.machinery.errors import ApiError
from tests.unit.kubelet.server.forwarding import echo
from tests.unit.kubelet.server.sockets import MemorySocket

V4 = BY_NAME["v4.channel.k8s.io"]
V5 = BY_NAME["v5.channel.k8s.io"]


async def test_each_port_has_a_channel_for_data_and_one_for_errors() -> None:
    socket = MemorySocket()
    serving = asyncio.create_task(
        PortForward(WebSocketCarrier(socket.server, V5, frozenset()), (80, 81), echo, "pod").serve()
    )
    await socket.until_sent(5)
    assert socket.sent[:4] == [b"\x00\x50\x00", b"\x01\x50\x00", b"\x02\x51\x00", b"\x03\x51\x00"]
    assert socket.sent[4] == b"\x03error forwarding port 81 to pod pod, uid : connection refused"
    socket.client_sends(b"\x00hello", b"\x02lost", b"\x09nowhere")
    await socket.until_sent(6)
    assert socket.sent[5] == b"\x00echo hello"
    socket.client_sends(b"\xff\x00")
    await serving
    assert socket.closed_with == 1000


async def test_refused_port_does_not_delay_the_others() -> None:
    socket = MemorySocket()
    serving = asyncio.create_task(
        PortForward(WebSocketCarrier(socket.server, V4, frozenset()), (81, 80), echo, "pod").serve()
    )
    socket.client_sends(*(b"\x00%d" % number for number in range(100)), b"\x02hello")
    while b"\x02echo hello" not in socket.sent:
        await clock.sleep(0.1)
    socket.client_leaves()
    await serving


@pytest.mark.parametrize(("texts", "ports"), [(["80"], (80,)), (["80,443", "8080"], (80, 443, 8080))])
def test_ports_are_parsed_from_lists_and_commas(texts: list[str], ports: tuple[int, ...]) -> None:
    assert parse_ports(texts) == ports


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([], 'query parameter "port" is required'),
        ([""], 'query parameter "port" cannot be empty'),
        (["80", ""], 'query parameter "port" cannot be empty'),
        (["0"], 'port "0" must be > 0'),
        (["80,0"], 'port "80,0" must be > 0'),
        (
            ["65536"],
            'unable to parse "65536" as a port: strconv.ParseUint: parsing "65536": value out of range',
        ),
        (
            ["80,http"],
            'unable to parse "80,http" as a port: strconv.ParseUint: parsing "http": invalid syntax',
        ),
        (["-1"], 'unable to parse "-1" as a port: strconv.ParseUint: parsing "-1": invalid syntax'),
    ],
)
def test_wrong_ports_are_refused_with_upstreams_message(texts: list[str], message: str) -> None:
    with pytest.raises(ApiError) as caught:
        parse_ports(texts)
    assert (caught.value.code, str(caught.value)) == (400, message)
