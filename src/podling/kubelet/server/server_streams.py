"""``/exec``, ``/attach`` and ``/portForward``: from an HTTP request to a session on its connection."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress

from aiohttp import web

from podling.api.core_v1 import Pod
from podling.api.meta_v1 import Status
from podling.kubelet.pods.pod_source import PodSource
from podling.kubelet.server.carriers import Carrier, SpdyCarrier, WebSocketCarrier
from podling.kubelet.server.channels import BY_NAME, PROTOCOLS, UNNAMED, exit_status
from podling.kubelet.server.port_forward import PortForward, parse_ports
from podling.kubelet.server.remote_command import RemoteCommand, StreamOptions
from podling.kubelet.server.server_logs import flag
from podling.kubelet.server.spdy_tunnel import PROTOCOL, TUNNELLED, Tunnel, WebSocketBytes
from podling.kubelet.server.spdy_upgrade import SPDY_VERSIONS, accept_spdy, wants_spdy
from podling.machinery.errors import bad_request, failure
from podling.runtime.base import ContainerState, NotFound, Streams
from podling.streaming.spdy_connection import SpdyConnection
from podling.streaming.websocket_connection import (
    WebSocket,
    accept_websocket,
    chosen_protocol,
    is_websocket_request,
    offered_protocols,
)

IDLE_SECONDS = 4 * 3600.0
"""streamingConnectionIdleTimeout: the time a connection without any frame is kept."""
CHANNELS = tuple(protocol.name for protocol in PROTOCOLS)
PORT_CHANNELS = ("v4.channel.k8s.io", "v4.base64.channel.k8s.io")
"""The versions of port-forward: one, plain and in base64."""


class StreamHandlers:
    """The handlers; ``source`` returns the kubelet's pods or raises 503."""

    def __init__(self, source: Callable[[], PodSource]) -> None:
        self._source = source

    async def exec(self, request: web.Request) -> web.StreamResponse:
        command = request.query.getall("command", [])
        options = _options(request)
        name = request.match_info["container"]
        container_id = await self._running_container(request, f"container not found ({json.dumps(name)})")
        if not command:
            raise bad_request("you must specify at least 1 command for the container")
        runtime = self._source().runtime

        async def run(streams: Streams) -> Status:
            return exit_status(await runtime.exec(container_id, command, streams, tty=options.tty), command)

        return await _serve_command(request, options, run, "error executing command in container")

    async def attach(self, request: web.Request) -> web.StreamResponse:
        options = _options(request)
        match = request.match_info
        pod = f"{match['pod']}_{match['namespace']}"
        missing = f"container {match['container']} not found in pod {pod}"
        container_id = await self._running_container(request, missing)
        runtime = self._source().runtime

        async def run(streams: Streams) -> Status:
            await runtime.attach(container_id, streams, tty=options.tty)
            return Status(status="Success")

        return await _serve_command(request, options, run, "error attaching to container")

    async def port_forward(self, request: web.Request) -> web.StreamResponse:
        source = self._source()
        pod = _pod(request, source)
        sandbox_id = source.sandbox_id(pod)
        if sandbox_id is None:
            name = f"{pod.metadata.name}_{pod.metadata.namespace}"
            raise failure(500, "InternalError", f"pod not found ({json.dumps(name)})")

        async def forward(
            port: int, inbound: AsyncIterator[bytes], send: Callable[[bytes], Awaitable[None]]
        ) -> None:
            await source.runtime.port_forward(sandbox_id, port, inbound, send)

        if wants_spdy(request):
            response, connection, _ = await accept_spdy(request, (PROTOCOL,), idle_seconds=IDLE_SECONDS)
            await Tunnel(SpdyConnection(connection), forward, sandbox_id).serve()
            return response
        if TUNNELLED in offered_protocols(request):
            response, socket = await _upgrade(request, (TUNNELLED,))
            await Tunnel(SpdyConnection(WebSocketBytes(socket)), forward, sandbox_id).serve()
            return response
        if not is_websocket_request(request):
            raise bad_request("Upgrade request required")
        ports = parse_ports(request.query.getall("port", ()))
        response, socket = await _upgrade(request, PORT_CHANNELS)
        carrier = WebSocketCarrier(socket, BY_NAME.get(socket.protocol, UNNAMED), whole=frozenset())
        await PortForward(carrier, ports, forward, sandbox_id).serve()
        return response

    async def _running_container(self, request: web.Request, missing: str) -> str:
        """Return the id of the container in the path; ``missing`` is the error if it does not run."""
        source, name = self._source(), request.match_info["container"]
        pod = _pod(request, source)
        container_id = source.container_id(pod, name)
        with suppress(NotFound):
            if container_id is not None:
                status = await source.runtime.container_status(container_id)
                if status.state is ContainerState.RUNNING:
                    return container_id
        raise failure(500, "InternalError", missing)


def _pod(request: web.Request, source: PodSource) -> Pod:
    """Return the pod of the path; its UID must match if the path has one."""
    match = request.match_info
    pod = source.get_pod(match["namespace"], match["pod"])
    if pod is None or match.get("uid", pod.metadata.uid) != pod.metadata.uid:
        raise failure(404, "NotFound", "pod does not exist")
    return pod


def _options(request: web.Request) -> StreamOptions:
    """Return the options by the API's names of the streams, or by the kubelet's older ones."""
    query = request.query
    tty = flag(query, "tty")
    options = StreamOptions(
        stdin=flag(query, "stdin", "input"),
        stdout=flag(query, "stdout", "output"),
        # A terminal has one stream for both, so a request for stderr has no effect.
        stderr=flag(query, "stderr", "error") and not tty,
        tty=tty,
    )
    if problem := options.problem():
        raise bad_request(problem)
    return options


async def _serve_command(
    request: web.Request, options: StreamOptions, run: Callable[[Streams], Awaitable[Status]], failed: str
) -> web.StreamResponse:
    response: web.StreamResponse
    carrier: Carrier
    if wants_spdy(request):
        known = tuple(SPDY_VERSIONS)
        response, connection, name = await accept_spdy(request, known, idle_seconds=IDLE_SECONDS)
        carrier = SpdyCarrier(SpdyConnection(connection), SPDY_VERSIONS[name])
    else:
        response, socket = await _upgrade(request, CHANNELS)
        carrier = WebSocketCarrier(socket, BY_NAME.get(socket.protocol, UNNAMED))
    await RemoteCommand(carrier, options).serve(run, failed=failed)
    return response


async def _upgrade(request: web.Request, known: Sequence[str]) -> tuple[web.StreamResponse, WebSocket]:
    """Accept the WebSocket. Raises 400 for another request, 403 without a common protocol."""
    if not is_websocket_request(request):
        raise bad_request("Upgrade request required")
    offered = offered_protocols(request)
    protocol = chosen_protocol(offered, ("", *known))
    if protocol is None:
        why = f"unable to negotiate protocol: client supports {offered}, server accepts {list(known)}"
        raise failure(403, "Forbidden", f"unable to upgrade: {why}")
    return await accept_websocket(request, protocol, idle_seconds=IDLE_SECONDS)
