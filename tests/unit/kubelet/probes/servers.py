"""HTTP servers that listen on this machine, and a runtime that does not answer for its containers."""

from __future__ import annotations

import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiohttp import web

from podling.api.core_v1 import Container
from podling.kubelet.probes.probe_handlers import Subject
from podling.runtime.sim import SimRuntime


class NoAnswers:
    """A runtime that does not answer probes: its containers have real sockets."""

    def __init__(self) -> None:
        self.images = SimRuntime().images

    name = "none"

    async def exec(self, *arguments: Any, **options: Any) -> int:
        """Open a file descriptor, as runtimes do for a command."""
        os.close(os.open("/dev/null", os.O_RDONLY))
        return 0


def subject(port: int = 80) -> Subject:
    ports = [{"name": "web", "containerPort": port}]
    container = msgspec.convert({"name": "app", "ports": ports}, Container)
    return Subject(container, "id", "127.0.0.1")


@asynccontextmanager
async def server(handler: Any, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Serve HTTP, or HTTPS with these settings, on a free port of this machine."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    try:
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


def answering(status: int, **headers: str) -> Any:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(status=status, text="the body", headers=headers)

    return handler
