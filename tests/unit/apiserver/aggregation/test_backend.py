"""An aggregated API server: discovered, called as the user, and unavailable while it is down."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from podling.api.apiregistration_v1 import APIService, APIServiceSpec, ServiceReference
from podling.api.core_v1 import Namespace, Service, ServicePort, ServiceSpec
from podling.api.discovery_v1 import Endpoint, EndpointConditions, EndpointPort, EndpointSlice
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.admission.registry import plugins_without_controllers
from podling.apiserver.aggregation.backend import without_ours
from podling.apiserver.app import HttpServer
from podling.apiserver.auth.pki import Pki
from podling.apiserver.server import ApiServer
from podling.apiserver.serving import Serving, tls_context
from podling.apiserver.socket.server import SocketServer
from podling.client.base import Client, WatchEventType
from podling.client.local import LocalClient
from podling.client.other_apis import SocketOtherApis
from podling.client.requests import User
from podling.client.socket_backend import SocketBackend
from podling.cluster.components import CONTROLLER_MANAGER
from podling.controllers.namespace import NamespaceController
from podling.controllers.other_apis import OtherApis
from podling.kubelet.node.machine import primary_address
from podling.machinery.conditions import find
from podling.store.memory import MemoryStore
from tests.support.control_loops import running

real = pytest.mark.asyncio(loop_factories=["real"])
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


def test_user_headers_of_the_client_are_removed() -> None:
    sent = {"X-Remote-User": "root", "X-Remote-Extra-A": "b", "Impersonate-User": "root", "Accept": "a"}
    assert without_ours(sent) == [("Accept", "a")]


class Far:
    """The aggregated server: answers every request and records its user."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None, list[str]]] = []
        self.lengths: list[tuple[str | None, bytes]] = []
        """The stated length of each body, and the body."""
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
        if request.method == "POST":
            self.lengths.append((request.headers.get("Content-Length"), await request.read()))
            return web.json_response({}, status=201)
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


@asynccontextmanager
async def far_server(pki: Pki) -> AsyncIterator[tuple[Far, int]]:
    far = Far()
    serving = Serving(certificate=pki.server("far", ("far.default.svc",)), client_ca=pki.ca)
    runner = web.ServerRunner(web.Server(far.answer))
    await runner.setup()
    await web.TCPSite(runner, "0.0.0.0", 0, ssl_context=tls_context(serving)).start()
    try:
        yield far, runner.addresses[0][1]
    finally:
        await runner.cleanup()


async def register(client: LocalClient, pki: Pki, port: int) -> None:
    """The service, its endpoint, and the APIService in front of them."""
    await client.create(
        Service(
            metadata=ObjectMeta(name="far", namespace="default"),
            spec=ServiceSpec(ports=(ServicePort(port=443),), cluster_ip="None"),
        )
    )
    labels = {"kubernetes.io/service-name": "far"}
    await client.create(
        EndpointSlice(
            metadata=ObjectMeta(name="far", namespace="default", labels=labels),
            address_type="IPv4",
            ports=(EndpointPort(port=port),),
            endpoints=(Endpoint(addresses=(primary_address(),), conditions=EndpointConditions(ready=True)),),
        )
    )
    spec = APIServiceSpec(
        group="far.example.com",
        version="v1",
        ca_bundle=base64.b64encode(pki.ca_pem).decode(),
        group_priority_minimum=1000,
        version_priority=10,
        service=ServiceReference(name="far", namespace="default"),
    )
    await client.create(APIService(metadata=ObjectMeta(name="v1.far.example.com"), spec=spec))


async def condition(client: LocalClient, wanted: str) -> tuple[str, str | None]:
    """The condition once its status is ``wanted``."""
    listing = await client.list(APIService)
    for service in listing.items:
        for each in service.status.conditions:
            if each.status == wanted:
                return each.status, each.reason
    async for event in client.watch(APIService, resource_version=listing.resource_version):
        for each in event.object.status.conditions:
            if each.status == wanted:
                return each.status, each.reason
    raise AssertionError("the watch ended")


@asynccontextmanager
async def near_server(pki: Pki) -> AsyncIterator[tuple[ApiServer, str]]:
    """Our own server over HTTP, and its address."""
    store = MemoryStore()
    ann = User("ann", ("people",))
    root = User("root", ("system:masters", "system:authenticated"))
    api = ApiServer(
        store,
        plugins_without_controllers(),
        static_tokens={"ann": ann, "root": root},
        front=pki.client("front-proxy-client", "front-proxy-client"),
    )
    await api.start()
    server = HttpServer(api, api.authenticator, Serving(port=0))
    await server.start()
    try:
        yield api, f"http://127.0.0.1:{server.port}"
    finally:
        await server.stop()
        await api.stop()
        await store.close()


