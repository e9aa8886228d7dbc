"""The server behind an APIService, called as a trusted proxy: our client certificate vouches for the headers
about the user.

Upstream: ``kube-aggregator/pkg/apiserver/handler_proxy.go`` and the request header authentication of
``k8s.io/apiserver``.
"""

from __future__ import annotations

import base64
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from podling import clock, ids
from podling.api.apiregistration_v1 import APIService, ServiceReference
from podling.api.core_v1 import Service
from podling.api.discovery_v1 import EndpointSlice
from podling.apiserver.admission.base import Objects
from podling.apiserver.auth.pki import KeyPair
from podling.apiserver.backends.local_servers import (
    REQUEST_SECONDS,
    LocalServer,
    LocalServers,
    ServerAnswer,
    ServerRequest,
    exchange,
)
from podling.client.requests import User
from podling.machinery import errors
from podling.machinery.errors import ApiError

if TYPE_CHECKING:
    import aiohttp
    from aiohttp import web

    from podling.apiserver.http.exchange import HttpRequest

CHECK_TIMEOUT_SECONDS = 5.0
CONNECT_SECONDS = 10.0
ASK_TIMEOUT_SECONDS = 30.0
JSON = "application/json"
DEFAULT_PORT = 443
OURS = ("x-remote-user", "x-remote-uid", "x-remote-group", "impersonate-")
"""Headers that only we may write: those of clients are removed."""


UNAVAILABLE = "service unavailable"
AGGREGATOR = User("system:kube-aggregator", ("system:masters",))
"""The user of our own requests."""


class Unavailable(Exception):
    """The server did not answer as it should."""


def user_headers(user: User) -> list[tuple[str, str]]:
    """Return the headers that name the user to the server behind."""
    extra = [
        (f"X-Remote-Extra-{quote(name.lower(), safe='')}", value)
        for name, values in user.extra.items()
        for value in values
    ]
    uid = [("X-Remote-Uid", user.uid)] if user.uid else []
    return [("X-Remote-User", user.name), *(("X-Remote-Group", each) for each in user.groups), *uid, *extra]


