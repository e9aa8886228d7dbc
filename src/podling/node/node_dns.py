"""Cluster DNS of one node, wired: what it serves, and how the cluster learns where.

The node states the place of its DNS server in an annotation of its own Node. A controller
(``podling.controllers.endpoints.cluster_dns``) makes the Service and the EndpointSlices from it, so no node
has the right to write those.
"""

from __future__ import annotations

import asyncio
import logging

import msgspec

from podling import clock
from podling.api.core_v1 import Node
from podling.client.base import Client, Key, Unreachable
from podling.client.informer_factory import InformerFactory
from podling.machinery.cluster_dns import ANNOTATION, DOMAIN, DnsPlace
from podling.machinery.errors import ApiError
from podling.network.dns.cluster_dns import ClusterDns, DnsPlan, Notify
from podling.network.dns.listening import Listening
from podling.network.dns.messages import DATAGRAMS, STATUS
from podling.network.dns.question_limits import QuestionLimits
from podling.network.dns.record_feed import RecordFeed
from podling.network.names import Names
from podling.network.pod_network import BridgeNetwork
from podling.node.resolv_conf import resolv_conf_path
from podling.node.runtimes import NodePlan

logger = logging.getLogger(__name__)

RETRY_SECONDS = 1.0


class NodeDns:
    """The loops of cluster DNS on one node."""

    def __init__(
        self,
        plan: NodePlan,
        client: Client,
        network: BridgeNetwork,
        informers: InformerFactory,
        report: Notify,
    ) -> None:
        self._plan, self._client, self._network = plan, client, network
        self._nodes = informers.informer(Node)
        self._nodes.add_handler(self._node_changed, lambda old, new: self._node_changed(new))
        self._place = ""
        self._wake = asyncio.Event()
        feed = RecordFeed(client, informers)
        self.limits = QuestionLimits(f"{Names.of(plan.identity).table}_dns", report)
        self.server = ClusterDns(
            self._dns_plan,
            self._ips,
            client,
            feed,
            self.announce_place,
            report,
            lambda: self.limits.dropped,
        )

    def _ips(self) -> tuple[str, ...]:
        blocks = self._network.blocks
        return tuple(str(ip) for ip in (blocks.gateway, blocks.gateway6) if ip is not None)

    def _dns_plan(self) -> DnsPlan:
        """Return what the DNS process serves. Raises ``RuntimeFailure`` before the pod network is there."""
        blocks = self._network.blocks
        return DnsPlan(
            directory=self._plan.dns_state,
            domain=DOMAIN,
            ips=self._ips(),
            networks=tuple(str(block) for block in (blocks.ipv4, blocks.ipv6) if block is not None),
            resolv_conf=str(resolv_conf_path()),
        )

    # ---- the place of the server

    def announce_place(self, listening: Listening) -> None:
        """State the place of a server that runs now, and limit what one client may send there."""
        self.limits.follow(listening.endpoints)
        place = DnsPlace(listening.ips, listening.port(DATAGRAMS), listening.port(STATUS))
        self._place = msgspec.json.encode(place).decode()
        self._wake.set()

    def _node_changed(self, node: Node) -> None:
        if node.metadata.name == self._plan.name:
            self._wake.set()

    async def announce(self) -> None:
        """Keep the annotation of the Node as it should be, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            node = self._nodes.get(Key("", self._plan.name))
            if node is None or not self._place or node.metadata.annotations.get(ANNOTATION) == self._place:
                continue
            patch = {"metadata": {"annotations": {ANNOTATION: self._place}}}
            try:
                await self._client.patch(Node, self._plan.name, patch)
            except (ApiError, Unreachable) as error:
                logger.info("the place of cluster DNS cannot be written: %s", error)
                await clock.sleep(RETRY_SECONDS)
                self._wake.set()
