"""Metrics of the node lifecycle controller, under Kubernetes' names.

Source: ``pkg/controller/nodelifecycle/metrics.go``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from podling.machinery.histograms import Histogram, counters, gauges, histograms

NODE_SECONDS = tuple(0.001 * 4**power for power in range(8))
ALL_NODES_SECONDS = tuple(0.01 * 4**power for power in range(8))


class NodeMetrics:
    """Counts tainted nodes and the nodes of zones, and times the looks at them."""

    def __init__(self) -> None:
        self.evictions: Counter[tuple[str]] = Counter()
        """The nodes that were tainted NoExecute, by zone."""
        self.node_seconds = Histogram(NODE_SECONDS)
        self._all_seconds = Histogram(ALL_NODES_SECONDS)
        self._sizes: dict[tuple[str], float] = {}
        self._unhealthy: dict[tuple[str], float] = {}

    def see(self, zones: Mapping[str, Sequence[bool]], seconds: float) -> None:
        """Take in which nodes of each zone are ready, after a look at all of them.

        A zone that has no nodes any more is shown with none.
        """
        self._all_seconds.observe(seconds)
        present = {(zone,): ready for zone, ready in zones.items()}
        for zone in {*self._sizes, *present}:
            ready = present.get(zone, ())
            self._sizes[zone] = len(ready)
            self._unhealthy[zone] = list(ready).count(False)

    def collect(self) -> Iterator[Any]:
        """Return the families of ``prometheus_client``."""
        label = ("zone",)
        health = {
            zone: 100 * (size - self._unhealthy[zone]) / size if size else 100.0
            for zone, size in self._sizes.items()
        }
        for name, text, found in (
            ("zone_health", "Gauge measuring percentage of healthy nodes per zone.", health),
            ("zone_size", "Gauge measuring number of registered Nodes per zones.", self._sizes),
            (
                "unhealthy_nodes_in_zone",
                "Gauge measuring number of not Ready Nodes per zones.",
                self._unhealthy,
            ),
        ):
            yield gauges(f"node_collector_{name}", f"[ALPHA] {text}", label, found)
        yield counters(
            "node_collector_evictions",
            "[STABLE] Number of Node evictions that happened since current instance of NodeController "
            "started.",
            label,
            self.evictions,
        )
        for name, text, histogram in (
            ("node", "the health of a single node", self.node_seconds),
            ("all_nodes", "the health of all nodes", self._all_seconds),
        ):
            yield histograms(
                f"node_collector_update_{name}_health_duration_seconds",
                f"[ALPHA] Duration in seconds for NodeController to update {text}.",
                (),
                {(): histogram},
            )
