"""Objects of aggregated API servers, for components in other processes to list and delete.

The API server sends the requests, as the user that the component names; see ``controllers.other_apis``.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from podling.client.messages import Place, encode_user
from podling.client.other_content import Content
from podling.client.requests import User
from podling.client.socket_backend import SocketBackend
from podling.machinery.resource import Resource

RESOURCES, LIST, DELETE = "other-apis/resources", "other-apis/list", "other-apis/delete"
GET = "other-apis/get"
"""The verbs of the requests to the API server."""


class OtherResource(Struct, frozen=True, array_like=True):
    """A resource of an aggregated API server."""

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...]


class OtherRequest(Struct, frozen=True, array_like=True):
    """A request for the objects of a resource, or for one."""

    user: bytes
    resource: Place
    namespace: str
    name: str = ""


class OtherRead(Struct, frozen=True, array_like=True):
    """A request to read a path of an aggregated API."""

    user: bytes
    path: str


_read_resources = msgspec.msgpack.Decoder(list[OtherResource]).decode
_read_contents = msgspec.json.Decoder(list[Content]).decode


class SocketOtherApis:
    """Sends requests as ``user``; raises the server's errors, and 503 without a response."""

    def __init__(self, backend: SocketBackend, user: User) -> None:
        self._backend, self._user = backend, encode_user(user)

    async def resources(self) -> Sequence[Resource]:
        """Return the resources of aggregated API servers, each in the first of its versions."""
        found = _read_resources(await self._backend.extra(RESOURCES))
        return tuple(
            Resource(
                group=each.group,
                version=each.version,
                plural=each.plural,
                singular=each.singular,
                kind=each.kind,
                namespaced=each.namespaced,
                verbs=each.verbs,
            )
            for each in found
        )

    async def list(self, resource: Resource, namespace: str) -> Sequence[Content]:
        return _read_contents(await self._backend.extra(LIST, self._request(resource, namespace)))

    async def delete(self, resource: Resource, namespace: str, name: str = "") -> None:
        await self._backend.extra(DELETE, self._request(resource, namespace, name))

    async def get(self, path: str) -> bytes:
        """Return the answer of an aggregated API to a GET."""
        return await self._backend.extra(GET, msgspec.msgpack.encode(OtherRead(self._user, path)))

    def _request(self, resource: Resource, namespace: str, name: str = "") -> bytes:
        place = (resource.group, resource.version, resource.plural)
        return msgspec.msgpack.encode(OtherRequest(self._user, place, namespace, name))
