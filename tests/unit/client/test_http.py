"""The HTTP client's handling of unusual responses: errors, retries, broken watches.

A scripted server on a real socket: each request is noted and gets the next answer of the script.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web

from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Unreachable, WatchEvent
from podling.client.http import HttpClient
from podling.client.kubeconfig import Connection
from podling.client.transport import RETRIES_MAX
from podling.machinery.errors import ApiError, is_expired

pytestmark = pytest.mark.asyncio(loop_factories=["real"])

MAP = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","resourceVersion":"7"}}'


@dataclass
class Script:
    """The answers to give (the last one again and again), and the requests that came."""

    answers: list[web.Response]
    requests: list[web.BaseRequest] = field(default_factory=list)

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        self.requests.append(request)
        number = min(len(self.requests), len(self.answers)) - 1
        answer = self.answers[number]
        return web.Response(status=answer.status, body=answer.body, headers=answer.headers)


@asynccontextmanager
async def scripted(*answers: web.Response) -> AsyncIterator[tuple[str, Script]]:
    script = Script(list(answers))
    runner = web.ServerRunner(web.Server(script))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", script
    finally:
        await runner.cleanup()


def answer(body: bytes = MAP, status: int = 200, **headers: str) -> web.Response:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return web.Response(body=body, status=status, headers=named)


BUSY = answer(b"", 429, Retry_After="0")


async def test_client_retries_after_retry_after_header() -> None:
    async with scripted(BUSY, answer(b"", 503, Retry_After="0"), answer()) as (url, script):
        client = HttpClient(url)
        held = await client.get(ConfigMap, "a", "default")
        await client.close()
        assert held.metadata.name == "a"
        assert len(script.requests) == 3


async def test_but_not_for_ever() -> None:
    async with scripted(BUSY) as (url, script):
        client = HttpClient(url)
        with pytest.raises(ApiError) as refused:
            await client.get(ConfigMap, "a", "default")
        await client.close()
        assert (refused.value.code, refused.value.reason) == (429, "TooManyRequests")
        assert len(script.requests) == RETRIES_MAX + 1


async def test_client_does_not_retry_without_retry_after() -> None:
    async with scripted(answer(b"", 503)) as (url, script):
        client = HttpClient(url)
        with pytest.raises(ApiError, match="currently unable to handle the request"):
            await client.get(ConfigMap, "a", "default")
        await client.close()
        assert len(script.requests) == 1


@pytest.mark.parametrize(
    ("status", "reason"),
    [(404, "NotFound"), (409, "Conflict"), (502, "InternalError"), (504, "Timeout"), (418, "")],
)
async def test_body_that_is_no_status_is_reported_by_code(status: int, reason: str) -> None:
    async with scripted(answer(b"<html>a proxy's page</html>", status)) as (url, _):
        client = HttpClient(url)
        with pytest.raises(ApiError) as refused:
            await client.get(ConfigMap, "a", "default")
        await client.close()
        assert (refused.value.code, refused.value.reason) == (status, reason)


async def test_a_failure_inside_a_success_is_a_failure() -> None:
    """An eviction that two budgets forbid is answered so."""
    body = b'{"kind":"Status","apiVersion":"v1","status":"Failure","message":"two budgets","code":500}'
    async with scripted(answer(body, 201)) as (url, _):
        client = HttpClient(url)
        with pytest.raises(ApiError, match="two budgets"):
            await client.create_subresource(
                ConfigMap, "a", "eviction", ConfigMap(metadata=ObjectMeta(name="a"))
            )
        await client.close()


async def test_an_answer_that_cannot_be_read_is_the_servers_error() -> None:
    async with scripted(answer(b"not json")) as (url, _):
        client = HttpClient(url)
        with pytest.raises(ApiError, match="cannot be read"):
            await client.get(ConfigMap, "a", "default")
        await client.close()


async def watched(url: str) -> list[WatchEvent[ConfigMap]]:
    client = HttpClient(url)
    try:
        return [event async for event in client.watch(ConfigMap, resource_version="5")]
    finally:
        await client.close()


async def test_watch_requests_bookmarks_and_timeout() -> None:
    line = b'{"type":"ADDED","object":' + MAP + b"}\n"
    async with scripted(answer(line + b"\n" + line)) as (url, script):
        assert len(await watched(url)) == 2, "empty lines mean nothing"
        query = script.requests[0].query
        assert (query["watch"], query["allowWatchBookmarks"]) == ("true", "true")
        assert query["resourceVersion"] == "5"
        assert 300 <= int(query["timeoutSeconds"]) <= 600


async def test_an_error_event_ends_the_watch_with_its_status() -> None:
    status = b'{"kind":"Status","status":"Failure","reason":"Expired","code":410,"message":"too old"}'
    async with scripted(answer(b'{"type":"ERROR","object":' + status + b"}\n")) as (url, _):
        with pytest.raises(ApiError) as gone:
            await watched(url)
        assert is_expired(gone.value)


async def test_every_request_carries_credentials(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from a file\n")
    async with scripted(answer()) as (url, script):
        for connection in (
            Connection(server=url, token="secret"),
            Connection(server=url, token_file=tmp_path / "token"),
            Connection(server=url, username="jane", password="pw"),
            Connection(server=url, token="t", impersonate={"Impersonate-Group": ("a", "b")}),
        ):
            client = HttpClient.from_connection(connection)
            await client.get(ConfigMap, "a", "default")
            await client.close()
        said = [request.headers.get("Authorization") for request in script.requests]
        assert said == ["Bearer secret", "Bearer from a file", "Basic amFuZTpwdw==", "Bearer t"]
        assert script.requests[3].headers.getall("Impersonate-Group") == ["a", "b"]


async def test_closed_port_raises_unreachable() -> None:
    async with scripted(answer()) as (url, _):
        pass
    client = HttpClient(url)
    with pytest.raises(Unreachable, match="GET http://127"):
        await client.get(ConfigMap, "a", "default")
    await client.close()
