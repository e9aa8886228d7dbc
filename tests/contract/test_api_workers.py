"""API workers: reads show every acknowledged write, and writes are those of the writer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from tests.support.api_workers import WorkedServer, worked

MAPS = "/api/v1/namespaces/default/configmaps"
DEADLINE_SECONDS = 20
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[WorkedServer]:
    async with asyncio.timeout(DEADLINE_SECONDS), WorkedServer(tmp_path) as running:
        yield running


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


async def made(session: ClientSession, path: str, body: dict[str, Any], code: int = 201) -> dict[str, Any]:
    async with session.post(path, json=body) as answer:
        found: dict[str, Any] = await answer.json()
        assert answer.status == code, found
    return found


async def read(session: ClientSession, path: str, code: int = 200) -> dict[str, Any]:
    async with session.get(path) as answer:
        found: dict[str, Any] = await answer.json()
        assert answer.status == code, found
    return found


async def test_write_through_one_worker_is_read_at_once_through_every_other(tmp_path: Path) -> None:
    async with worked(tmp_path, 3) as (server, sessions):
        for number in range(30):
            written = await made(sessions[number % 3], MAPS, config_map(f"m{number}"))
            for session in (*sessions, server.session(server.http)):
                assert await read(session, f"{MAPS}/m{number}") == written
                assert len((await read(session, MAPS))["items"]) == number + 1


async def test_answers_are_the_same_as_those_of_the_writer(server: WorkedServer) -> None:
    _, http = await server.worker()
    here, there = server.session(http), server.session(server.http)
    await made(here, MAPS, config_map("a", x="1"))
    for path in (
        MAPS, f"{MAPS}/a", f"{MAPS}/absent", f"{MAPS}?limit=1", f"{MAPS}?labelSelector=a%3D1", "/apis",
        "/api/v1/nothings", f"{MAPS}?resourceVersion=0", f"{MAPS}?resourceVersion=nonsense", "/version",
        "/api/v1/componentstatuses", "/apis/nothing.example/v1/things",
    ):  # fmt: skip
        for headers in ({}, {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1,application/json"}):
            async with here.get(path, headers=headers) as one, there.get(path, headers=headers) as other:
                assert (one.status, await one.read()) == (other.status, await other.read()), path
                assert one.content_type == other.content_type


async def test_custom_resources_are_served_by_every_worker_as_soon_as_they_are_established(
    tmp_path: Path,
) -> None:
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.shop.example"},
        "spec": {
            "group": "shop.example",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{
                "name": "v1", "served": True, "storage": True,
                "schema": {"openAPIV3Schema": ANYTHING},
            }],
        },
    }  # fmt: skip
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    widgets = "/apis/shop.example/v1/namespaces/default/widgets"
    async with worked(tmp_path, 2) as (_, (one, other)):
        await made(one, path, definition)
        while True:
            found = await read(one, f"{path}/widgets.shop.example")
            conditions = {
                each["type"]: each["status"] for each in found.get("status", {}).get("conditions", ())
            }
            if conditions.get("Established") == "True":
                break
        assert (await read(other, widgets))["items"] == []
        widget = {"apiVersion": "shop.example/v1", "kind": "Widget", "metadata": {"name": "w"}, "size": 3}
        await made(other, widgets, widget)
        assert (await read(one, f"{widgets}/w"))["size"] == 3
