"""Long lists are sent in chunks: the same bytes, compressed only when the client accepts that."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator

import aiohttp
import msgspec
import pytest

from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta
from tests.support.served_here import serving

pytestmark = pytest.mark.e2e

MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
COUNT = 1_201


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    """A session with a server that holds many objects."""
    async with serving("t") as (api, port):
        for number in range(COUNT):
            metadata = ObjectMeta(name=f"m{number:04}", namespace="default")
            await api.client().create(ConfigMap(metadata=metadata, data={"n": "x" * 500}))
        headers = {"Authorization": "Bearer t", "Accept-Encoding": "identity"}
        url = f"http://127.0.0.1:{port}"
        async with aiohttp.ClientSession(url, headers=headers, auto_decompress=False) as found:
            yield found


async def test_chunked_list_is_complete(session: aiohttp.ClientSession) -> None:
    async with session.get(MAPS) as response:
        assert response.headers["Transfer-Encoding"] == "chunked"
        found = msgspec.json.decode(await response.read())
    names = [each["metadata"]["name"] for each in found["items"]]
    assert names == [f"m{number:04}" for number in range(COUNT)]


async def test_chunked_table_is_complete(session: aiohttp.ClientSession) -> None:
    async with session.get(MAPS, headers={"Accept": TABLE}) as response:
        found = msgspec.json.decode(await response.read())
    assert (found["kind"], len(found["rows"])) == ("Table", COUNT)


async def test_list_is_compressed_when_accepted(session: aiohttp.ClientSession) -> None:
    async with session.get(MAPS) as response:
        plain = await response.read()
        assert "Content-Encoding" not in response.headers
    async with session.get(MAPS, headers={"Accept-Encoding": "gzip"}) as response:
        assert response.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(await response.read()) == plain


async def test_short_answers_are_never_compressed(session: aiohttp.ClientSession) -> None:
    async with session.get(f"{MAPS}?limit=100", headers={"Accept-Encoding": "gzip"}) as response:
        body = await response.read()
        assert "Content-Encoding" not in response.headers
        assert int(response.headers["Content-Length"]) == len(body) < 128 * 1024


async def test_a_watch_begins_with_all_of_them(session: aiohttp.ClientSession) -> None:
    async with session.get(f"{MAPS}?watch=true&timeoutSeconds=1") as response:
        events = (await response.read()).splitlines()
    assert len(events) == COUNT
