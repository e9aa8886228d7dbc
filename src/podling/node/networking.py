"""The loops around the pods' network of one node: they carry what the API says into the machine's kernel.

Each loop is a component of ``podling.network`` with ``run``, under supervision: its failure ends nothing
else, and it is started again. The informers that several of them read exist once, in ``informers``.

What they set up in the kernel stays when the node's process ends, for the pods that run on; ``podling down``
removes it.

Only nodes whose pods have a network of their own (runtime ``oci``) have these loops.
"""

from __future__ import annotations

from typing import Any

from msgspec import structs

from podling.api.core_v1 import Node, Service
from podling.client.base import Client
from podling.client.events import EventRecorder
from podling.client.informer_factory import InformerFactory
from podling.network.pod_network import BridgeNetwork
from podling.node.runtimes import NodePlan
from podling.supervisor import Supervisor, Work


class NodeNetworking:
    """The networking of one node, started and stopped as a whole."""

    def __init__(
        self, plan: NodePlan, client: Client, network: BridgeNetwork, recorder: EventRecorder
    ) -> None:
        self._plan = plan
        self._client = client
        self._network = network
        self._recorder = recorder
        self.informers = InformerFactory(client, {Node: without_managers, Service: without_managers})
        self._running = Supervisor()

    def start(self) -> None:
        """Start every loop. None of them delays the node: each waits for what it reads."""
        loops: dict[str, Work] = {"informers": self.informers.run}
        for name, work in loops.items():
            self._running.keep_running(f"network/{name}", work, self._plan.name)

    async def close(self) -> None:
        await self._running.close()


def without_managers(obj: Any) -> Any:
    """Return ``obj`` without ``managedFields``, often its largest part, which nothing here reads."""
    return structs.replace(obj, metadata=structs.replace(obj.metadata, managed_fields=()))
