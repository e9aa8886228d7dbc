"""The client over HTTPS, for any API server: ours or Kubernetes' own.

One request is one method here; turning options into a URL and answers into structs or errors is all
that happens. A watch that ends is not reopened: informers do that.
"""

from __future__ import annotations

import ssl as tls
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct

from podling import ids
from podling.api.autoscaling_v1 import Scale
from podling.api.meta_v1 import DeleteOptions, Preconditions, Status
from podling.client import kubeconfig
from podling.client.base import ApiObject, Listing, PatchType, WatchEvent, WatchEventType
from podling.client.http_errors import error_of
from podling.client.kubeconfig import Connection
from podling.client.transport import SILENCE_SECONDS_MAX, Transport, ssl_context
from podling.client.warnings import WarningHandler
from podling.machinery import scheme
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import CustomResource
from podling.machinery.errors import ApiError, failure
from podling.machinery.scheme import Resource

T = TypeVar("T", bound=ApiObject)
S = TypeVar("S", bound=Struct)
D = TypeVar("D")

WATCH_SECONDS_MIN = 300.0
"""Watches request a timeout of 5 to 10 minutes, as reflectors do, so that load moves between servers."""


class _Line(Struct, frozen=True):
    type: str
    object: msgspec.Raw


class _TypeMeta(Struct, frozen=True, rename="camel"):
    kind: str = ""
    api_version: str = ""