async def get(url: str, token: str, accept: str = "*/*") -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {token}", "X-Remote-User": "forged", "Accept": accept}
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as answer:
        return answer.status, json.loads(await answer.read())


@real
async def test_requests_are_forwarded_as_the_authenticated_user(tmp_path: Path) -> None:
    pki = Pki(tmp_path)
    async with far_server(pki) as (far, port), near_server(pki) as (api, url):
        client = api.client()
        await register(client, pki, port)
        assert await condition(client, "True") == ("True", "Passed")
        code, groups = await get(f"{url}/apis", "root")
        assert (code, groups["groups"][-1]["name"]) == (200, "far.example.com")
        code, found = await get(f"{url}/apis/far.example.com/v1/stars?limit=5", "root")
        assert (code, found["items"]) == (200, [{"name": "sirius"}])
        path, user, groups = far.asked[-1]
        assert path == "/apis/far.example.com/v1/stars?limit=5"
        assert user == "root"
        assert "system:masters" in groups
        before = len(far.asked)
        code, refused = await get(f"{url}/apis/far.example.com/v1/stars", "ann")
        assert code == 403
        assert refused["message"].startswith('stars.far.example.com is forbidden: User "ann" cannot list')
        assert len(far.asked) == before, "who may not ask is not passed on"


@real
async def test_stated_length_of_a_body_goes_along(tmp_path: Path) -> None:
    """Not every server reads a body without: Python's ``http.server`` does not."""
    pki = Pki(tmp_path)

    async def pieces() -> AsyncIterator[bytes]:
        yield b"{}"

    async with far_server(pki) as (far, port), near_server(pki) as (api, url):
        await register(api.client(), pki, port)
        assert await condition(api.client(), "True") == ("True", "Passed")
        async with aiohttp.ClientSession(headers={"Authorization": "Bearer root"}) as session:
            for body in (b'{"kind": "Star"}', pieces()):
                async with session.post(f"{url}/apis/far.example.com/v1/stars", data=body) as answer:
                    assert answer.status == 201
        assert far.lengths == [("16", b'{"kind": "Star"}'), (None, b"{}")]


@real
async def test_connections_that_become_something_else_are_passed_on(tmp_path: Path) -> None:
    pki = Pki(tmp_path)
    async with far_server(pki) as (_, port), near_server(pki) as (api, url):
        await register(api.client(), pki, port)
        await condition(api.client(), "True")
        talk = f"{url}/apis/far.example.com/v1/stars/sirius/talk"
        headers = {"Authorization": "Bearer root", "X-Remote-User": "forged"}
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(talk, headers=headers, protocols=("chat", "other")) as socket,
        ):
            assert socket.protocol == "chat"
            await socket.send_str("good evening")
            assert await socket.receive_str() == "good evening, root"
        async with (
            aiohttp.ClientSession() as session,
            session.get(
                talk, headers={**headers, "Connection": "Upgrade", "Upgrade": "websocket"}
            ) as refused,
        ):
            assert (refused.status, await refused.text()) == (400, "Unsupported version: ")


@real
async def test_its_openapi_document_is_among_ours(tmp_path: Path) -> None:
    pki = Pki(tmp_path)
    async with far_server(pki) as (far, port), near_server(pki) as (api, url):
        await register(api.client(), pki, port)
        await condition(api.client(), "True")
        _, index = await get(f"{url}/openapi/v3", "root")
        assert index["paths"][STARS] == OPENAPI["paths"][STARS]
        assert "forged" not in index["paths"]["apis/apps/v1"]["serverRelativeURL"], (
            "it speaks for itself alone"
        )
        there = index["paths"][STARS]["serverRelativeURL"]
        assert await get(f"{url}{there}", "root") == (200, {"of": there})
        assert far.asked[-1][1] == "system:kube-aggregator", "a document is the same for everybody"
        _, whole = await get(f"{url}/openapi/v2", "root")
        assert whole["paths"][f"/{STARS}/stars"] == SWAGGER["paths"][f"/{STARS}/stars"]
        assert whole["definitions"]["example.Star"] == SWAGGER["definitions"]["example.Star"]
        code, _ = await get(f"{url}{there}", "ann")
        assert code == 403


@real
async def test_availability_follows_service_and_endpoints(tmp_path: Path) -> None:
    pki = Pki(tmp_path)
    async with far_server(pki) as (_, port), near_server(pki) as (api, _url):
        client = api.client()
        await register(client, pki, port)
        assert await condition(client, "True") == ("True", "Passed")
        async with asyncio.timeout(10):
            nothing = {"endpoints": None}
            await client.patch(EndpointSlice, "far", nothing, "default")
            assert await condition(client, "False") == ("False", "MissingEndpoints")
            ready = {"addresses": [primary_address()], "conditions": {"ready": True}}
            await client.patch(EndpointSlice, "far", {"endpoints": [ready]}, "default")
            assert await condition(client, "True") == ("True", "Passed")
            await client.delete(Service, "far", "default")
            assert await condition(client, "False") == ("False", "ServiceNotFound")


