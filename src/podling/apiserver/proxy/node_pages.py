"""Pages that the API server itself reads from kubelets."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from podling.api.core_v1 import Node
from podling.apiserver.proxy.streams import NodeConnector, refusal
from podling.machinery import errors

RESOURCE_METRICS = "/metrics/resource"
PAGE_BYTES_MAX = 32 * 1024 * 1024
"""More is refused: a kubelet cannot fill the memory of the API server."""


def resource_metrics_of(connector: NodeConnector) -> Callable[[Node], Awaitable[str]]:
    """Return a function that reads a kubelet's ``/metrics/resource``. It raises ``ApiError``."""

    async def read(node: Node) -> str:
        body = await connector.request(node, "GET", RESOURCE_METRICS, "", b"")
        if body.status >= 400:
            raise await refusal(body)
        parts, size = [], 0
        try:
            async for chunk in body.chunks():
                size += len(chunk)
                if size > PAGE_BYTES_MAX:
                    raise errors.internal(f"the page of node {node.metadata.name} is too large")
                parts.append(chunk)
        finally:
            await body.close()
        return b"".join(parts).decode(errors="replace")

    return read
