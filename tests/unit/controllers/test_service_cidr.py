"""A ServiceCIDR whose readiness cannot be written says so in an event."""

from __future__ import annotations

from typing import Any

from podling.api.meta_v1 import ObjectMeta
from podling.api.networking_v1 import ServiceCIDR, ServiceCIDRSpec
from podling.client.base import Client
from podling.controllers.service_cidr import NOT_READY, ServiceCIDRController
from podling.machinery.errors import internal
from podling.testing import ControlPlane
from tests.support.control_loops import running, told


class WritesNoStatus:
    """A client whose writes of statuses fail."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def update(self, obj: Any, *, subresource: str = "", **options: Any) -> Any:
        if subresource == "status":
            raise internal("the disk is full")
        return await self._client.update(obj, subresource=subresource, **options)


async def test_failure_to_write_readiness_is_reported(cluster: ControlPlane) -> None:
    client: Any = WritesNoStatus(cluster.client)
    async with running(client, ServiceCIDRController):
        spec = ServiceCIDRSpec(cidrs=("192.168.0.0/24",))
        await cluster.client.create(ServiceCIDR(metadata=ObjectMeta(name="more"), spec=spec))
        await cluster.advance(seconds=1)
    assert f"Warning KubernetesServiceCIDRError more: {NOT_READY}" in await told(cluster.client)
