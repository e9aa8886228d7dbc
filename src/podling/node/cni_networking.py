"""The way to Services on a node whose pods have the network of CNI plugins: the proxy, as kube-proxy's.

The packets between nodes, NetworkPolicies and cluster DNS are the matter of the plugins and of what is
installed with them.
"""

from __future__ import annotations

import logging
from pathlib import Path

from podling.api.core_v1 import Node, Service
from podling.api.discovery_v1 import EndpointSlice
from podling.client.base import Client
from podling.client.events import EventRecorder
from podling.client.informer_factory import InformerFactory
from podling.client.transforms import without_managed_fields
from podling.network.names import Names
from podling.network.services.base_rules import service_table
from podling.network.services.endpoint_slices import slice_record
from podling.network.services.service_proxy import ProxySettings, ServiceProxy
from podling.node.runtimes import NodePlan
from podling.supervisor import Supervisor

logger = logging.getLogger(__name__)

BRIDGED = Path("/proc/sys/net/bridge/bridge-nf-call-iptables")
"""The setting with which the kernel translates packets between two ports of a bridge, too."""


class CniNetworking:
    """The service proxy of one node, started and stopped as a whole."""

    def __init__(self, plan: NodePlan, client: Client, recorder: EventRecorder) -> None:
        self._plan = plan
        self._informers = InformerFactory(
            client,
            {
                Node: without_managed_fields,
                Service: without_managed_fields,
                EndpointSlice: slice_record,
            },
        )
        names = Names.of(plan.identity)
        # The API server is not guarded: the interfaces of the pods, which need it, are the plugins'.
        settings = ProxySettings(plan.name, service_table(names), names.bridge, detects_local=False)
        self._services = ServiceProxy(self._informers, settings, dict, recorder)
        self._running = Supervisor()

    def start(self) -> None:
        if not is_bridged_traffic_translated():
            logger.warning(
                "Missing br-netfilter module or unset sysctl br-nf-call-iptables, "
                "proxy may not work as intended"
            )
        for name, work in (
            ("informers", self._informers.run),
            ("services", self._services.run),
            ("services-status", self._services.status.run),
        ):
            self._running.keep_running(f"network/{name}", work, self._plan.name)

    async def close(self) -> None:
        await self._running.close()


def is_bridged_traffic_translated() -> bool:
    """Return whether pods on one bridge reach each other by a Service: answers pass no routing there."""
    try:
        return BRIDGED.read_text().strip() == "1"
    except OSError:
        return False
