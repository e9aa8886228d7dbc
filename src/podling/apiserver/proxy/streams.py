"""From the API server to a pod's streams: logs, exec, attach, port-forward, through the pod's kubelet.

The server authorises and checks; the bytes are the kubelet's and the client's, and pass through
untouched, log chunks as they come. How a kubelet is reached is a ``NodeConnector``'s business.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from typing import Any, Protocol
from urllib.parse import quote

import aiohttp
import msgspec
from aiohttp import web
from msgspec.structs import replace
from yarl import URL

from podling.api.core_v1 import Node, Pod
from podling.api.meta_v1 import Status
from podling.apiserver.admission.base import Objects
from podling.apiserver.auth.pki import KeyPair
from podling.apiserver.http.exchange import HttpRequest
from podling.apiserver.http.resource_paths import Parsed
from podling.apiserver.http.websocket_replies import send_log
from podling.apiserver.proxy.connect_options import connect_options, encoded, proxied_path, query_of
from podling.apiserver.proxy.link_rewriting import Links, proxy_prefix
from podling.apiserver.proxy.proxied_replies import relay
from podling.apiserver.proxy.resource_proxy import Proxy, proxied_headers, to_root
from podling.apiserver.proxy.stream_options import check_log_options, container_of, node_of
from podling.apiserver.proxy.upgrade_proxy import forwarded, pass_upgrade, wants_upgrade
from podling.apiserver.registry.registry import Registry
from podling.client.requests import Target, User, WriteOptions
from podling.machinery import errors
from podling.machinery.errors import ApiError
from podling.streaming.websocket_connection import is_websocket_request

CONNECT_SECONDS = 10.0
TEXT = "text/plain"


class Body(Protocol):
    """A kubelet's answer, read as it comes."""

    status: int

    @property
    def headers(self) -> Mapping[str, str]: ...

    def chunks(self) -> AsyncIterator[bytes]: ...

    async def close(self) -> None: ...


class NodeConnector(Protocol):
    """The API server's client for kubelets. Raises ``ApiError`` when a kubelet cannot be reached."""

    async def request(
        self,
        node: Node,
        method: str,
        path: str,
        query: str,
        body: bytes,
        headers: Mapping[str, str] | None = None,
    ) -> Body:
        """Send a request to a kubelet; the answer may be an endless stream."""
        ...

    async def pass_upgrade(
        self, node: Node, path: str, query: str, request: HttpRequest
    ) -> web.StreamResponse:
        """Join a client's connection to one to a kubelet until either ends: neither is HTTP any more."""
        ...

    async def close(self) -> None: ...


def kubelet_url(node: Node) -> str:
    """Return the URL of a node's kubelet. Raises 503 when the node has not published its address."""
    port = node.status.daemon_endpoints.kubelet_endpoint.port
    order = ("InternalIP", "Hostname", "ExternalIP")
    addresses = {each.type: each.address for each in reversed(node.status.addresses)}
    host = next((addresses[each] for each in order if each in addresses), "")
    if not host or not port:
        raise errors.service_unavailable(f"node {node.metadata.name} has no address and port of a kubelet")
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


class _HttpBody:
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status
        self.headers = response.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._response.content.iter_any():
            yield chunk

    async def close(self) -> None:
        self._response.close()


class HttpsNodeConnector:
    """Kubelets over HTTPS, with the API server's client certificate."""

    def __init__(self, ca: KeyPair, client: KeyPair) -> None:
        self._ca, self._client = ca, client
        self._session: aiohttp.ClientSession | None = None

    def _context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self._ca.certificate))
        context.load_cert_chain(self._client.certificate, self._client.key)
        return context

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            context = self._context()
            timeout = aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS)
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=context, limit=0), timeout=timeout, auto_decompress=False
            )
        return self._session

    async def request(
        self,
        node: Node,
        method: str,
        path: str,
        query: str,
        body: bytes,
        headers: Mapping[str, str] | None = None,
    ) -> Body:
        url = kubelet_url(node) + quote(path) + (f"?{query}" if query else "")
        try:
            answer = await self._open().request(
                method, _encoded(url), data=body or None, headers=headers, allow_redirects=False
            )
            return _HttpBody(answer)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise errors.internal(f"error dialing backend: {error}") from None

    async def pass_upgrade(
        self, node: Node, path: str, query: str, request: HttpRequest
    ) -> web.StreamResponse:
        url = kubelet_url(node) + quote(path) + (f"?{query}" if query else "")
        try:
            return await pass_upgrade(request, url, self._context(), forwarded(request.headers).items())
        except OSError as error:
            raise errors.internal(f"error dialing backend: {error}") from None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


def _encoded(url: str) -> URL:
    """Already quoted: not to be quoted again."""
    return URL(url, encoded=True)


async def refusal(body: Body) -> ApiError:
    """Return a kubelet's error answer as an error of ours: its own ``Status``, or its text."""
    data = b"".join([chunk async for chunk in body.chunks()])
    await body.close()
    try:
        return ApiError(msgspec.json.decode(data, type=Status))
    except msgspec.MsgspecError:
        text = data.decode(errors="replace").strip() or f"the kubelet answered {body.status}"
        reason = {400: "BadRequest", 404: "NotFound", 403: "Forbidden"}.get(body.status, "InternalError")
        return errors.failure(body.status if body.status >= 400 else 500, reason, text)


