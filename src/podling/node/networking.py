"""The loops around the pods' network of one node: they carry what the API says into the machine's kernel.

Each loop is a component of ``podling.network`` with ``run``, under supervision: its failure ends nothing
else, and it is started again. The informers that several of them read exist once, in ``informers``.

What they set up in the kernel stays when the node's process ends, for the pods that run on; ``podling down``
removes it.

Only nodes whose pods have a network of their own (runtime ``oci``) have these loops.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from podling.api.core_v1 import Node, ObjectReference, Service
from podling.api.discovery_v1 import EndpointSlice
from podling.client.base import Client
from podling.client.events import EventRecorder
from podling.client.informer import Transform
from podling.client.informer_factory import InformerFactory
from podling.client.transforms import without_managed_fields
from podling.network.blocks import Blocks
from podling.network.foreign_firewalls import ForeignRules
from podling.network.names import Names
from podling.network.node_blocks import NodeBlocks
from podling.network.overlay.node_condition import NetworkCondition
from podling.network.overlay.overlay import Overlay, OverlaySettings
from podling.network.pod_network import BridgeNetwork
from podling.network.policy.enforcement import NetworkPolicies
from podling.network.policy.kernel import PolicyTable
from podling.network.services.base_rules import service_table
from podling.network.services.endpoint_slices import slice_record
from podling.network.services.service_proxy import ProxySettings, ServiceProxy
from podling.node.node_dns import NodeDns
from podling.node.runtimes import NodePlan
from podling.supervisor import Supervisor, Work


class NodeNetworking:
    """The networking of one node, started and stopped as a whole.

    ``blocks_used`` is called with the blocks of pod addresses that the node was assigned.
    """

    def __init__(
        self,
        plan: NodePlan,
        client: Client,
        network: BridgeNetwork,
        recorder: EventRecorder,
        blocks_used: Callable[[Blocks], object],
    ) -> None:
        self._plan = plan
        self._client = client
        self._network = network
        self._recorder = recorder
        transforms: dict[type[Any], Transform[Any]] = {
            Node: without_managed_fields,
            Service: without_managed_fields,
            EndpointSlice: slice_record,
        }
        self.informers = InformerFactory(client, transforms)
        self._services = self._service_proxy()

        def used(blocks: Blocks) -> None:
            blocks_used(blocks)
            self._services.look_again()

        self._blocks = NodeBlocks(plan.name, self.informers.informer(Node), network, used)
        self._policies = self._network_policies()
        network.gate = self._policies
        self._dns = NodeDns(plan, client, network, self.informers, self.report)
        network.on_repair = partial(self.report, "PodNetworkRepaired")
        self._running = Supervisor()

    def _network_policies(self) -> NetworkPolicies:
        table = PolicyTable(f"{Names.of(self._plan.identity).table}_policy")
        return NetworkPolicies(self._plan.name, self._client, self._network, table, self.report)

    def report(self, reason: str, message: str) -> None:
        """Record a warning about the node. Events of a node have its name for its UID, as the kubelet's."""
        name = self._plan.name
        about = ObjectReference(api_version="v1", kind="Node", name=name, uid=name)
        self._recorder.event(about, "Warning", reason, message)

    def start(self) -> None:
        """Start every loop. None of them delays the node: each waits for what it reads."""
        loops: dict[str, Work] = {
            "informers": self.informers.run,
            "blocks": self._blocks.run,
            "overlay": self._overlay().run,
            "services": self._services.run,
            "services-status": self._services.status.run,
            "policies": self._policies.run,
            "dns": self._dns.server.run,
            "dns-place": self._dns.announce,
            "dns-limits": self._dns.limits.run,
            "foreign-rules": ForeignRules(Names.of(self._plan.identity).bridge, self.report).run,
        }
        for name, work in loops.items():
            self._running.keep_running(f"network/{name}", work, self._plan.name)

    def _overlay(self) -> Overlay:
        settings = OverlaySettings(
            node=self._plan.name,
            cluster_id=self._plan.cluster_id,
            table=Names.of(self._plan.identity).table,
            mode=self._plan.network,
            needs_block=self._plan.assigns_blocks,
        )
        condition = NetworkCondition(self._client)
        nodes = self.informers.informer(Node)
        return Overlay(settings, nodes, self._network, condition, self._recorder)

    def _service_proxy(self) -> ServiceProxy:
        names = Names.of(self._plan.identity)
        settings = ProxySettings(self._plan.name, service_table(names), names.bridge, self._plan.guards_api)
        return ServiceProxy(self.informers, settings, self._subnets, self._recorder)

    def _subnets(self) -> dict[str, str]:
        """Return the addresses of the node's pods by family, as nftables calls them."""
        blocks = self._network.blocks
        found = {"ip": str(blocks.ipv4)}
        return {**found, "ip6": str(blocks.ipv6)} if blocks.ipv6 is not None else found

    async def close(self) -> None:
        await self._running.close()
