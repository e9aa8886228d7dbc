"""The way to Services on a node whose pods have the machine's own network (runtime ``process``)."""

from __future__ import annotations

from functools import partial
from operator import eq

from podling.api.core_v1 import Service
from podling.api.discovery_v1 import EndpointSlice
from podling.client.base import Client
from podling.client.events import EventRecorder
from podling.client.informer_factory import InformerFactory
from podling.client.transforms import without_managed_fields
from podling.network.loopback.added_addresses import AddedAddresses
from podling.network.loopback.loopback_proxy import LoopbackProxy
from podling.network.policy.unenforced import report_policies
from podling.network.services.endpoint_slices import slice_record
from podling.node.runtimes import NodePlan
from podling.supervisor import Supervisor


class LoopbackNetworking:
    """The listeners for Services of one node, started and stopped as a whole.

    ``addresses`` are the Services' own; None where they cannot be added to this machine.
    """

    def __init__(
        self, plan: NodePlan, client: Client, recorder: EventRecorder, addresses: AddedAddresses | None
    ) -> None:
        self._plan = plan
        self._informers = InformerFactory(
            client, {Service: without_managed_fields, EndpointSlice: slice_record}
        )
        is_own = partial(eq, plan.address)
        self._proxy = LoopbackProxy(plan.name, self._informers, recorder, addresses, is_own)
        report_policies(self._informers, plan.name, recorder)
        self._running = Supervisor()

    def start(self) -> None:
        self._running.keep_running("network/informers", self._informers.run, self._plan.name)
        self._running.keep_running("network/loopback", self._proxy.run, self._plan.name)

    async def close(self) -> None:
        await self._running.close()
