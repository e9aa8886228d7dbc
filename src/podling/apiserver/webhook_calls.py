"""Asking a webhook: where it is, and one review sent to it over HTTPS.

Shared by everybody whose rules live in another server: conversion of custom objects, and admission.
Upstream: ``k8s.io/apiserver/pkg/util/webhook``.
"""

from __future__ import annotations

import base64
import ssl
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from podling import ids
from podling.api.core_v1 import Service
from podling.api.discovery_v1 import EndpointSlice
from podling.apiserver.admission.base import Objects
from podling.machinery.errors import ApiError

DEFAULT_PORT = 443


class WebhookFailed(Exception):
    """The webhook did not answer, or not what it should."""


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
    """How to reach a webhook."""

    @property
    def url(self) -> str | None: ...
    @property
    def ca_bundle(self) -> str | None: ...
    @property
    def service(self) -> ServiceReference | None: ...


@dataclass(frozen=True, slots=True)
class Address:
    """Where a webhook is. ``shown``: what messages call it; ``host``: whom its certificate must name."""

    url: str
    shown: str
    host: str | None = None


async def locate(client: ClientConfig, objects: Objects, query: str = "") -> Address:
    """Where a webhook is: at its URL, or at one of its service's endpoints. Raises ``WebhookFailed``."""
    from podling.apiserver.proxying import service_addresses

    if client.url:
        return Address(client.url + query, client.url + query)
    named = client.service
    if named is None:
        raise WebhookFailed("neither url nor service")
    host, port = f"{named.name}.{named.namespace}.svc", named.port or DEFAULT_PORT
    path = f"/{(named.path or '').lstrip('/')}{query}"
    shown = f"https://{host}:{port}{path}"
    service = objects.get(Service, named.name, named.namespace)
    if service is None:
        raise WebhookFailed(f'Post "{shown}": service "{named.name}" not found')
    slices = await objects.list(EndpointSlice, named.namespace)
    try:
        address, number = ids.choice(service_addresses(service, slices, str(port)))
    except ApiError as error:
        raise WebhookFailed(f'Post "{shown}": {error}') from None
    return Address(f"https://{address}:{number}{path}", shown, host)


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
                headers={"Content-Type": "application/json", "Accept": "application/json"},
                ssl=_context(ca_bundle),
                server_hostname=address.host,
            ) as response,
        ):
            answer = await response.read()
            if response.status != 200:
                text = answer[:200].decode(errors="replace")
                raise WebhookFailed(f"the server answered {response.status}: {text}")
            return answer
    except TimeoutError:
        raise WebhookFailed(f'Post "{address.shown}": context deadline exceeded') from None
    except (aiohttp.ClientError, ssl.SSLError, OSError) as error:
        raise WebhookFailed(f'Post "{address.shown}": {error or type(error).__name__}') from None


@lru_cache(maxsize=64)
def _context(ca_bundle: str) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=base64.b64decode(ca_bundle).decode() if ca_bundle else None)
