"""The user of a request whose connection breaks under it."""

from __future__ import annotations

import asyncio
import logging
import ssl
from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request

from podling.apiserver.app import HttpServer
from podling.apiserver.http.exchange import HttpRequest
from podling.apiserver.server import ApiServer
from podling.apiserver.serving import Serving
from podling.store.memory import MemoryStore


class EndedTls(asyncio.Transport):
    """A transport whose TLS session is over before its request is handled, as after an error of TLS."""

    def __init__(self) -> None:
        super().__init__()
        context = ssl.create_default_context()
        self._session = context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="x")
        self.closed = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peercert": {"subject": ()}, "ssl_object": self._session}.get(name, default)

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


async def test_a_request_whose_tls_session_has_ended_is_a_quiet_disconnect(
    caplog: pytest.LogCaptureFixture,
) -> None:
    transport = EndedTls()
    made = make_mocked_request("GET", "/api/v1/nodes", transport=transport)
    loop = asyncio.get_running_loop()
    request = HttpRequest(made._message, made.content, made.protocol, made._payload_writer, made.task, loop)
    api = ApiServer(MemoryStore(), ())
    server = HttpServer(api, api.authenticator, Serving())
    response = await server._handle(request)
    assert (response.status, response.keep_alive, transport.closed) == (499, False, True)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