class StreamRequests:
    """Serves the subresources that open a connection."""

    def __init__(self, registry: Registry, objects: Objects, connector: NodeConnector) -> None:
        self._registry = registry
        self._objects = objects
        self._connector = connector
        self._proxy_to = Proxy(objects)
        self._open: dict[asyncio.Task[Any], None] = {}
        """Requests whose connections are joined to kubelets'."""

    async def close(self) -> None:
        for passage in self._open:
            passage.cancel()
        await self._connector.close()
        await self._proxy_to.close()

    async def serve(self, request: HttpRequest, parsed: Parsed, verb: str, user: User) -> web.StreamResponse:
        target = parsed.target
        self._registry.authorize(user, verb, target)
        if target.subresource == "log":
            return await self._log(request, self._pod(target))
        asked = connect_options(parsed, request.query, request.path)
        options = WriteOptions()
        request.warnings = options.warnings
        admitted = await self._registry.connect(target, user, asked, options)
        if target.subresource == "proxy":
            if admitted != asked:
                parsed = replace(parsed, tail=str(admitted.get("path", "")).removeprefix("/"))
            return await self._proxy(request, parsed)
        # Nothing but the options that admission saw goes on to the kubelet, which knows more parameters.
        query = query_of(admitted)
        return await self._stream(request, self._pod(target), target, query, encoded(query))

    def _pod(self, target: Target) -> Pod:
        pod = self._objects.get(Pod, target.name, target.namespace)
        if pod is None:
            raise errors.not_found("pods", "", target.name)
        return pod

    def _node(self, name: str) -> Node:
        node = self._objects.get(Node, name)
        if node is None:
            raise errors.not_found("nodes", "", name)
        return node

    async def _log(self, request: HttpRequest, pod: Pod) -> web.StreamResponse:
        metadata = pod.metadata
        check_log_options(metadata.name or "", request.query)
        container = container_of(pod, request.query.get("container", ""))
        if not pod.spec.node_name:
            return web.Response(status=204)  # nothing to stream from
        path = f"/containerLogs/{metadata.namespace}/{metadata.name}/{container}"
        node = self._node(pod.spec.node_name)
        body = await self._connector.request(node, "GET", path, request.rel_url.raw_query_string, b"")
        if not is_websocket_request(request):
            return await self._pass_on(request, body)
        if body.status >= 400:
            raise await refusal(body)
        try:
            return await send_log(request, body.chunks())
        finally:
            await body.close()

    async def _pass_on(self, request: HttpRequest, body: Body) -> web.StreamResponse:
        """Return a kubelet's answer to the client, chunk by chunk."""
        if body.status >= 400:
            raise await refusal(body)
        shown = {"Content-Type": body.headers.get("Content-Type", TEXT)}
        return await relay(request, body.status, shown, body.chunks(), body.close)

    async def _stream(
        self, request: HttpRequest, pod: Pod, target: Target, query: Mapping[str, str], raw: str
    ) -> web.StreamResponse:
        """exec, attach and port-forward. ``raw``: the query for the kubelet."""
        metadata, kind = pod.metadata, target.subresource
        if kind == "portforward":
            path = f"/portForward/{metadata.namespace}/{metadata.name}"
            if pod.status.phase not in ("Running", None, ""):
                raise errors.bad_request(
                    f"unable to forward port because pod is not running. Current status={pod.status.phase}"
                )
        else:
            container = container_of(pod, query.get("container", ""))
            path = f"/{kind}/{metadata.namespace}/{metadata.name}/{container}"
        node = self._node(node_of(pod))
        if not wants_upgrade(request):
            raise errors.bad_request("Upgrade request required")
        return await self._pass_upgrade(request, node, path, raw)

    async def _pass_upgrade(
        self, request: HttpRequest, node: Node, path: str, raw: str
    ) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = None
        try:
            return await self._connector.pass_upgrade(node, path, raw, request)
        finally:
            del self._open[task]

    async def _proxy(self, request: HttpRequest, parsed: Parsed) -> web.StreamResponse:
        """Serve ``nodes/{name}/proxy``: all other paths of a kubelet. Pods and services have their own."""
        target = parsed.target
        if target.resource.plural != "nodes":
            return await self._proxy_to.serve(request, parsed)
        node, path = (
            self._node(target.name.partition(":")[0]),
            proxied_path(parsed.tail, request.path) or "/",
        )
        raw = request.rel_url.raw_query_string
        if wants_upgrade(request):
            return await self._pass_upgrade(request, node, path, raw)
        if moved := to_root(request, parsed.tail):
            return moved
        links = Links(
            proxy_prefix(request.path, parsed.tail),
            URL(kubelet_url(node)).raw_authority,
            request.headers.get("Host", ""),
        )
        headers = proxied_headers(request, links, path)
        body = await self._connector.request(node, request.method, path, raw, await request.read(), headers)
        return await relay(request, body.status, body.headers, body.chunks(), body.close, links)
