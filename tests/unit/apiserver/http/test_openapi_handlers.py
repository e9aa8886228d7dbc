"""OpenAPI over HTTP: each document is made once, in a thread, until the definitions change."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from podling import clock
from podling.apiserver.http import openapi_handlers
from podling.apiserver.http.openapi_handlers import DOCUMENTS_MAX
from podling.apiserver.server import ApiServer
from tests.support.custom_resources import definition
from tests.support.served_here import serving

pytestmark = pytest.mark.asyncio(loop_factories=["real"])

Server = tuple[ApiServer, str, aiohttp.ClientSession]


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    headers = {"Authorization": "Bearer t"}
    async with serving("t") as (api, port), aiohttp.ClientSession(headers=headers) as session:
        yield api, f"http://127.0.0.1:{port}", session


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The documents of version 3 that are made, by group and version."""
    found: list[str] = []
    real = openapi_handlers._v3_json

    def v3_json(group_version: str, own: Any) -> bytes | None:
        assert threading.current_thread() is not threading.main_thread()
        found.append(group_version)
        return real(group_version, own)

    monkeypatch.setattr(openapi_handlers, "_v3_json", v3_json)
    return found


async def read(server: Server, path: str, code: int = 200) -> bytes:
    _, url, session = server
    async with session.get(url + path) as response:
        assert response.status == code
        return await response.read()


async def test_document_is_made_once_for_all_requests(server: Server, made: list[str]) -> None:
    bodies = await asyncio.gather(*(read(server, "/openapi/v3/apis/apps/v1") for _ in range(16)))
    assert len(set(bodies)) == 1
    assert made == ["apis/apps/v1"]


async def test_unknown_documents_replace_no_others(server: Server, made: list[str]) -> None:
    await read(server, "/openapi/v3/apis/apps/v1")
    for number in range(DOCUMENTS_MAX + 1):
        await read(server, f"/openapi/v3/apis/none-{number}/v1", 404)
    await read(server, "/openapi/v3/apis/apps/v1")
    assert made.count("apis/apps/v1") == 1


async def test_change_of_a_definition_makes_its_documents_again(server: Server, made: list[str]) -> None:
    api, *_ = server
    path = "/openapi/v3/apis/example.com/v1"
    await read(server, path, 404)
    await api.client().create(definition())
    while not api.catalogue.resources():
        await clock.sleep(0)
    assert b"Widget" in await read(server, path)
    await read(server, "/openapi/v3/apis/apps/v1")
    made.clear()
    await read(server, path)
    await read(server, "/openapi/v3/apis/apps/v1")
    assert made == []
