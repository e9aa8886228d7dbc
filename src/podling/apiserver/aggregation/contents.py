"""Objects of aggregated API servers in a namespace, for components in this process to list and delete."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct

from podling.api.meta_v1 import DeleteOptions, Status
from podling.apiserver.aggregation.api_services import Aggregation
from podling.client.other_content import Content
from podling.client.requests import User
from podling.machinery import errors
from podling.machinery.encoding import codec
from podling.machinery.errors import ApiError
from podling.machinery.resource import Resource


class _Listing(Struct, frozen=True):
    items: tuple[Content, ...] = ()


class OtherContents:
    """Sends requests as ``user``; raises the server's errors, and 503 without a response."""

    def __init__(self, aggregation: Aggregation, user: User) -> None:
        self._aggregation, self._user = aggregation, user

    async def resources(self) -> Sequence[Resource]:
        """Return the resources of aggregated API servers, each in the first of its versions."""
        first: dict[tuple[str, str], Resource] = {}
        for each in self._aggregation.resources():
            first.setdefault((each.group, each.plural), each)
        return tuple(first.values())

    async def list(self, resource: Resource, namespace: str) -> Sequence[Content]:
        body = await self._ask("GET", resource, resource.path(namespace))
        try:
            return msgspec.json.decode(body, type=_Listing).items
        except msgspec.DecodeError as error:
            raise errors.internal(
                f"unable to decode the list of {resource.group_resource}: {error}"
            ) from None

    async def delete(self, resource: Resource, namespace: str, name: str = "") -> None:
        await self._ask("DELETE", resource, resource.path(namespace, name))

    async def get(self, path: str) -> bytes:
        """Return the answer of an aggregated API, whether another server has it or this one. Raises 404."""
        plain, _, query = path.partition("?")
        external = self._aggregation.find(plain)
        if external is not None:
            if not external.available:
                raise errors.service_unavailable("service unavailable")
            code, answer = await self._aggregation.backend.ask(external.service, "GET", path, self._user)
            return _answered(code, answer)
        local = self._aggregation.find_local(plain)
        if local is None:
            raise errors.failure(404, "NotFound", "the server could not find the requested resource")
        return (await local.answer("GET", plain, dict(parse_qsl(query)), "")).body

    async def _ask(self, method: str, resource: Resource, path: str) -> bytes:
        service = self._aggregation.service_of(resource)
        body = b""
        if method == "DELETE":
            body = codec.encode(DeleteOptions(propagation_policy="Background"))
        code, answer = await self._aggregation.backend.ask(service, method, path, self._user, body)
        return _answered(code, answer)


def _answered(code: int, answer: bytes) -> bytes:
    """Return an answer. Raises the server's error."""
    if code < 400:
        return answer
    try:
        raise ApiError(msgspec.json.decode(answer, type=Status))
    except msgspec.MsgspecError:
        raise errors.failure(code, "InternalError", answer.decode(errors="replace")) from None
