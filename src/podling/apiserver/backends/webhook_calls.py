"""Calls to webhooks: finding the address, and sending one review over HTTPS, or to a server in this process.

Shared by the conversion of custom objects and by admission.
Upstream: ``k8s.io/apiserver/pkg/util/webhook``.
"""

from __future__ import annotations

import base64
import json
import os
import ssl
from functools import lru_cache
from http import HTTPStatus
from typing import Protocol
from urllib.parse import urlsplit

from msgspec import Struct

from podling import clock, ids
from podling.api.core_v1 import Service
from podling.api.discovery_v1 import EndpointSlice
from podling.apiserver.admission.base import Objects
from podling.apiserver.backends.local_servers import (
    LocalServer,
    LocalServers,
    ServerAnswer,
    ServerRequest,
    ServerUnreachable,
    exchange,
)
from podling.machinery.errors import ApiError

DEFAULT_PORT = 443
HEADERS = (
    ("Content-Type", "application/json"),
    ("Accept", "application/json, */*"),
    ("User-Agent", "kube-apiserver-admission"),
)
MAX_SHOWN = 2048
"""Bytes of a refusal that messages repeat."""


class WebhookFailed(Exception):
    """The webhook did not answer, or not what it should. ``code``: the HTTP status that it answered with, 503
    when it was none that says so."""

    def __init__(self, why: str, code: int = HTTPStatus.SERVICE_UNAVAILABLE) -> None:
        super().__init__(why)
        self.code = int(code)


class ServiceReference(Protocol):
    """A service, as client configurations of every group name one."""

    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def path(self) -> str | None: ...
    @property
    def port(self) -> int | None: ...


class ClientConfig(Protocol):
    """Client configuration of a webhook: a URL or a service, and the CA bundle."""

    @property
    def url(self) -> str | None: ...
    @property
    def ca_bundle(self) -> str | None: ...
    @property
    def service(self) -> ServiceReference | None: ...


class Address(Struct, frozen=True):
    """Address of a webhook. ``shown``: its name in messages; ``host``: the name in its certificate."""

    url: str
    shown: str
    host: str | None = None


async def call(
    client: ClientConfig,
    objects: Objects,
    body: bytes,
    *,
    seconds: float,
    query: str = "",
    local: LocalServers | None = None,
) -> bytes:
    """Send a review to a webhook and return its answer. Raises ``WebhookFailed``.

    Args:
        seconds: the time-out: in the machine's time over HTTPS, in the cluster's time in this process.
        local: the servers in this process.
    """
    server = None if local is None else _local(client, local)
    if server is not None:
        return await _call_here(server, client, objects, body, seconds, query)
    address = await locate(client, objects, query)
    hold = clock.hold()  # a wound clock does not pass the moment of the call
    try:
        return await ask(address, client.ca_bundle or "", body, seconds=seconds)
    finally:
        if hold is not None:
            hold.cancel()


def _local(client: ClientConfig, local: LocalServers) -> LocalServer | None:
    if client.url:
        return local.of_url(client.url)
    named = client.service
    return None if named is None else local.of_service(named.namespace, named.name)


async def _call_here(
    server: LocalServer, client: ClientConfig, objects: Objects, body: bytes, seconds: float, query: str
) -> bytes:
    """Send a review to a server in this process. Raises ``WebhookFailed``."""
    place = named_place(client, query)
    if server.needs_endpoint and not client.url:
        place = await locate(client, objects, query)
    parts = urlsplit(place.url)
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    request = ServerRequest("POST", path, HEADERS, body, parts.netloc, seconds)
    try:
        return _body_of(await exchange(server, request))
    except TimeoutError:
        why = "context deadline exceeded"
    except ServerUnreachable as error:
        why = str(error)
    raise WebhookFailed(f'Post "{place.shown}": {why}')


def _body_of(answer: ServerAnswer) -> bytes:
    """Return the body of a successful answer. Raises ``WebhookFailed``."""
    if not 200 <= answer.status < 300:
        said = answer.body[:MAX_SHOWN].decode(errors="replace").strip()
        raise WebhookFailed(said_of(answer.status, said or "unknown"), answer.status)
    return answer.body


