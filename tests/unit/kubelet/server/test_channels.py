"""Framing of WebSocket channels."""

from __future__ import annotations

import asyncio

import pytest

from podling.kubelet.server.channels import BY_NAME
from tests.unit.kubelet.server.sessions import V1, cat, ends_with, serve
from tests.unit.kubelet.server.sockets import MemorySocket

BASE64 = BY_NAME["v4.base64.channel.k8s.io"]


@pytest.mark.parametrize(
    ("code", "expected"), [(0, []), (1, [b"\x03command terminated with non-zero exit code"])]
)
async def test_first_version_sends_only_the_error_text(code: int, expected: list[bytes]) -> None:
    socket = MemorySocket()
    await serve(socket, ends_with(code), protocol=V1)
    assert [frame[: len(start)] for frame, start in zip(socket.sent[1:], expected, strict=True)] == expected


async def test_base64_variant_is_text() -> None:
    socket = MemorySocket()
    socket.client_sends(b"0aGVsbG8=", b"0not base64!")
    serving = asyncio.create_task(serve(socket, cat, protocol=BASE64))
    await socket.until_sent(2)
    assert socket.sent[1] == b"1aGVsbG8="
    socket.client_leaves()
    await serving
