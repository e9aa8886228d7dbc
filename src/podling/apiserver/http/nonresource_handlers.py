"""Paths that are no resource: discovery, version, OpenAPI, health, metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from email.utils import format_datetime
from functools import lru_cache, partial
from typing import Any, Protocol

import msgspec
from aiohttp import web

from podling import clock
from podling.apiserver.aggregation import openapi_parts
from podling.apiserver.auth import issuer
from podling.apiserver.http import discovery, metrics
from podling.apiserver.http.exchange import CACHE_CONTROL, HttpRequest
from podling.apiserver.http.health import Health
from podling.apiserver.http.negotiation import clauses, media_type_of
from podling.apiserver.http.replies import NEWLINE, TEXT, reply, reply_object, reply_text
from podling.apiserver.http.request_info import attributes_of
from podling.machinery import errors
from podling.machinery.encoding.custom import CustomResource
from podling.machinery.scheme import Resource

KEPT = timedelta(days=365)
"""Cache lifetime of an OpenAPI document that is requested by its hash."""
OPENAPI_MEDIA = "application/json"
OPENAPI_JSON_CLAUSES = ("", "*/*", "application/*", "application/json")
VARIES = {"Vary": "Accept"}
LOST = "404 page not found"
GET_ONLY = ("api", "version")
"""First parts of paths that accept only GET, like those of the built-in groups; others accept any method."""
SLASH_MAY_FOLLOW = ("api", "apis", "version")


Collectors = Callable[[], Iterable[metrics.Collector]]


class Elsewhere(Protocol):
    """The OpenAPI documents of other servers, as of now."""

    def documents(self) -> Mapping[str, str]:
        """Those of version 3: name to URL."""
        ...

    def parts(self) -> tuple[bytes, ...]:
        """Return the OpenAPI v2 documents that aggregated servers publish for their own groups."""
        ...


class Documents:
    """Handlers for all non-resource paths.

    Args:
        address: host and port under which the server is reached.
        health: answers the paths of health.
        collectors: returns all current metric collectors.
        custom: returns the current resources beside the built-in ones.
        discovered: returns those and the resources of aggregated servers.
        elsewhere: returns the OpenAPI documents of aggregated servers.
    """

    def __init__(
        self,
        address: Callable[[], str],
        health: Health,
        collectors: Collectors,
        custom: Callable[[], tuple[CustomResource, ...]],
        discovered: Callable[[], tuple[Resource, ...]],
        elsewhere: Elsewhere,
    ) -> None:
        self._address = address
        self._health = health
        self._collectors = collectors
        self._custom = custom
        self._discovered = discovered
        self._elsewhere = elsewhere

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
            case ["apis", group] if discovery.group(group, self._discovered()):
                return partial(self._group, group)
            case ["apis", group, version] if discovery.resources(group, version, self._custom()):
                return partial(self._resources, group, version)
            case ["version"]:
                return self._version
            case ["openapi", "v2"]:
                return self._openapi_v2
            case ["openapi", "v3"]:
                return self._openapi_v3_index
            case ["openapi", "v3", *group_version]:
                return partial(self._openapi_v3, "/".join(group_version))
            case ["metrics"]:
                return partial(self._show_metrics, self._collectors)
            case ["metrics", "slis"]:
                return partial(self._show_metrics, lambda: (self._health,))
            case [""]:
                return self._paths
            case _ if self._health.serves(parts):
                return partial(self._health.serve, parts=parts)
        return None

    async def _root(self, request: HttpRequest) -> web.StreamResponse:
        core = request.path.rstrip("/") == "/api"
        version = discovery.aggregated_version(request.headers.get("Accept", ""))
        if version:
            body = _aggregated(self._discovered(), core=core, version=version)
            return await _tagged(request, body, discovery.AGGREGATED.format(version), cache="public")
        document = discovery.core_versions(self._address()) if core else discovery.groups(self._discovered())
        return await _negotiated(request, document)

    async def _group(self, name: str, request: HttpRequest) -> web.StreamResponse:
        return await _negotiated(request, discovery.group(name, self._discovered()))

    async def _resources(self, group: str, version: str, request: HttpRequest) -> web.StreamResponse:
        return await _negotiated(request, discovery.resources(group, version, self._custom()))

    async def _version(self, request: HttpRequest) -> web.StreamResponse:
        return await _raw(request, discovery.version())

    async def _paths(self, request: HttpRequest) -> web.StreamResponse:
        found = ["/api", "/api/v1", "/apis"]
        for each in discovery.groups(self._discovered()).groups:
            found += [f"/apis/{each.name}", *(f"/apis/{version.group_version}" for version in each.versions)]
        found += [*self._health.paths(), "/metrics", "/metrics/slis"]
        found += ["/openapi/v2", "/openapi/v3", "/version", *issuer.MEDIA_TYPES]
        return await _raw(request, {"paths": sorted(found)})

    async def _openapi_v2(self, request: HttpRequest) -> web.StreamResponse:
        from podling.machinery.openapi.openapi_proto import ASKED_AS

        media = _openapi_media(request, ASKED_AS)
        if not media:
            return _not_acceptable()
        make = _openapi_v2 if media == OPENAPI_MEDIA else _openapi_v2_as_protobuf
        body = await asyncio.to_thread(make, self._custom(), self._elsewhere.parts())
        return await _tagged(request, body, media)

    async def _openapi_v3_index(self, request: HttpRequest) -> web.StreamResponse:
        urls = {**self._elsewhere.documents(), **_openapi_v3_urls(self._custom())}
        index = {"paths": {path: {"serverRelativeURL": url} for path, url in urls.items()}}
        return await _tagged(request, msgspec.json.encode(index), OPENAPI_MEDIA)

    async def _openapi_v3(self, group_version: str, request: HttpRequest) -> web.StreamResponse:
        """Answer one document. A request with the current hash may be cached; an old hash is redirected."""
        from podling.machinery.openapi.openapi_v3_proto import ASKED_AS

        custom, asked = self._custom(), request.query.get("hash", "")
        body = _openapi_v3(group_version, custom)
        if body is None:
            return await reply(request, b"", code=404, media_type=TEXT)
        media = _openapi_media(request, ASKED_AS)
        if not media:
            return _not_acceptable()
        if media != OPENAPI_MEDIA:
            body = _openapi_v3_as_protobuf(body)
        url = _openapi_v3_urls(custom).get(group_version, "")
        if asked and not url.endswith(f"?hash={asked}"):
            return web.Response(status=301, headers={"Location": url})
        if not asked:
            return await _tagged(request, body, media)
        expires = format_datetime(clock.now() + KEPT, usegmt=True)
        return await _tagged(request, body, media, cache="public, immutable", expires=expires)

    async def _show_metrics(self, collectors: Collectors, request: HttpRequest) -> web.StreamResponse:
        """Answer the metrics of ``collectors``; those of all collectors include the process metrics."""
        own = collectors is self._collectors
        families = []
        for collector in collectors():
            if isinstance(collector, metrics.RemoteCollector):
                await collector.refresh()
            for family in collector.collect():
                families.append(family)
                await clock.sleep(0)  # others get a turn
        body = await asyncio.to_thread(metrics.exposition, families, process=own)
        return await reply(request, body, media_type=metrics.CONTENT_TYPE)


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


def _openapi_media(request: HttpRequest, protobuf: Sequence[str]) -> str:
    """The form that the client wants most: JSON, or what the last of ``protobuf`` names; empty for others."""
    for wanted, _ in clauses(request.headers.get("Accept", "")):
        if wanted in protobuf:
            return protobuf[-1]
        if wanted in OPENAPI_JSON_CLAUSES:
            return OPENAPI_MEDIA
    return ""


def _not_acceptable() -> web.Response:
    """Return a 406 with no body, for a form of an OpenAPI document that is not served."""
    return web.Response(status=406, headers=VARIES)


async def _tagged(
    request: HttpRequest, body: bytes, media_type: str, *, cache: str = "", expires: str = ""
) -> web.StreamResponse:
    """Return a document that clients keep: 304 when they have it already."""
    headers = {"ETag": _etag(body), **VARIES}
    headers |= {CACHE_CONTROL: cache} if cache else {}
    headers |= {"Expires": expires} if expires else {}
    if _has(request.headers.get("If-None-Match", ""), headers["ETag"]):
        return web.Response(status=304, headers=headers)
    response = await reply(request, body, media_type=media_type, headers=headers)
    if "Content-Encoding" in response.headers:
        response.headers["Vary"] = "Accept, Accept-Encoding"
    return response


def _has(given: str, tag: str) -> bool:
    """Return whether a client that sends ``If-None-Match: given`` has what ``tag`` names."""
    return any(each.strip().removeprefix("W/") in (tag, "*") for each in given.split(","))


@lru_cache(maxsize=64)
def _etag(body: bytes) -> str:
    return discovery.etag(body)


@lru_cache(maxsize=4)
def _aggregated(custom: tuple[Resource, ...], *, core: bool, version: str) -> bytes:
    return msgspec.json.encode(discovery.aggregated(custom, core=core, version=version)) + NEWLINE


@lru_cache(maxsize=1)
def _openapi_v2(custom: tuple[CustomResource, ...], parts: tuple[bytes, ...]) -> bytes:
    from podling.machinery.openapi import openapi  # loaded at the first request, because it is large

    found = openapi.v2_document()
    if custom:
        from podling.apiserver.customresources import openapi_documents

        found = openapi_documents.with_custom(found, custom)
    return openapi_parts.with_parts(found, parts) if parts else found


@lru_cache(maxsize=1)
def _openapi_v2_as_protobuf(custom: tuple[CustomResource, ...], parts: tuple[bytes, ...]) -> bytes:
    from podling.machinery.openapi import openapi_proto

    return openapi_proto.v2_document(_openapi_v2(custom, parts))


@lru_cache(maxsize=8)
def _openapi_v3_as_protobuf(document: bytes) -> bytes:
    from podling.machinery.openapi import openapi_v3_proto

    return openapi_v3_proto.v3_document(document)


@lru_cache(maxsize=64)
def _openapi_v3(group_version: str, custom: tuple[CustomResource, ...]) -> bytes | None:
    from podling.machinery.openapi import openapi

    if own := _custom_of(group_version, custom):
        from podling.apiserver.customresources import openapi_documents

        return openapi_documents.v3_document(own)

    match group_version.split("/"):
        case ["api", version]:
            return openapi.v3_document("", version)
        case ["apis", group, version]:
            return openapi.v3_document(group, version)
    return None


def _custom_of(group_version: str, custom: tuple[CustomResource, ...]) -> tuple[CustomResource, ...]:
    return tuple(each for each in custom if f"apis/{each.group_version}" == group_version)


@lru_cache(maxsize=1)
def _openapi_v3_urls(custom: tuple[CustomResource, ...]) -> Mapping[str, str]:
    """Return the URL of each document. The URL carries the document's hash, so that clients may cache it."""
    from podling.machinery.openapi import openapi

    index = dict(openapi.v3_index())
    for path in dict.fromkeys(f"apis/{each.group_version}" for each in custom):
        body = _openapi_v3(path, custom) or b""
        index[path] = f"/openapi/v3/{path}?hash={discovery.etag(body).strip(chr(34))}"
    return index
