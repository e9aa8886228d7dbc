"""Paths that are no resource: discovery, version, OpenAPI, health, metrics."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import lru_cache, partial
from typing import Any

import msgspec
from aiohttp import web

from podling.apiserver.auth import issuer
from podling.apiserver.http import discovery
from podling.apiserver.http.component_pages import ComponentPages
from podling.apiserver.http.exchange import HttpRequest
from podling.apiserver.http.health import Health
from podling.apiserver.http.metrics_page import Collectors, MetricsPage
from podling.apiserver.http.negotiation import media_type_of
from podling.apiserver.http.openapi_handlers import Elsewhere, OpenApi
from podling.apiserver.http.replies import NEWLINE, reply, reply_object, reply_text
from podling.apiserver.http.request_info import attributes_of
from podling.apiserver.http.tagged_replies import tagged
from podling.machinery import errors
from podling.machinery.scheme import Resource

LOST = "404 page not found"
GET_ONLY = ("api", "version")
"""First parts of paths that accept only GET, like those of the built-in groups; others accept any method."""
SLASH_MAY_FOLLOW = ("api", "apis", "version")


class Documents:
    """Handlers for all non-resource paths.

    Args:
        address: host and port under which the server is reached.
        health: answers the paths of health.
        collectors: returns all current metric collectors.
        custom: returns the current resources beside the built-in ones.
        discovered: returns those and the resources of aggregated servers.
        elsewhere: returns the OpenAPI documents of aggregated servers, and those that do not answer.
        pages: answers the paths of flags and status.
    """

    def __init__(
        self,
        address: Callable[[], str],
        health: Health,
        collectors: Collectors,
        custom: Callable[[], tuple[Resource, ...]],
        discovered: Callable[[], tuple[Resource, ...]],
        elsewhere: Elsewhere,
        pages: ComponentPages,
    ) -> None:
        self._address = address
        self._health = health
        self._metrics = MetricsPage(collectors, process=True)
        self._health_metrics = MetricsPage(lambda: (self._health,), process=False)
        self._custom = custom
        self._discovered, self._stale = discovered, elsewhere.stale
        self._openapi = OpenApi(custom, elsewhere)
        self._pages = pages

    async def serve(self, request: HttpRequest) -> web.StreamResponse:
        """Answer the request. Raises 404 for unknown paths of known groups, 405 for wrong methods."""
        parts = request.path.split("/")[1:]
        if len(parts) > 1 and not parts[-1] and parts[0] in SLASH_MAY_FOLLOW:
            parts.pop()
        answer = self._find(parts)
        if answer is None:
            return await self._unknown(request, parts)
        if request.method != "GET" and self._routed(parts):
            raise errors.no_such_method()
        return await answer(request)

    async def _unknown(self, request: HttpRequest, parts: list[str]) -> web.StreamResponse:
        """Answer 404; the message depends on how many parts of the path are known."""
        if parts[0] == "apis" and len(parts) > 3:
            asked = attributes_of(request.method, request.path, watch=False)
            for each in self._custom():
                own = (each.group, each.version, each.plural, each.namespaced)
                if (
                    own == (asked.group, parts[2], asked.resource, bool(asked.namespace))
                    and asked.subresource
                ):
                    raise errors.not_found(each.plural, each.group, asked.name)
        if self._routed(parts):
            raise errors.no_such_resource()
        return await lost(request)

    def _routed(self, parts: list[str]) -> bool:
        """Return whether a path is routed by resource and method, as in the built-in groups."""
        if parts[0] == "apis":
            return len(parts) > 2 and bool(discovery.group(parts[1]))
        return parts[0] in GET_ONLY

    def _find(self, parts: list[str]) -> Callable[[HttpRequest], Awaitable[web.StreamResponse]] | None:
        match parts:
            case ["api" | "apis"]:
                return self._root
            case ["api", version] if discovery.resources("", version):
                return partial(self._resources, "", version)
            case ["apis", group] if discovery.group(group, self._discovered(), self._stale()):
                return partial(self._group, group)
            case ["apis", group, version] if discovery.resources(group, version, self._custom()):
                return partial(self._resources, group, version)
            case ["version"]:
                return self._version
            case ["openapi", "v2"]:
                return self._openapi.v2
            case ["openapi", "v3"]:
                return self._openapi.v3_index
            case ["openapi", "v3", *group_version]:
                return partial(self._openapi.v3, "/".join(group_version))
            case ["metrics"]:
                return self._metrics.serve
            case ["metrics", "slis"]:
                return self._health_metrics.serve
            case [""]:
                return self._paths
            case [name] if f"/{name}" in self._pages.paths:
                return self._component_page
            case _ if self._health.serves(parts):
                return partial(self._health.serve, parts=parts)
        return None

    async def _root(self, request: HttpRequest) -> web.StreamResponse:
        core = request.path.rstrip("/") == "/api"
        version = discovery.aggregated_version(request.headers.get("Accept", ""))
        if version:
            body, tag = _aggregated(self._discovered(), self._stale(), core=core, version=version)
            return await tagged(request, body, tag, discovery.AGGREGATED.format(version), cache="public")
        if core:
            return await _negotiated(request, discovery.core_versions(self._address()))
        return await _negotiated(request, discovery.groups_document(self._discovered(), self._stale()))

    async def _group(self, name: str, request: HttpRequest) -> web.StreamResponse:
        return await _negotiated(request, discovery.group(name, self._discovered(), self._stale()))

    async def _resources(self, group: str, version: str, request: HttpRequest) -> web.StreamResponse:
        return await _negotiated(request, discovery.resources(group, version, self._custom()))

    async def _version(self, request: HttpRequest) -> web.StreamResponse:
        return await _raw(request, discovery.version())

    async def _component_page(self, request: HttpRequest) -> web.StreamResponse:
        return await self._pages.serve(request, self._served())

    async def _paths(self, request: HttpRequest) -> web.StreamResponse:
        return await _raw(request, {"paths": self._served()})

    def _served(self) -> list[str]:
        found = ["/api", "/api/v1", "/apis"]
        for each in discovery.groups(self._discovered(), self._stale()).groups:
            found += [f"/apis/{each.name}", *(f"/apis/{version.group_version}" for version in each.versions)]
        found += [*self._health.paths(), *self._pages.paths, "/metrics", "/metrics/slis"]
        found += ["/openapi/v2", "/openapi/v3", "/version", *issuer.MEDIA_TYPES]
        return sorted(found)


async def _negotiated(request: HttpRequest, document: Any) -> web.StreamResponse:
    """Return a document of discovery, as JSON or as YAML. Raises 406."""
    media_type = media_type_of(request.headers.get("Accept", ""))
    return await reply_object(request, msgspec.json.encode(document), media_type=media_type)


async def _raw(request: HttpRequest, document: Any) -> web.StreamResponse:
    """Answer with what is no object of the API: always indented (apiserver ``WriteRawJSON``)."""
    return await reply(request, msgspec.json.format(msgspec.json.encode(document), indent=2))


async def lost(request: HttpRequest) -> web.StreamResponse:
    """Return the answer for a path that leads nowhere."""
    return await reply_text(request, LOST, code=404)


@lru_cache(maxsize=4)
def _aggregated(
    custom: tuple[Resource, ...], stale: discovery.Stale, *, core: bool, version: str
) -> tuple[bytes, str]:
    """Return a document of aggregated discovery, and its tag."""
    body = msgspec.json.encode(discovery.aggregated(custom, stale, core=core, version=version)) + NEWLINE
    return body, discovery.etag(body)