class HttpClient:
    """``Client`` over HTTP. Connections are opened on first use, kept, and closed by ``close``."""

    def __init__(self, url: str, ssl: tls.SSLContext | None = None, token: str = "", **details: Any) -> None:
        """Make a client; ``details`` are further fields of ``Connection``."""
        self._transport = Transport(Connection(server=url, token=token, **details), ssl)
        self.namespace = "default"

    @classmethod
    def from_kubeconfig(cls, path: str | Path | None = None, context: str | None = None) -> HttpClient:
        """Return the client of a kubeconfig's context. Raises ``KubeconfigError``."""
        return cls.from_connection(kubeconfig.load(path, context))

    @classmethod
    def from_connection(cls, connection: Connection) -> HttpClient:
        """Return the client of a resolved kubeconfig context; ``namespace`` is the one it names."""
        client = cls(connection.server)
        ssl = ssl_context(connection) if connection.server.startswith("https:") else None
        client._transport = Transport(connection, ssl)
        client.namespace = connection.namespace
        return client

    @property
    def url(self) -> str:
        return self._transport.url

    def on_warning(self, handler: WarningHandler) -> None:
        """Call ``handler`` with each warning of the API server from now on."""
        self._transport.on_warning = handler

    async def get(self, kind: type[T], name: str, namespace: str | None = None) -> T:
        body = await self._transport.send("GET", scheme.resource_of(kind).path(namespace, name))
        return _decode(body, kind)

    async def list(
        self,
        kind: type[T],
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
        continue_token: str = "",
    ) -> Listing[T]:
        resource = scheme.resource_of(kind)
        query = {
            "labelSelector": label_selector,
            "fieldSelector": field_selector,
            "limit": str(limit) if limit else "",
            "continue": continue_token,
        }
        body = await self._transport.send("GET", resource.path(namespace), query)
        page: Any = _decode(body, _list_type(resource))
        custom = isinstance(resource, CustomResource)
        return Listing(
            items=tuple(codec.from_plain(each, kind) for each in page.items) if custom else page.items,
            resource_version=page.metadata.resource_version or "",
            continue_token=page.metadata.continue_ or "",
            remaining=page.metadata.remaining_item_count,
        )

    async def watch(
        self,
        kind: type[T],
        namespace: str | None = None,
        *,
        resource_version: str,
        label_selector: str = "",
        field_selector: str = "",
    ) -> AsyncIterator[WatchEvent[T]]:
        seconds = ids.uniform(WATCH_SECONDS_MIN, 2 * WATCH_SECONDS_MIN)
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "labelSelector": label_selector,
            "fieldSelector": field_selector,
            "timeoutSeconds": str(int(seconds)),
        }
        path = scheme.resource_of(kind).path(namespace)
        async with self._transport.open(
            "GET", path, query, seconds_max=seconds + SILENCE_SECONDS_MAX
        ) as response:
            if response.status != 200:
                raise error_of(response.status, await response.read(), response.headers)
            async for line in _lines(response.content.iter_any()):
                event = _decode(line, _Line)
                if event.type == "ERROR":
                    raise ApiError(_decode(event.object, Status))
                yield WatchEvent(WatchEventType(event.type), _decode(event.object, kind))

    async def create(self, obj: T, *, namespace: str | None = None, dry_run: bool = False) -> T:
        namespace = obj.metadata.namespace if namespace is None else namespace
        path = scheme.resource_of(type(obj)).path(namespace)
        body = await self._transport.send("POST", path, _dry_run(dry_run), codec.encode(obj))
        return _decode(body, type(obj))

    async def update(self, obj: T, *, subresource: str = "", dry_run: bool = False) -> T:
        metadata = obj.metadata
        path = scheme.resource_of(type(obj)).path(metadata.namespace, metadata.name or "", subresource)
        body = await self._transport.send("PUT", path, _dry_run(dry_run), codec.encode(obj))
        return _decode(body, type(obj))

    async def patch(  # noqa: PLR0913 the API's own options, all by name
        self,
        kind: type[T],
        name: str,
        patch: Any,
        namespace: str | None = None,
        *,
        patch_type: PatchType = PatchType.MERGE,
        subresource: str = "",
        field_manager: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> T:
        query = {**_dry_run(dry_run), "fieldManager": field_manager, "force": "true" if force else ""}
        path = scheme.resource_of(kind).path(namespace, name, subresource)
        body = await self._transport.send("PATCH", path, query, msgspec.json.encode(patch), patch_type.value)
        return _decode(body, kind)

    async def delete(  # noqa: PLR0913 the API's own options, all by name
        self,
        kind: type[T],
        name: str,
        namespace: str | None = None,
        *,
        grace_seconds: int | None = None,
        uid: str = "",
        resource_version: str = "",
        propagation: str = "",
        dry_run: bool = False,
    ) -> None:
        preconditions = Preconditions(uid=uid or None, resource_version=resource_version or None)
        options = DeleteOptions(
            api_version="v1",
            kind="DeleteOptions",
            grace_period_seconds=grace_seconds,
            preconditions=preconditions if uid or resource_version else None,
            propagation_policy=propagation or None,
            dry_run=("All",) if dry_run else (),
        )
        await self._transport.send(
            "DELETE", scheme.resource_of(kind).path(namespace, name), {}, codec.encode(options)
        )

    async def create_subresource(
        self, kind: type[T], name: str, subresource: str, body: S, namespace: str | None = None
    ) -> Struct:
        path = scheme.resource_of(kind).path(namespace, name, subresource)
        answer = await self._transport.send("POST", path, {}, codec.encode(body))
        meta = _decode(answer, _TypeMeta)
        if meta.kind != "Status":
            group, version = scheme.split_group_version(meta.api_version)
            return _decode(answer, cast("type[Struct]", scheme.type_of(group, version, meta.kind)))
        status = _decode(answer, Status)
        if status.status == "Failure":  # possible in an answer whose code says success
            raise ApiError(status)
        return status

    async def get_scale(self, resource: Resource, name: str, namespace: str) -> Scale:
        return _decode(await self._transport.send("GET", resource.path(namespace, name, "scale")), Scale)

    async def update_scale(self, resource: Resource, scale: Scale) -> Scale:
        path = resource.path(scale.metadata.namespace, scale.metadata.name or "", "scale")
        return _decode(await self._transport.send("PUT", path, {}, codec.encode(scale)), Scale)

    async def close(self) -> None:
        await self._transport.close()


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Chunks as they came, cut at line ends; lines may be of any length."""
    pending: list[bytes] = []
    async for chunk in chunks:
        *complete, rest = chunk.split(b"\n")
        for line in complete:
            pending.append(line)
            whole = b"".join(pending)
            pending.clear()
            if whole:
                yield whole
        if rest:
            pending.append(rest)


def _list_type(resource: Resource) -> type[Any]:
    if isinstance(resource, CustomResource):
        made: type[Any] = resource.list_type
        return made
    return scheme.type_of(resource.group, resource.version, resource.list_kind)


def _decode(data: bytes | msgspec.Raw, type_: type[D]) -> D:
    """Return an answer as a struct. One that cannot be read is the server's error, not ours."""
    try:
        return codec.decode(bytes(data), type_)
    except msgspec.DecodeError as error:
        raise failure(500, "InternalError", f"the server's answer cannot be read: {error}") from error


def _dry_run(dry_run: bool) -> dict[str, str]:
    return {"dryRun": "All"} if dry_run else {}
