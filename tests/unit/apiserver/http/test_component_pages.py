"""``/flagz`` and ``/statusz`` of the API server over HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import aiohttp
import pytest
import yaml

from tests.support.served_here import serving

pytestmark = pytest.mark.asyncio(loop_factories=["real"])

HEADERS = {"Authorization": "Bearer t"}
FLAGS = {"service-cluster-ip-range": "10.96.0.0/12", "feature-gates": ""}


class Pages:
    def __init__(self, session: aiohttp.ClientSession, port: int) -> None:
        self._session = session
        self._url = f"http://127.0.0.1:{port}"

    async def read(self, path: str, accept: str = "*/*") -> tuple[int, Mapping[str, str], str]:
        async with self._session.get(f"{self._url}{path}", headers={"Accept": accept}) as response:
            return response.status, response.headers, await response.text()

    async def paths(self) -> Any:
        return json.loads((await self.read("/"))[2])["paths"]


def kind(name: str, version: str = "v1beta1", media_type: str = "application/json") -> str:
    return f"{media_type};g=config.k8s.io;v={version};as={name}"


async def test_pages_are_text_and_objects() -> None:
    async with (
        serving("t", flags=FLAGS) as (_, port),
        aiohttp.ClientSession(headers=HEADERS) as session,
    ):
        pages = Pages(session, port)
        code, headers, text = await pages.read("/flagz")
        assert (code, headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
        assert text.startswith("\napiserver flagz\nWarning: ")
        assert text.endswith("\nfeature-gates=\nservice-cluster-ip-range=10.96.0.0/12\n")
        _, headers, text = await pages.read("/statusz", kind("Statusz"))
        assert headers["Content-Type"] == "application/json"
        shown = json.loads(text)
        assert shown["metadata"] == {"name": "apiserver"}
        assert shown["uptimeSeconds"] < 60
        assert shown["paths"] == [
            "/flagz", "/healthz", "/livez", "/metrics", "/readyz", "/statusz", "/version"
        ]  # fmt: skip
        assert {"/flagz", "/statusz"} < set(await pages.paths())


async def test_object_of_a_deprecated_version_comes_with_a_warning() -> None:
    async with (
        serving("t", flags=FLAGS) as (_, port),
        aiohttp.ClientSession(headers=HEADERS) as session,
    ):
        accept = kind("Flagz", "v1alpha1", "application/yaml")
        code, headers, text = await Pages(session, port).read("/flagz", accept)
        assert code == 200
        assert yaml.safe_load(text)["flags"] == FLAGS
        assert headers["Warning"] == (
            '299 - "This version of the flagz endpoint is deprecated. Please use a newer version."'
        )


async def test_json_of_no_kind_is_not_acceptable() -> None:
    async with serving("t") as (_, port), aiohttp.ClientSession(headers=HEADERS) as session:
        code, _, text = await Pages(session, port).read("/statusz", "application/json")
        assert code == 406
        assert json.loads(text)["reason"] == "NotAcceptable"


async def test_pages_are_gone_without_their_gates_and_without_flags() -> None:
    gates = {"ComponentStatusz": False}
    async with (
        serving("t", feature_gates=gates) as (_, port),
        aiohttp.ClientSession(headers=HEADERS) as session,
    ):
        pages = Pages(session, port)
        assert [(await pages.read(path))[0] for path in ("/flagz", "/statusz")] == [404, 404]
        assert not {"/flagz", "/statusz"} & set(await pages.paths())