def without_ours(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    return [
        (name, value)
        for name, value in headers.items()
        if not name.lower().startswith((*OURS, "x-remote-extra-"))
    ]


class Backend:
    """Sends requests to the servers behind APIServices.

    Args:
        objects: finds their services and endpoints.
        front: our certificate as a proxy; without one they do not accept the user.
        local: the servers in this process.
    """

    def __init__(self, objects: Objects, front: KeyPair | None, local: LocalServers | None = None) -> None:
        self._objects, self._front, self._local = objects, front, local
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def read(self, service: APIService, path: str) -> bytes:
        """GET ``path`` as the server itself. Raises ``Unavailable``, or 503 when there is no endpoint."""
        import aiohttp

        place = await self._place(service, path)
        failed = f"failing or missing response from {place[0]}"
        headers = user_headers(AGGREGATOR)
        try:
            status, body = await self._answer(service, "GET", place, headers, CHECK_TIMEOUT_SECONDS)
            if status != 200:
                raise Unavailable(f"{failed}: bad status from {place[0]}: {status}")
            return body
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Unavailable(f'{failed}: Get "{place[0]}": {_why(error)}') from None

    def needs_endpoint(self, ref: ServiceReference) -> bool:
        """Return whether requests for a Service need one of its endpoints."""
        server = None if self._local is None else self._local.of_service(ref.namespace or "", ref.name or "")
        return server is None or server.needs_endpoint

    def service_of(self, ref: ServiceReference) -> Service | None:
        return self._objects.get(Service, ref.name or "", ref.namespace or "")

    async def slices_of(self, ref: ServiceReference) -> Sequence[EndpointSlice]:
        """Return all of the namespace."""
        return await self._objects.list(EndpointSlice, ref.namespace or "")

    async def ask(
        self, service: APIService, method: str, path: str, user: User, body: bytes = b""
    ) -> tuple[int, bytes]:
        """Return the server's code and response to a request as ``user``. Raises 503 without a response."""
        import aiohttp

        headers = [("Accept", JSON), *user_headers(user), *([("Content-Type", JSON)] if body else [])]
        try:
            place = await self._place(service, path)
            return await self._answer(service, method, place, headers, ASK_TIMEOUT_SECONDS, body)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise errors.service_unavailable(f"error trying to reach service: {_why(error)}") from None

    async def serve(self, request: HttpRequest, service: APIService, user: User) -> web.StreamResponse:
        """Pass a request on, as ``user``. Answer 503 as text when the server cannot be reached.

        Source: kube-aggregator ``handler_proxy.go``, which writes no ``Status``.
        """
        import aiohttp

        from podling.apiserver.http.replies import reply_text
        from podling.apiserver.proxy.resource_proxy import relay_answer
        from podling.apiserver.proxy.upgrade_proxy import forwarded, length_of, pass_upgrade, wants_upgrade

        try:
            place = await self._place(service, request.raw_path)
        except ApiError:
            return await reply_text(request, UNAVAILABLE, code=503)
        headers = [*without_ours(forwarded(request.headers)), *user_headers(user)]
        server = self._local_server(service)
        if server is not None:
            return await self._serve_here(request, server, place[0], headers)
        if wants_upgrade(request):
            try:
                context = self._context(service)
                return await pass_upgrade(request, place[0], context, headers, server_name=place[1])
            except OSError as error:
                return await reply_text(request, f"error dialing backend: {error}", code=503)
        data = request.content if request.can_read_body else None
        headers += length_of(request).items()
        try:
            answer = await self._send(service, request.method, place, headers, None, data)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return await reply_text(request, f"error trying to reach service: {error}", code=503)
        return await relay_answer(request, answer)

    async def _serve_here(
        self, request: HttpRequest, server: LocalServer, url: str, headers: list[tuple[str, str]]
    ) -> web.StreamResponse:
        """Pass a request on to a server in this process. Upgrades of the connection are refused there."""
        from multidict import CIMultiDict

        from podling.apiserver.http.replies import reply_text
        from podling.apiserver.proxy.proxied_replies import relay

        asked = _request_here(request.method, url, headers, await request.read(), REQUEST_SECONDS)
        try:
            answer = await exchange(server, asked)
        except OSError as error:
            return await reply_text(request, f"error trying to reach service: {_why(error)}", code=503)
        return await relay(request, answer.status, CIMultiDict(answer.headers), _whole(answer), _nothing)

    async def _answer(
        self,
        service: APIService,
        method: str,
        place: tuple[str, str],
        headers: list[tuple[str, str]],
        seconds: float,
        body: bytes = b"",
    ) -> tuple[int, bytes]:
        """Return code and body of an answer. Raises as ``aiohttp`` does, and ``OSError``."""
        server = self._local_server(service)
        if server is not None:
            found = await exchange(server, _request_here(method, place[0], headers, body, seconds))
            return found.status, found.body
        hold = clock.hold()  # a wound clock does not pass the moment of the request
        try:
            async with await self._send(service, method, place, headers, seconds, body or None) as answer:
                return answer.status, await answer.read()
        finally:
            if hold is not None:
                hold.cancel()

    def _local_server(self, service: APIService) -> LocalServer | None:
        ref = service.spec.service
        if self._local is None or ref is None:
            return None
        return self._local.of_service(ref.namespace or "", ref.name or "")

    async def _send(
        self,
        service: APIService,
        method: str,
        place: tuple[str, str],
        headers: list[tuple[str, str]],
        seconds: float | None,
        data: Any = None,
    ) -> aiohttp.ClientResponse:
        import aiohttp
        from yarl import URL

        url, server_name = place
        if self._session is None:
            self._session = aiohttp.ClientSession(auto_decompress=False)
        return await self._session.request(
            method,
            URL(url, encoded=True),
            headers=headers,
            data=data,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=seconds, connect=CONNECT_SECONDS),
            ssl=self._context(service),
            server_hostname=server_name,
        )

    async def _place(self, service: APIService, path: str) -> tuple[str, str]:
        """Return the URL for ``path``, and the name in the server's certificate. Raises 503."""
        from podling.apiserver.backends.destinations import service_addresses

        ref = service.spec.service
        assert ref is not None, "only APIServices with a service have a server behind them"
        name, namespace = ref.name or "", ref.namespace or ""
        server = self._local_server(service)
        if server is not None and not server.needs_endpoint:
            return (
                f"https://{name}.{namespace}.svc:{ref.port or DEFAULT_PORT}{path}",
                f"{name}.{namespace}.svc",
            )
        found = self._objects.get(Service, name, namespace)
        if found is None:
            raise errors.service_unavailable(UNAVAILABLE)
        slices = await self._objects.list(EndpointSlice, namespace)
        host, port = ids.choice(service_addresses(found, slices, str(ref.port or DEFAULT_PORT)))
        return f"https://{host}:{port}{path}", f"{name}.{namespace}.svc"

    def _context(self, service: APIService) -> ssl.SSLContext:
        bundle = service.spec.ca_bundle
        context = ssl.create_default_context(cadata=base64.b64decode(bundle).decode() if bundle else None)
        if service.spec.insecure_skip_tls_verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self._front is not None:
            context.load_cert_chain(self._front.certificate, self._front.key)
        return context


def _why(error: Exception) -> str:
    """Return why a request failed, as Go says it."""
    if isinstance(error, TimeoutError):
        return "context deadline exceeded"
    return str(error) or type(error).__name__


def _request_here(
    method: str, url: str, headers: list[tuple[str, str]], body: bytes, seconds: float
) -> ServerRequest:
    """Return a request for a server in this process."""
    parts = urlsplit(url)
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    return ServerRequest(method, path, tuple(headers), body, parts.netloc, seconds)


async def _whole(answer: ServerAnswer) -> AsyncIterator[bytes]:
    yield answer.body


async def _nothing() -> None:
    pass
