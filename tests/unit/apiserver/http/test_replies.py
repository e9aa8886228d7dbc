"""Lists over HTTP: how much of them is made in one turn of the event loop, and what is held of them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any

import aiohttp
import msgspec
import pytest
import yaml
from aiohttp import web

from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.http import replies
from podling.apiserver.http.exchange import HttpRequest
from podling.apiserver.http.representations import PIECE_BYTES, Renderer
from podling.store.base import Entry
from podling.turns import TURN_BYTES
from tests.support.loop_turns import LoopTurns
from tests.support.served_here import serving

pytestmark = pytest.mark.asyncio(loop_factories=["real", "uvloop"])

COUNT = 1200
PATH = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
AGES = re.compile(rb'"[0-9]+s"')


@pytest.fixture
async def url() -> AsyncIterator[str]:
    async with serving("t") as (api, port):
        client = api.client()
        for number in range(COUNT):
            metadata = ObjectMeta(name=f"c{number:04}", namespace="default", labels={"odd": str(number % 2)})
            await client.create(ConfigMap(metadata=metadata, data={"text": "x" * 4000}))
        yield f"http://127.0.0.1:{port}{PATH}"


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(headers={"Authorization": "Bearer t"}, connector=connector) as session:
        yield session


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> LoopTurns:
    """The bytes of the objects of which list items are made, by turn."""
    turns = LoopTurns()

    def items(self: Renderer, entries: Sequence[Entry], now: datetime) -> list[bytes]:
        turns.add(sum(len(entry.value) for entry in entries))
        return real(self, entries, now)

    real = Renderer._items
    monkeypatch.setattr(Renderer, "_items", items)
    return turns


async def read(session: aiohttp.ClientSession, url: str, **headers: str) -> bytes:
    async with session.get(url, headers=headers) as response:
        assert response.status == 200
        return await response.read()


@pytest.mark.parametrize("query", ["", "?labelSelector=odd%3D1", "?limit=1000", "?pretty=1"])
@pytest.mark.parametrize("accept", ["application/json", TABLE])
async def test_many_lists_make_one_piece_in_each_turn(
    url: str, session: aiohttp.ClientSession, made: LoopTurns, query: str, accept: str
) -> None:
    async with made:
        bodies = await asyncio.gather(*(read(session, url + query, Accept=accept) for _ in range(8)))
    assert made.most <= PIECE_BYTES
    first, *others = (AGES.sub(b'"age"', bytes(body)) for body in bodies)
    assert all(other == first for other in others)
    plain: dict[str, Any] = msgspec.json.decode(first)
    count = {"?labelSelector=odd%3D1": COUNT // 2, "?limit=1000": 1000}.get(query, COUNT)
    assert len(plain["rows" if accept == TABLE else "items"]) == count
    assert sum(made.work.values()) > 8 * count * 4000


async def test_list_as_yaml_is_the_whole_list(url: str, session: aiohttp.ClientSession) -> None:
    plain = msgspec.json.decode(await read(session, f"{url}?limit=600"))
    text = await read(session, f"{url}?limit=600", Accept="application/yaml")
    found = yaml.load(text, yaml.CSafeLoader)
    assert found == plain


async def test_unread_lists_hold_one_piece_each(url: str, made: LoopTurns) -> None:
    """A client that reads nothing has few pieces made for it; all others are made when it reads."""
    port = int(url.split(":")[2].split("/")[0])
    request = f"GET {PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t\r\n\r\n".encode()
    async with made:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
        transport: Any = writer.transport
        transport.pause_reading()
        writer.write(request)
        while sum(made.work.values()) < PIECE_BYTES:
            await asyncio.sleep(0)  # noqa: TID251
        for _ in range(3000):
            await asyncio.sleep(0)  # noqa: TID251
        before = sum(made.work.values())
        transport.resume_reading()
        await _to_end(reader)
        writer.close()
    assert before < COUNT * 4000 <= sum(made.work.values())


async def _to_end(reader: asyncio.StreamReader) -> None:
    last = b""
    while not last.endswith(b"0\r\n\r\n"):
        last = (last + await reader.read(64 * 1024))[-5:]


async def test_large_body_is_sent_in_slices(session: aiohttp.ClientSession) -> None:
    """A page of metrics or an OpenAPI document of many megabytes does not go out in one turn."""
    body = bytes(range(256)) * (5 * TURN_BYTES // 256) + b"end"
    turns = LoopTurns()
    real = web.StreamResponse.write

    class Counting(web.StreamResponse):
        async def write(self, data: bytes | bytearray | memoryview) -> None:
            turns.add(len(data))
            await real(self, data)

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        assert isinstance(request, HttpRequest)
        return await replies.reply(request, body, media_type="x/y", headers={"ETag": "t"})

    runner = web.ServerRunner(web.Server(answer, request_factory=_request))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(web, "StreamResponse", Counting)
        async with turns:
            found = await asyncio.gather(*(_whole(session, runner.addresses[0][1]) for _ in range(4)))
    await runner.cleanup()
    assert found == [body] * 4
    assert turns.most <= TURN_BYTES + replies.SLICE_BYTES
    assert sum(turns.work.values()) == 4 * len(body)


def _request(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> HttpRequest:
    loop = asyncio.get_running_loop()
    return HttpRequest(message, payload, protocol, writer, task, loop, client_max_size=0)


async def _whole(session: aiohttp.ClientSession, port: int) -> bytes:
    async with session.get(f"http://127.0.0.1:{port}/", headers={"Accept-Encoding": ""}) as response:
        assert response.headers["ETag"] == "t"
        assert response.headers["Content-Length"] == str(response.content_length)
        return await response.read()
