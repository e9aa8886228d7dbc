"""Requests of components in other processes for the objects of aggregated API servers."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from podling.apiserver.aggregation.contents import OtherContents
from podling.apiserver.server import ApiServer
from podling.apiserver.socket.session import ExtraVerb
from podling.client.messages import decode_user
from podling.client.other_apis import DELETE, GET, LIST, RESOURCES, OtherRead, OtherRequest, OtherResource
from podling.client.requests import SYSTEM
from podling.machinery import errors
from podling.machinery.resource import Resource

_read = msgspec.msgpack.Decoder(OtherRequest).decode
_read_path = msgspec.msgpack.Decoder(OtherRead).decode


class OtherApiVerbs:
    """The verbs of ``client.other_apis``."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api

    def verbs(self) -> Mapping[str, ExtraVerb]:
        return {RESOURCES: self._resources, LIST: self._list, DELETE: self._delete, GET: self._get}

    async def _resources(self, _: bytes) -> bytes:
        found = await self._api.other_contents(SYSTEM).resources()
        return msgspec.msgpack.encode([
            OtherResource(
                each.group, each.version, each.plural, each.singular, each.kind, each.namespaced, each.verbs
            )
            for each in found
        ])  # fmt: skip

    async def _get(self, body: bytes) -> bytes:
        request = _read_path(body)
        return await self._api.other_contents(decode_user(request.user)).get(request.path)

    async def _list(self, body: bytes) -> bytes:
        request, resource, contents = self._read(body)
        return msgspec.json.encode(await contents.list(resource, request.namespace))

    async def _delete(self, body: bytes) -> bytes:
        request, resource, contents = self._read(body)
        await contents.delete(resource, request.namespace, request.name)
        return b""

    def _read(self, body: bytes) -> tuple[OtherRequest, Resource, OtherContents]:
        """Return a request, its resource and its objects. Raises 404 for a resource that is not served."""
        request = _read(body)
        for each in self._api.aggregation.resources():
            if (each.group, each.version, each.plural) == request.resource:
                return request, each, self._api.other_contents(decode_user(request.user))
        raise errors.no_such_resource()
