"""``pods/proxy`` and ``services/proxy``: HTTP to something that runs in the cluster, through the API server.

``backends.destinations`` decides where a request goes. Responses pass through, errors too, with links that
lead through the proxy.
"""

from __future__ import annotations

import ssl
from functools import partial
from urllib.parse import quote

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from podling import ids
from podling.api.core_v1 import Pod, Service
from podling.api.discovery_v1 import EndpointSlice
from podling.apiserver.admission.base import Objects
from podling.apiserver.backends.destinations import destination, pod_address, service_addresses
from podling.apiserver.http.resource_paths import Parsed
from podling.apiserver.proxy.connect_options import proxied_path
from podling.apiserver.proxy.link_rewriting import Links, proxy_prefix
from podling.apiserver.proxy.proxied_replies import relay
from podling.apiserver.proxy.upgrade_proxy import forwarded, length_of, pass_upgrade, wants_upgrade
from podling.machinery import errors

CONNECT_SECONDS = 10.0


def to_root(request: web.BaseRequest, tail: str) -> web.Response | None:
    """Return the redirect for a request for a server's root without a slash, which would break its links."""
    if tail or request.path.endswith("/") or request.method not in ("GET", "HEAD"):
        return None
    query = request.rel_url.raw_query_string
    where = f"{request.rel_url.raw_path}/" + (f"?{query}" if query else "")
    return web.Response(status=301, headers={"Location": where})


def proxied_headers(request: web.BaseRequest, links: Links, path: str) -> CIMultiDict[str]:
    """Return the headers of a proxied request: the client's, and ``X-Forwarded-*``.

    Args:
        path: the requested path on the server, decoded.
    """
    headers = forwarded(request.headers)
    headers.update(links.forwarded_headers(path))
    peer = request.transport.get_extra_info("peername") if request.transport is not None else None
    if peer:
        before = headers.getall("X-Forwarded-For", ())
        headers["X-Forwarded-For"] = ", ".join((*before, str(peer[0])))
    return headers


async def relay_answer(
    request: web.BaseRequest, answer: aiohttp.ClientResponse, links: Links | None = None
) -> web.StreamResponse:
    """Pass an answer on as it comes; with ``links``, rewritten."""

    async def close() -> None:
        answer.close()

    chunks = answer.content.iter_any()
    return await relay(request, answer.status, answer.headers, aiter(chunks), close, links)


class Proxy:
    """Passes requests on to pods and services."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _pod(self, namespace: str, name: str) -> Pod | None:
        return self._objects.get(Pod, name, namespace)

    async def serve(self, request: web.BaseRequest, parsed: Parsed) -> web.StreamResponse:
        target = parsed.target
        wanted = destination(target.name)
        if target.resource.plural == "pods":
            pod = self._objects.get(Pod, wanted.name, target.namespace)
            if pod is None:
                raise errors.not_found("pods", "", wanted.name)
            host, port = pod_address(pod, wanted.port)
        else:
            service = self._objects.get(Service, wanted.name, target.namespace)
            if service is None:
                raise errors.not_found("services", "", wanted.name)
            slices = await self._objects.list(EndpointSlice, target.namespace)
            pods = partial(self._pod, target.namespace)
            host, port = ids.choice(service_addresses(service, slices, wanted.port, pods))
        url = URL.build(
            scheme=wanted.scheme,
            host=host,
            port=port,
            path=quote(proxied_path(parsed.tail, request.path) or "/"),
            query_string=request.rel_url.raw_query_string,
            encoded=True,
        )
        upgrade = wants_upgrade(request)
        if not upgrade and (moved := to_root(request, parsed.tail)):
            return moved
        links = Links(
            proxy_prefix(request.path, parsed.tail),
            f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
            request.headers.get("Host", ""),
        )
        headers = proxied_headers(request, links, url.path)
        try:
            if upgrade:
                context = unverified() if wanted.scheme == "https" else None
                return await pass_upgrade(request, str(url), context, headers.items())
            headers["Host"] = links.request_host
            headers.update(length_of(request))
            answer = await self._open().request(
                request.method,
                url,
                data=request.content if request.can_read_body else None,
                headers=headers,
                allow_redirects=False,
            )
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise errors.service_unavailable(f"error trying to reach service: {error}") from None
        return await relay_answer(request, answer, links)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            # The cluster names the server, not a certificate: Kubernetes does not verify it either.
            connector = aiohttp.TCPConnector(ssl=False)
            timeout = aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS)
            self._session = aiohttp.ClientSession(connector=connector, timeout=timeout, auto_decompress=False)
        return self._session


def unverified() -> ssl.SSLContext:
    """Return a TLS context without verification: the cluster names the server, not a certificate."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
