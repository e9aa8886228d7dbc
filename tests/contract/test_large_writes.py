"""Large writes over HTTP: computed in worker processes, one after the other for one object."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from podling import clock
from podling.apiserver.admission.registry import plugins_without_controllers
from podling.apiserver.compute.pool import Pool
from podling.apiserver.http.metrics import exposition
from podling.apiserver.server import ApiServer
from tests.support.served_here import serving

KEYS, WRITERS = 1500, 64
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
JSON_PATCH, STRATEGIC = "application/json-patch+json", "application/strategic-merge-patch+json"


def large_map(name: str, keys: int = KEYS, value: str = "x") -> dict[str, Any]:
    data = {f"k{number:05}": f"{value * 10}{number:05}" for number in range(keys)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


class Client:
    """A client of one server, with a connection for each request in flight."""

    def __init__(self, api: ApiServer, session: aiohttp.ClientSession, port: int) -> None:
        self.api = api
        self._session = session
        self._maps = f"http://127.0.0.1:{port}/api/v1/namespaces/default/configmaps"

    async def send(self, method: str, name: str, body: Any = None, media_type: str = "") -> tuple[int, Any]:
        data = None if body is None else io.BytesIO(json.dumps(body).encode())
        headers = {"Content-Type": media_type or "application/json"}
        url = f"{self._maps}/{name}" if name else self._maps
        async with self._session.request(method, url, data=data, headers=headers) as answer:
            return answer.status, await answer.json()

    @property
    def pool(self) -> Pool:
        return next(each for each in self.api.collectors if isinstance(each, Pool))

    @property
    def jobs(self) -> int:
        """The number of jobs that were computed."""
        text = exposition(list(self.pool.collect()), process=False).decode()
        lines = [
            line
            for line in text.splitlines()
            if line.startswith('podling_compute_jobs_total{outcome="done"}')
        ]
        return int(float(lines[0].split()[-1])) if lines else 0


@asynccontextmanager
async def client() -> AsyncIterator[Client]:
    headers = {"Authorization": "Bearer t"}
    connector = aiohttp.TCPConnector(limit=0)
    async with (
        serving("t", plugins_without_controllers()) as (api, port),
        aiohttp.ClientSession(headers=headers, connector=connector) as session,
    ):
        yield Client(api, session, port)


async def test_patches_of_one_object_are_computed_once_each_in_line() -> None:
    async with client() as user:
        assert (await user.send("POST", "", large_map("a")))[0] == 201
        assert (await user.send("POST", "", large_map("small", 1)))[0] == 201
        before, reads = user.jobs, 0
        patches = [
            asyncio.create_task(user.send("PATCH", "a", {"data": {f"own{number}": "y"}}, MERGE))
            for number in range(WRITERS)
        ]
        while not all(patch.done() for patch in patches):
            code, _ = await user.send("GET", "small")
            assert code == 200
            reads += 1
        answers = [patch.result() for patch in patches]
        assert [code for code, _ in answers] == [200] * WRITERS
        assert user.jobs - before == WRITERS, "each change is computed once"
        sizes = sorted(len(body["data"]) for _, body in answers)
        assert sizes == list(range(KEYS + 1, KEYS + WRITERS + 1)), "each saw the result of the one before"
        assert reads > WRITERS, "a small read is answered beside every large write"


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        (MERGE, large_map("a", value="z")),
        (STRATEGIC, large_map("a", value="z")),
        (JSON_PATCH, [{"op": "replace", "path": "/data", "value": large_map("a", value="z")["data"]}]),
        (APPLY, large_map("a", value="z")),
    ],
)
async def test_concurrent_large_patches_of_every_kind_succeed(media_type: str, body: Any) -> None:
    async with client() as user:
        assert (await user.send("POST", "", large_map("a")))[0] == 201
        name = "a?fieldManager=m&force=true" if media_type == APPLY else "a"
        before = user.jobs
        answers = await asyncio.gather(*(user.send("PATCH", name, body, media_type) for _ in range(6)))
        assert [code for code, _ in answers] == [200] * 6
        assert user.jobs - before == 6
        _, found = await user.send("GET", "a")
        assert found["data"] == large_map("a", value="z")["data"]


async def test_concurrent_first_applies_create_the_object_once() -> None:
    async with client() as user:
        name = "new?fieldManager=m"
        answers = await asyncio.gather(*(user.send("PATCH", name, large_map("new"), APPLY) for _ in range(8)))
        assert {code for code, _ in answers} <= {200, 201}
        assert len({body["metadata"]["uid"] for _, body in answers}) == 1


async def test_dry_runs_wait_in_line_and_store_nothing() -> None:
    async with client() as user:
        _, made = await user.send("POST", "", large_map("a"))
        before = user.jobs
        answers = await asyncio.gather(
            *(
                user.send("PATCH", "a?dryRun=All", {"data": {"own": str(number)}}, MERGE)
                for number in range(8)
            )
        )
        assert [body["data"]["own"] for _, body in answers] == [str(number) for number in range(8)]
        assert user.jobs - before == 8
        _, found = await user.send("GET", "a")
        assert found["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_writer_whose_client_left_leaves_the_line() -> None:
    async with client() as user:
        assert (await user.send("POST", "", large_map("a")))[0] == 201
        before = user.jobs
        patches = [
            asyncio.create_task(user.send("PATCH", "a", {"data": {f"own{number}": "y"}}, MERGE))
            for number in range(32)
        ]
        await clock.sleep(0.05)
        for patch in patches[8:]:
            patch.cancel()
        answers = await asyncio.gather(*patches, return_exceptions=True)
        assert [each[0] for each in answers[:8] if isinstance(each, tuple)] == [200] * 8
        assert user.jobs - before < 32


async def test_writes_survive_the_end_of_a_worker() -> None:
    async with client() as user:
        assert (await user.send("POST", "", large_map("a")))[0] == 201
        patches = [
            asyncio.create_task(user.send("PATCH", "a", {"data": {f"own{number}": "y"}}, MERGE))
            for number in range(8)
        ]
        await clock.sleep(0.05)
        for pid in user.pool.pids:
            os.kill(pid, signal.SIGKILL)
        answers = await asyncio.gather(*patches)
        assert [code for code, _ in answers] == [200] * 8
        _, found = await user.send("GET", "a")
        assert len(found["data"]) == KEYS + 8


async def test_large_faults_are_answered_as_small_ones() -> None:
    async with client() as user:
        assert (await user.send("POST", "", large_map("a")))[0] == 201
        conflict = {**large_map("a"), "metadata": {"name": "a", "resourceVersion": "1"}}
        faults = [
            await user.send("PUT", "a", conflict),
            await user.send("PUT", "a", large_map("b")),
            await user.send("POST", "", large_map("a")),
            await user.send("POST", "", {**large_map("c"), "immutable": "yes"}),
            await user.send("POST", "", large_map("Wrong_Name")),
            await user.send("POST", "", large_map("d", 60_000)),
            await user.send("PATCH", "a", [{"op": "remove", "path": "/x"}] * 10_001, JSON_PATCH),
        ]
        assert [code for code, _ in faults] == [409, 400, 409, 400, 422, 413, 413]
