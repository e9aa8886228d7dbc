"""Ends of watches on a real socket: with the server, and with the CustomResourceDefinition."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from podling.machinery.encoding import codec
from podling.store.base import Store
from podling.store.memory import MemoryStore
from tests.support.custom_resources import definition
from tests.support.served_here import TOKEN, ServedHere

pytestmark = pytest.mark.e2e

MAPS = "/api/v1/namespaces/default/configmaps"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SECONDS = 4.0
"""Seconds; less than the server waits for connections that do not end by themselves."""


@pytest.fixture
async def server() -> AsyncIterator[ServedHere]:
    async def open_store() -> Store:
        return MemoryStore()

    async with ServedHere(open_store) as running:
        yield running


@pytest.mark.parametrize("turns", range(8))
async def test_a_watch_that_is_opened_while_the_server_stops_ends_too(server: ServedHere, turns: int) -> None:
    """The request comes a few turns of the loop before the stop: the server is open, closing or
    closed, and the request never hangs."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.http.port)
    ask = "GET {} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\r\n"
    writer.write(ask.format(f"{MAPS}/none", TOKEN).encode())  # from here on the server knows the connection
    assert (await reader.readuntil(b"}\n")).startswith(b"HTTP/1.1 404")
    writer.write(ask.format(f"{MAPS}?watch=true&resourceVersion=1", TOKEN).encode())
    for _ in range(turns):
        await asyncio.sleep(0)  # noqa: TID251 (turns of the loop, no time)
    async with asyncio.timeout(SECONDS):
        await server.http.stop()
        answer = await reader.read()
    writer.close()
    if not answer:
        assert turns < 4, "the connection was closed before the request was read"
        return
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert answer.endswith((b"0\r\n\r\n", b"}\n")), "what was begun ends in good order"


async def events(server: ServedHere, path: str, ready: asyncio.Event) -> list[tuple[str, str]]:
    """Return the events of a watch until the server ends it."""
    told = []
    async with server.session.get(server.url(path), params={"watch": "true"}) as response:
        assert response.status == 200
        ready.set()
        async for line in response.content:
            event = json.loads(line)
            told.append((event["type"], event["object"]["metadata"]["name"]))
    return told


async def post(server: ServedHere, path: str, body: dict[str, Any]) -> None:
    async with server.session.post(server.url(path), json=body) as response:
        assert response.status == 201, await response.text()


async def test_a_watch_ends_with_the_definition_of_what_it_watches(server: ServedHere) -> None:
    await post(server, DEFINITIONS, codec.to_plain(definition()))
    async with server.session.get(server.url(DEFINITIONS), params={"watch": "true"}) as response:
        while '"Established"' not in (await response.content.readline()).decode():
            pass
    ready = asyncio.Event()
    watching = asyncio.create_task(events(server, WIDGETS, ready))
    await ready.wait()
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    await post(server, WIDGETS, widget)
    async with asyncio.timeout(SECONDS):
        async with server.session.delete(server.url(f"{DEFINITIONS}/widgets.example.com")) as response:
            assert response.status == 200
        assert await watching == [("ADDED", "w"), ("DELETED", "w")]
    async with server.session.get(server.url(WIDGETS)) as response:
        assert response.status == 404


async def test_watch_of_a_client_of_http_1_0_ends_with_its_connection(server: ServedHere) -> None:
    """There are no chunks in HTTP/1.0."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.http.port)
    path = f"{MAPS}?watch=true&timeoutSeconds=1"
    writer.write(f"GET {path} HTTP/1.0\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.0 200 ")
    await post(server, MAPS, {"metadata": {"name": "new"}})
    async with asyncio.timeout(SECONDS):
        event = json.loads(await reader.read())
    writer.close()
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "new")