@real
async def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    pki = Pki(tmp_path)
    async with near_server(pki) as (api, url):
        client = api.client()
        await register(client, pki, 1)
        assert await condition(client, "False") == ("False", "FailedDiscoveryCheck")
        stars = f"{url}/apis/far.example.com/v1/stars"
        headers = {"Authorization": "Bearer root"}
        async with aiohttp.ClientSession() as session, session.get(stars, headers=headers) as answer:
            said = (answer.status, answer.headers["Content-Type"], await answer.read())
        assert said == (503, "text/plain; charset=utf-8", b"service unavailable\n")


@real
async def test_group_of_a_server_that_is_not_there_is_discovered_as_stale(tmp_path: Path) -> None:
    pki = Pki(tmp_path)
    async with near_server(pki) as (api, url):
        client = api.client()
        await register(client, pki, 1)
        assert await condition(client, "False") == ("False", "FailedDiscoveryCheck")
        version = {"groupVersion": "far.example.com/v1", "version": "v1"}
        _, groups = await get(f"{url}/apis", "root")
        assert groups["groups"][-1] == {
            "name": "far.example.com",
            "versions": [version],
            "preferredVersion": version,
        }
        _, group = await get(f"{url}/apis/far.example.com", "root")
        assert (group["kind"], group["versions"]) == ("APIGroup", [version])
        accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        _, found = await get(f"{url}/apis", "root", accept)
        assert found["items"][-1]["metadata"]["name"] == "far.example.com"
        assert found["items"][-1]["versions"] == [{"version": "v1", "freshness": "Stale"}]


@asynccontextmanager
async def other_apis(api: ApiServer, folder: Path, where: str) -> AsyncIterator[tuple[Client, OtherApis]]:
    """The client and the reader of aggregated servers that a controller has, by where it runs."""
    if where == "in process":
        yield api.client(), api.other_contents(CONTROLLER_MANAGER)
        return
    server = SocketServer(api, folder / "api.sock")
    await server.start()
    async with SocketBackend(server.path) as backend:
        await backend.connected()
        yield LocalClient(backend), SocketOtherApis(backend, CONTROLLER_MANAGER)
    await server.stop()


@real
@pytest.mark.parametrize("where", ["in process", "in another process"])
async def test_a_namespace_takes_along_what_it_keeps(tmp_path: Path, where: str) -> None:
    pki = Pki(tmp_path)
    async with far_server(pki) as (far, port), near_server(pki) as (api, _):
        client = api.client()
        await register(client, pki, port)
        await condition(client, "True")
        made = (await client.create(Namespace(metadata=ObjectMeta(name="sky")))).metadata
        async with (
            other_apis(api, tmp_path, where) as (remote, others),
            running(remote, partial(NamespaceController, others=others)),
        ):
            await client.delete(Namespace, "sky")
            async for event in client.watch(Namespace, resource_version=made.resource_version or ""):
                if event.type is WatchEventType.DELETED:
                    break
    assert far.kept == {"moons": [], "rings": [], "orbits": ["low"]}, "what cannot be deleted is left alone"
    ended = [path for path, *_ in far.asked if "/namespaces/sky/moons" in path]
    assert ended == ["/apis/far.example.com/v1/namespaces/sky/moons"] * 3, (
        "all at once, where that is offered"
    )
    assert {user for path, user, _ in far.asked if "/sky/" in path} == {CONTROLLER_MANAGER.name}


@real
@pytest.mark.parametrize("where", ["in process", "in another process"])
async def test_a_namespace_stays_while_it_cannot_be_emptied(tmp_path: Path, where: str) -> None:
    pki = Pki(tmp_path)
    async with far_server(pki) as (far, port), near_server(pki) as (api, _):
        client = api.client()
        await register(client, pki, port)
        await condition(client, "True")
        del far.kept["rings"]  # requests for them fail
        made = (await client.create(Namespace(metadata=ObjectMeta(name="sky")))).metadata
        async with (
            other_apis(api, tmp_path, where) as (remote, others),
            running(remote, partial(NamespaceController, others=others)),
        ):
            await client.delete(Namespace, "sky")
            async for event in client.watch(Namespace, resource_version=made.resource_version or ""):
                failure = find(event.object.status.conditions, "NamespaceDeletionContentFailure")
                if failure is not None and failure.status == "True":
                    break
    assert failure is not None
    assert failure.reason == "ContentDeletionFailed"
    assert "500 Internal Server Error" in (failure.message or "")
