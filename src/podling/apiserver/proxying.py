"""``pods/proxy`` and ``services/proxy``: HTTP to something that runs in the cluster, through the API server.

The name in the URL may say more than a name: ``[scheme:]name[:port]``. Where a request goes is decided by
plain functions; passing it on is all the rest. Answers pass through, errors too, with links that lead through
the proxy.
"""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from urllib.parse import quote

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from podling import ids
from podling.api.core_v1 import Pod, Service
from podling.api.discovery_v1 import Endpoint, EndpointSlice
from podling.apiserver.admission.base import Objects
from podling.apiserver.connect_options import proxied_path
from podling.apiserver.link_rewriting import Links, proxy_prefix
from podling.apiserver.passages import forwarded, pass_upgrade, wants_upgrade
from podling.apiserver.proxied_answers import relay
from podling.apiserver.requests import Parsed
from podling.machinery import errors
from podling.machinery.digits import is_number

CONNECT_SECONDS = 10.0
PORT_MAX = 65535
SERVICE_NAME = "kubernetes.io/service-name"

PodNamed = Callable[[str], Pod | None]
"""Finds a pod of the service's namespace."""


@dataclass(frozen=True, slots=True)
class Destination:
    """A name in a proxy URL, taken apart."""

    scheme: str
    name: str
    port: str


def destination(text: str) -> Destination:
    """``https:web:8443`` in its parts. Raises 400."""
    parts = text.split(":")
    if len(parts) == 1:
        return Destination("http", text, "")
    if len(parts) == 2:
        return Destination("http", parts[0], parts[1])
    if len(parts) == 3 and parts[0] in ("", "http", "https"):
        return Destination(parts[0] or "http", parts[1], parts[2])
    raise errors.bad_request(f'invalid proxy request "{text}"')


def pod_address(pod: Pod, port: str) -> tuple[str, int]:
    """Where a pod listens: the port given by number or name, else its first. Raises 400."""
    address = pod.status.pod_ips[0].ip if pod.status.pod_ips else pod.status.pod_ip or ""
    if not address:
        raise errors.bad_request(f"pod {pod.metadata.name} has no address")
    refuse_local(address)
    ports = [each for container in pod.spec.containers for each in container.ports]
    if is_number(port):
        if int(port) > PORT_MAX:
            why = f"dial tcp: address {port}: invalid port"
            raise errors.service_unavailable(f"error trying to reach service: {why}")
        return address, int(port)
    if port:
        ports = [each for each in ports if each.name == port]
    if not ports:
        return address, 80 if not port else _no_port("pod", pod.metadata.name, port)
    return address, ports[0].container_port


def service_addresses(
    service: Service, slices: Iterable[EndpointSlice], port: str, pod_named: PodNamed | None = None
) -> list[tuple[str, int]]:
    """Return every ready endpoint behind one port of a service. Raises 503 when there is none.

    An EndpointSlice may name any address. With ``pod_named`` only those are taken that pods of the service's
    namespace have, so that a tenant who may write EndpointSlices cannot reach services of the node through
    the server. Webhooks and APIServices, which only administrators write, go anywhere.
    """
    name = service.metadata.name
    if port.isascii() and port.isdigit():
        known = [each for each in service.spec.ports if str(each.port) == port]
        if not known:
            raise errors.service_unavailable(f'no service port {port} found for service "{name}"')
        port = known[0].name or ""
    found: list[tuple[str, int]] = []
    for each in slices:
        if each.metadata.labels.get(SERVICE_NAME) != name:
            continue
        numbers = [own.port for own in each.ports if (own.name or "") == port and own.port]
        ready = [end for end in each.endpoints if end.conditions.ready is not False]
        found += [
            (address, number)
            for end in ready
            for address in end.addresses
            if pod_named is None or _is_pod_address(end, address, service.metadata.namespace, pod_named)
            for number in numbers
        ]
    if not found:
        raise errors.service_unavailable(f'no endpoints available for service "{name}"')
    return found


def _is_pod_address(end: Endpoint, address: str, namespace: str | None, pod_named: PodNamed) -> bool:
    """Return whether the endpoint names a pod of this namespace that has the address (upstream:
    ``isValidAddress`` in ``pkg/registry/core/service/storage``)."""
    ref = end.target_ref
    if ref is None or ref.namespace != namespace or ref.kind not in (None, "", "Pod"):
        return False
    pod = pod_named(ref.name or "")
    return pod is not None and any(each.ip == address for each in pod.status.pod_ips)


def _no_port(kind: str, name: str | None, port: str) -> int:
    raise errors.service_unavailable(f'no service port "{port}" found for {kind} "{name}"')


def refuse_local(address: str) -> None:
    """The server must not be made to speak to itself. Raises 400."""
    ip = ipaddress.ip_address(address)
    if ip.is_loopback or ip.is_link_local or ip.is_multicast or ip.is_unspecified:
        raise errors.bad_request("address not allowed")


def to_root(request: web.BaseRequest, tail: str) -> web.Response | None:
    """The redirect of a client that asks for a server's root without a slash, whose links would go wrong."""
    if tail or request.path.endswith("/") or request.method not in ("GET", "HEAD"):
        return None
    query = request.rel_url.raw_query_string
    where = f"{request.rel_url.raw_path}/" + (f"?{query}" if query else "")
    return web.Response(status=301, headers={"Location": where})


def proxied_headers(request: web.BaseRequest, links: Links, path: str) -> CIMultiDict[str]:
    """Return the headers of a proxied request: the client's, and ``X-Forwarded-*``.

    Args:
        path: what the server is asked for, decoded.
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
            # Who answers is named by the cluster, not by a certificate: Kubernetes does not verify either.
            connector = aiohttp.TCPConnector(ssl=False)
            timeout = aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS)
            self._session = aiohttp.ClientSession(connector=connector, timeout=timeout, auto_decompress=False)
        return self._session


def unverified() -> ssl.SSLContext:
    """TLS to whoever answers: who that is is named by the cluster, not by a certificate."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