def named_place(client: ClientConfig, query: str = "") -> Address:
    """Return the name that a configuration gives a webhook, without an endpoint. Raises ``WebhookFailed``."""
    if client.url:
        return Address(client.url + query, client.url + query)
    named = client.service
    if named is None:
        raise WebhookFailed("neither url nor service")
    host, port = f"{named.name}.{named.namespace}.svc", named.port or DEFAULT_PORT
    shown = f"https://{host}:{port}/{(named.path or '').lstrip('/')}{query}"
    return Address(shown, shown, host)


async def locate(client: ClientConfig, objects: Objects, query: str = "") -> Address:
    """Return a webhook's address: its URL, or an endpoint of its service. Raises ``WebhookFailed``."""
    from podling.apiserver.backends.destinations import service_addresses

    place, named = named_place(client, query), client.service
    if client.url or named is None:
        return place
    shown, port = place.shown, named.port or DEFAULT_PORT
    path = f"/{(named.path or '').lstrip('/')}{query}"
    service = objects.get(Service, named.name, named.namespace)
    if service is None:
        raise WebhookFailed(f'Post "{shown}": service "{named.name}" not found')
    slices = await objects.list(EndpointSlice, named.namespace)
    try:
        address, number = ids.choice(service_addresses(service, slices, str(port)))
    except ApiError as error:
        raise WebhookFailed(f'Post "{shown}": {error}') from None
    return Address(f"https://{address}:{number}{path}", shown, place.host)


async def ask(address: Address, ca_bundle: str, body: bytes, *, seconds: float) -> bytes:
    """POST a review. Without a CA bundle the machine's own authorities are trusted.

    Raises ``WebhookFailed``.
    """
    import aiohttp
    from yarl import URL

    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=seconds)) as session,
            session.post(
                URL(address.url, encoded=True),
                data=body,
                headers={**dict(HEADERS), "Host": urlsplit(address.shown).netloc},
                ssl=_context(ca_bundle),
                server_hostname=address.host,
            ) as response,
        ):
            answer = await response.read()
            if not 200 <= response.status < 300:
                readable = response.content_type.startswith("text/") or "json" in response.content_type
                said = answer[:MAX_SHOWN].decode(errors="replace").strip() if readable else ""
                raise WebhookFailed(said_of(response.status, said or "unknown"), response.status)
            return answer
    except TimeoutError:
        why = "context deadline exceeded"
    except (aiohttp.ClientError, ssl.SSLError, OSError) as error:
        why = _why(error)
    raise WebhookFailed(f'Post "{address.shown}": {why}')


def said_of(status: int, body: str) -> str:
    """Return the message of a Go client for an unsuccessful answer. Pure.

    Upstream: ``NewGenericServerResponse`` in ``apimachinery/pkg/api/errors``.
    """
    if status == 403:
        return body
    if status in (406, 415) and body != "unknown":
        return body
    if status in _ANSWERS:
        return _ANSWERS[status]
    if status >= 500:
        return f"an error on the server ({json.dumps(body)}) has prevented the request from succeeding"
    return f"the server responded with the status code {status} but did not return more information"


_ANSWERS = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    406: "the server was unable to respond with a content type that the client supports",
    409: "the server reported a conflict",
    415: "the server was unable to respond with a content type that the client supports",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing "
    "the request",
}
_UNTRUSTED = (18, 19, 20, 21)
"""OpenSSL's codes for certificates that no known authority has signed."""


def _why(error: Exception) -> str:
    """Why a connection failed, as Go says it."""
    import aiohttp

    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        cause = error.certificate_error
        if not isinstance(cause, ssl.SSLCertVerificationError):
            return f"tls: failed to verify certificate: {cause}"
        unknown = cause.verify_code in _UNTRUSTED
        text = "certificate signed by unknown authority" if unknown else cause.verify_message
        return f"tls: failed to verify certificate: x509: {text}"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return f"dial tcp: lookup {error.host}: no such host"
    if isinstance(error, aiohttp.ClientConnectorError):
        where = f"dial tcp {error.host}:{error.port}: connect"
        return f"{where}: {os.strerror(error.os_error.errno or 0).lower()}"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "EOF"
    return str(error) or type(error).__name__


@lru_cache(maxsize=64)
def _context(ca_bundle: str) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=base64.b64decode(ca_bundle).decode() if ca_bundle else None)
