"""Lifecycle hooks against servers that listen for the test."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from aiohttp import web

from podling.api.core_v1 import LifecycleHandler, Pod
from podling.kubelet.containers.hooks import HookFailure, HookRunner
from tests.unit.kubelet.probes.servers import NoAnswers, answering, server, subject

real = pytest.mark.asyncio(loop_factories=["real"])


class Silent:
    """A recorder that keeps the reasons of events."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def event(self, obj: Any, type: str, reason: str, message: str, *, field_path: str = "") -> None:
        self.reasons.append(reason)


async def run_hook(plain: dict[str, Any], recorder: Silent) -> None:
    handler = msgspec.convert(plain, LifecycleHandler)
    runner = HookRunner(NoAnswers(), recorder)  # type: ignore[arg-type]
    await runner.run(Pod(), subject().container, handler, "id", ("127.0.0.1",))


@real
async def test_http_hook_succeeds_with_any_status() -> None:
    async with server(answering(500)) as port:
        await run_hook({"httpGet": {"port": port}}, Silent())
    with pytest.raises(HookFailure):
        await run_hook({"httpGet": {"port": port}}, Silent())


@real
async def test_https_hook_falls_back_to_plain_http() -> None:
    seen: list[str | None] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Authorization"))
        return web.Response()

    recorder = Silent()
    headers = [{"name": "Authorization", "value": "secret"}]
    async with server(handler) as port:
        await run_hook({"httpGet": {"port": port, "scheme": "HTTPS", "httpHeaders": headers}}, recorder)
    assert seen == [None]
    assert recorder.reasons == ["LifecycleHTTPFallback"]


async def test_tcp_socket_hook_fails() -> None:
    with pytest.raises(HookFailure, match="invalid handler"):
        await run_hook({"tcpSocket": {"port": 80}}, Silent())
