"""OpenAPI documents of aggregated servers as parts of the server's own."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from podling.apiserver.aggregation.openapi_parts import Unusable, part_of, with_parts
from podling.machinery.openapi import openapi

RESOURCES = {
    "kind": "APIResourceList",
    "apiVersion": "v1",
    "groupVersion": "far.example.com/v1",
    "resources": [
        {
            "name": "stars",
            "singularName": "star",
            "namespaced": False,
            "kind": "Star",
            "verbs": ["get", "list"],
        },
        *(
            {"name": plural, "singularName": "", "namespaced": True, "kind": plural.title(), "verbs": verbs}
            for plural, verbs in (
                ("moons", ["get", "list", "delete", "deletecollection"]),
                ("rings", ["list", "delete"]),
                ("orbits", ["get", "list"]),
            )
        ),
    ],
}
STARS = "apis/far.example.com/v1"
OPENAPI = {
    "paths": {
        STARS: {"serverRelativeURL": f"/openapi/v3/{STARS}?hash=A1"},
        "apis/apps/v1": {"serverRelativeURL": "/openapi/v3/apis/apps/v1?hash=forged"},
    }
}
META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
SWAGGER: dict[str, Any] = {
    "swagger": "2.0",
    "info": {"title": "Far", "version": "1"},
    "paths": {
        f"/{STARS}/stars": {
            "get": {
                "responses": {"200": {"schema": {"$ref": "#/definitions/example.Star"}, "description": "OK"}}
            }
        },
        "/apis/apps/v1/deployments": {"get": {"responses": {"200": {"description": "forged"}}}},
    },
    "definitions": {
        "example.Star": {"type": "object", "properties": {"metadata": {"$ref": f"#/definitions/{META}"}}},
        META: {"type": "object", "description": "another one"},
        "example.Unused": {"type": "object"},
    },
}


def test_of_a_document_counts_what_its_own_group_needs() -> None:
    part = part_of(json.dumps(SWAGGER).encode(), "far.example.com", "v1")
    assert json.loads(part)["definitions"].keys() == {"example.Star", META}
    ours = openapi.v2_document()
    whole, before = json.loads(with_parts(ours, [part])), json.loads(ours)
    assert whole["definitions"].keys() - before["definitions"].keys() == {"example.Star"}
    assert whole["paths"].keys() - before["paths"].keys() == {f"/{STARS}/stars"}
    assert whole["definitions"][META] == before["definitions"][META], "what is shared is ours already"


@pytest.mark.parametrize(
    "document",
    [
        b"not JSON",
        b"[]",
        b'{"paths": {"/apis/g/v1/a": {"get": {"$ref": "#/definitions/None"}}}}',
        b'{"paths": {"/apis/g/v1/a": {"novelty": {}}}}',
    ],
)
def test_documents_that_cannot_be_part_of_ours(document: bytes) -> None:
    with pytest.raises(Unusable):
        part_of(document, "g", "v1")


class Far:
    """The aggregated server: answers every request and records its user."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None, list[str]]] = []
        self.kept = {"moons": ["io", "europa"], "rings": ["a", "b"], "orbits": ["low"]}

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        groups = request.headers.getall("X-Remote-Group", [])
        self.asked.append((request.path_qs, request.headers.get("X-Remote-User"), groups))
        certificate = request.transport.get_extra_info("peercert") if request.transport else None
        if not certificate:
            return web.json_response({"message": "no certificate"}, status=401)
        if request.path.endswith("/talk"):
            socket = web.WebSocketResponse(protocols=("chat",))
            await socket.prepare(request)
            async for message in socket:
                await socket.send_str(f"{message.data}, {request.headers['X-Remote-User']}")
            return socket
        if request.path == "/openapi/v2":
            return web.json_response(SWAGGER)
        if request.path.startswith("/openapi/v3"):
            return web.json_response({"of": request.path_qs} if "/apis/" in request.path else OPENAPI)
        if request.path.endswith("/v1"):
            return web.json_response(RESOURCES)
        if "/namespaces/" in request.path:
            return await self._in_namespace(request)
        return web.json_response({"kind": "StarList", "items": [{"name": "sirius"}]})

    async def _in_namespace(self, request: web.BaseRequest) -> web.Response:
        plural, *named = request.path.split("/")[6:]
        if request.method == "DELETE":
            assert (await request.json())["propagationPolicy"] == "Background"
            self.kept[plural] = [each for each in self.kept[plural] if named and each != named[0]]
            return web.json_response({"kind": "Status", "status": "Success"})
        items = [{"metadata": {"name": each}} for each in self.kept[plural]]
        return web.json_response({"kind": "List", "apiVersion": "far.example.com/v1", "items": items})


async def get(url: str, token: str) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {token}", "X-Remote-User": "forged"}
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as answer:
        return answer.status, json.loads(await answer.read())
