"""APIs that the API server answers itself though they are aggregated ones by their nature.

A user may install a server of their own behind the same ``APIService``; it then takes the place of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from podling.machinery.resource import Resource

if TYPE_CHECKING:
    from aiohttp import web

    from podling.apiserver.http.exchange import HttpRequest

PRIORITY = 100
"""Both priorities of the APIServices, those of metrics-server's manifest: built-in groups come first."""


class Answer(Struct, frozen=True):
    """A body, as JSON, and the media type in which the client wants it."""

    body: bytes
    media_type: str = "application/json"


class LocalApi(Protocol):
    """One group and version."""

    @property
    def group(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def resources(self) -> tuple[Resource, ...]: ...

    async def answer(self, method: str, path: str, query: Mapping[str, str], accept: str) -> Answer:
        """Return the answer to a request below the path of the group and version. Raises ``ApiError``."""
        ...


async def serve_local(request: HttpRequest, api: LocalApi) -> web.StreamResponse:
    """Answer a request of an authorised user. Raises ``ApiError``."""
    from podling.apiserver.http.replies import reply

    accept = request.headers.get("Accept", "")
    answer = await api.answer(request.method, request.path, request.query, accept)
    return await reply(request, answer.body, media_type=answer.media_type)
