"""The pages of simulated kubelets, for the resource metrics API beside an API server in memory."""

from __future__ import annotations

from podling.api.core_v1 import Node
from podling.kubelet.server.machine_use import MachineMeter
from podling.kubelet.server.server_metrics import resource_metrics_text
from podling.kubelet.server.snapshot import take_snapshot
from podling.machinery import errors
from tests.support.kubelet_node import SimNode


class KubeletPages:
    """Reads the kubelets of simulated nodes as the API server reads kubelets; ``reads`` counts them."""

    def __init__(self, *nodes: SimNode) -> None:
        self._nodes = {each.deps.node_name: (each, MachineMeter()) for each in nodes}
        self.reads = 0
        self.down: set[str] = set()
        """Names of nodes whose kubelets do not answer."""

    async def read(self, node: Node) -> str:
        self.reads += 1
        name = node.metadata.name or ""
        if name in self.down or name not in self._nodes:
            raise errors.internal("error dialing backend: connection refused")
        found, meter = self._nodes[name]
        snapshot = await take_snapshot(found.kubelet.pod_view)
        return resource_metrics_text(snapshot, await meter.read(found.runtime, snapshot))
