"""The health checks of load balancers: a node is a target if it has endpoints of the Service.

A Service of external policy ``Local`` has a ``healthCheckNodePort``, on which each node states how many local
endpoints are ready. Upstream: ``pkg/proxy/healthcheck/service_health.go``.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus

from msgspec import Struct

from podling.api.core_v1 import ObjectReference
from podling.client.base import Key
from podling.client.events import EventRecorder
from podling.network.services.endpoint_slices import SliceRecord
from podling.network.services.one_request import HEAD_BYTES, response, serve_one
from podling.network.services.service_ports import ServiceRecord

logger = logging.getLogger(__name__)


class HealthCheck(Struct, frozen=True):
    """The port of a Service's health check, and the number of its ready endpoints on this node."""

    port: int
    endpoints: int


def check_of(record: ServiceRecord | None, slices: Iterable[SliceRecord], node: str) -> HealthCheck | None:
    """Return the health check of a Service on a node; None for one that has none."""
    if record is None or not record.health_check_port:
        return None
    local = {
        endpoint.address
        for each in slices
        for endpoint in each.endpoints
        if endpoint.ready and endpoint.node == node
    }
    return HealthCheck(record.health_check_port, len(local))


def answer(key: Key, endpoints: int, healthy: bool) -> bytes:
    """Return the response to any request."""
    status = HTTPStatus.OK if endpoints and healthy else HTTPStatus.SERVICE_UNAVAILABLE
    content = {
        "service": {"namespace": key.namespace, "name": key.name},
        "localEndpoints": endpoints,
        "serviceProxyHealthy": healthy,
    }
    body = json.dumps(content, indent="\t").encode()
    weight = {"X-Load-Balancing-Endpoint-Weight": str(endpoints)}
    return response(status, body, "application/json", weight)


class HealthChecks:
    """The servers of all health checks of one node.

    Args:
        is_healthy: the state of the proxy itself.
    """

    def __init__(self, node: str, recorder: EventRecorder, is_healthy: Callable[[], bool]) -> None:
        self._node = node
        self._recorder = recorder
        self._is_healthy = is_healthy
        self._checks: dict[Key, HealthCheck] = {}
        self._servers: dict[Key, tuple[int, asyncio.Server]] = {}
        self._failed: dict[Key, int] = {}
        """The ports that could not be listened on, which is reported once."""

    async def put(self, changes: Mapping[Key, HealthCheck | None]) -> None:
        """Serve the checks of Services; None for one that has none (any more).

        All ports that are given up are closed first: another Service may have one of them now. Ports that
        could not be listened on are tried again.
        """
        for key, check in changes.items():
            port, server = self._servers.get(key, (0, None))
            if server is not None and (check is None or check.port != port):
                del self._servers[key]
                server.close()
            if check is None:
                self._checks.pop(key, None)
                self._failed.pop(key, None)
            else:
                self._checks[key] = check
        for key, wanted in list(self._checks.items()):
            if key not in self._servers:
                await self._listen(key, wanted.port)

    async def _listen(self, key: Key, port: int) -> None:
        try:
            server = await asyncio.start_server(
                lambda reader, writer: self._serve(key, reader, writer), None, port, limit=HEAD_BYTES
            )
        except OSError as error:
            if self._failed.get(key) != port:
                self._failed[key] = port
                self._report(key, port, error)
            return
        self._failed.pop(key, None)
        self._servers[key] = (port, server)

    def _report(self, key: Key, port: int, error: OSError) -> None:
        text = f'node {self._node} failed to start healthcheck "{key}" on port {port}: {error}'
        service = ObjectReference(
            api_version="v1", kind="Service", namespace=key.namespace, name=key.name, uid=str(key)
        )
        self._recorder.event(service, "Warning", "FailedToStartServiceHealthcheck", text)
        logger.warning(text)

    async def _serve(self, key: Key, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def answered(_method: str, _path: str) -> bytes:
            check = self._checks.get(key)
            return answer(key, check.endpoints if check else 0, self._is_healthy())

        await serve_one(reader, writer, answered)

    def close(self) -> None:
        for _, server in self._servers.values():
            server.close()
        self._servers.clear()
