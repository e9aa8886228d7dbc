"""The paths below ``/openapi``: version 2 as one document, version 3 as one for each group and version.

With many custom resources a document takes a second to make. So each is made in a thread, once for all
requests that wait for it, and kept until the definitions change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from email.utils import format_datetime
from typing import Any, NamedTuple, Protocol

import msgspec
from aiohttp import web

from podling import clock, turns
from podling.apiserver.aggregation import openapi_parts
from podling.apiserver.http import discovery
from podling.apiserver.http.exchange import HttpRequest
from podling.apiserver.http.replies import TEXT, reply
from podling.apiserver.http.tagged_replies import VARIES, tagged
from podling.machinery.encoding.accept_header import clauses
from podling.machinery.encoding.custom import CustomResource
from podling.machinery.scheme import Resource

KEPT = timedelta(days=365)
"""Cache lifetime of a document that is requested by its hash."""
MEDIA_TYPE = "application/json"
JSON_CLAUSES = ("", "*/*", "application/*", "application/json")
DOCUMENTS_MAX = 128
"""Documents that are kept."""

Custom = tuple[Resource, ...]
"""Custom resources, and built-in ones that are served because of a feature gate."""


class Elsewhere(Protocol):
    """The documents of other servers, and the groups of those that do not answer, as of now."""

    def documents(self) -> Mapping[str, str]:
        """Those of version 3: name to URL."""
        ...

    def parts(self) -> tuple[bytes, ...]:
        """Return the OpenAPI v2 documents that aggregated servers publish for their own groups."""
        ...

    def stale(self) -> tuple[tuple[str, str], ...]:
        """Return the groups and versions of aggregated servers that do not answer."""
        ...


class Document(NamedTuple):
    """A document and its tag; no body if there is none."""

    body: bytes | None
    tag: str


NONE = Document(None, "")


class OpenApi:
    """Handlers of the paths below ``/openapi``.

    Args:
        custom: returns the current resources beside the built-in ones.
        elsewhere: returns the documents of aggregated servers.
    """

    def __init__(self, custom: Callable[[], Custom], elsewhere: Elsewhere) -> None:
        self._custom = custom
        self._elsewhere = elsewhere
        self._making = asyncio.Lock()
        self._kept: dict[str, tuple[Any, Any]] = {}
        """By name: what a document was made from, and the document."""

    async def v2(self, request: HttpRequest) -> web.StreamResponse:
        from podling.machinery.openapi.openapi_proto import ASKED_AS

        media = _media_type(request, ASKED_AS)
        if not media:
            return _not_acceptable()
        inputs = self._custom(), self._elsewhere.parts()
        found = await self._document(f"v2 {media}", inputs, lambda: _v2(*inputs, media))
        return await tagged(request, found.body or b"", found.tag, media)

    async def v3_index(self, request: HttpRequest) -> web.StreamResponse:
        urls = {**self._elsewhere.documents(), **await self._v3_urls(self._custom())}
        index = {"paths": {path: {"serverRelativeURL": url} for path, url in urls.items()}}
        body = msgspec.json.encode(index)
        return await tagged(request, body, discovery.etag(body), MEDIA_TYPE)

    async def v3(self, group_version: str, request: HttpRequest) -> web.StreamResponse:
        """Answer one document. A request with the current hash may be cached; an old hash is redirected."""
        from podling.machinery.openapi.openapi_v3_proto import ASKED_AS

        custom, asked = self._custom(), request.query.get("hash", "")
        own, media = _of(group_version, custom), _media_type(request, ASKED_AS)
        name = f"v3 {media or MEDIA_TYPE} {group_version}"
        found = await self._document(name, own, lambda: _v3(group_version, own, media or MEDIA_TYPE))
        if found.body is None:
            return await reply(request, b"", code=404, media_type=TEXT)
        if not media:
            return _not_acceptable()
        url = (await self._v3_urls(custom)).get(group_version, "") if asked else ""
        if asked and not url.endswith(f"?hash={asked}"):
            return web.Response(status=301, headers={"Location": url})
        if not asked:
            return await tagged(request, found.body, found.tag, media)
        expires = format_datetime(clock.now() + KEPT, usegmt=True)
        return await tagged(request, found.body, found.tag, media, cache="public, immutable", expires=expires)

    async def _v3_urls(self, custom: Custom) -> Mapping[str, str]:
        """Return the URL of each document of version 3."""
        urls: Mapping[str, str] = await self._document("v3", custom, lambda: _v3_urls(custom))
        return urls

    async def _document(self, name: str, inputs: Any, make: Callable[[], Any]) -> Any:
        """Return what ``make`` returns for ``inputs``: in a thread, one document at a time."""
        found = self._kept.get(name)
        if found is None or found[0] != inputs:
            async with self._making:
                found = self._kept.get(name)
                if found is None or found[0] != inputs:
                    found = inputs, await turns.in_thread(make)
                    if found[1] is not NONE:
                        self._keep(name, found)
        return found[1]

    def _keep(self, name: str, found: tuple[Any, Any]) -> None:
        self._kept.pop(name, None)
        if len(self._kept) >= DOCUMENTS_MAX:
            del self._kept[next(iter(self._kept))]
        self._kept[name] = found


def _media_type(request: HttpRequest, protobuf: Sequence[str]) -> str:
    """The form that the client wants most: JSON, or what the last of ``protobuf`` names; empty for others."""
    for wanted, _ in clauses(request.headers.get("Accept", "")):
        if wanted in protobuf:
            return protobuf[-1]
        if wanted in JSON_CLAUSES:
            return MEDIA_TYPE
    return ""


def _not_acceptable() -> web.Response:
    """Return a 406 with no body, for a form of a document that is not served."""
    return web.Response(status=406, headers=VARIES)


def _v2(custom: Custom, parts: tuple[bytes, ...], media: str) -> Document:
    from podling.machinery.openapi import (
        openapi,
        openapi_proto,
    )  # loaded at the first request: they are large

    defined, gated = _split(custom)
    body = openapi.v2_document(gated)
    if defined:
        from podling.apiserver.customresources import openapi_documents

        body = openapi_documents.with_custom(body, defined)
    body = openapi_parts.with_parts(body, parts) if parts else body
    body = body if media == MEDIA_TYPE else openapi_proto.v2_document(body)
    return Document(body, discovery.etag(body))


def _v3(group_version: str, own: Custom, media: str) -> Document:
    """``own``: the custom resources of this group and version."""
    from podling.machinery.openapi import openapi_v3_proto

    body = _v3_json(group_version, own)
    if body is not None and media != MEDIA_TYPE:
        body = openapi_v3_proto.v3_document(body)
    return NONE if body is None else Document(body, discovery.etag(body))


def _v3_json(group_version: str, own: Custom) -> bytes | None:
    from podling.machinery.openapi import openapi

    defined, gated = _split(own)
    if gated:
        return openapi.v3_document_of(gated)
    if defined:
        from podling.apiserver.customresources import openapi_documents

        return openapi_documents.v3_document(defined)

    match group_version.split("/"):
        case ["api", version]:
            return openapi.v3_document("", version)
        case ["apis", group, version]:
            return openapi.v3_document(group, version)
    return None


def _split(resources: Custom) -> tuple[tuple[CustomResource, ...], Custom]:
    """Return those that definitions added, and the built-in ones."""
    defined = tuple(each for each in resources if isinstance(each, CustomResource))
    return defined, tuple(each for each in resources if each not in defined)


def _of(group_version: str, custom: Custom) -> Custom:
    return tuple(each for each in custom if f"apis/{each.group_version}" == group_version)


def _v3_urls(custom: Custom) -> Mapping[str, str]:
    """Return the URL of each document. The URL carries the document's hash, so that clients may cache it."""
    from podling.machinery.openapi import openapi

    index = dict(openapi.v3_index())
    for path in dict.fromkeys(f"apis/{each.group_version}" for each in custom):
        body = _v3_json(path, _of(path, custom)) or b""
        index[path] = f"/openapi/v3/{path}?hash={discovery.etag(body).strip(chr(34))}"
    return index
