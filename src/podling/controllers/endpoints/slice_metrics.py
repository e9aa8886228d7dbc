"""Metrics of the EndpointSlice controller, under Kubernetes' names.

Source: ``k8s.io/endpointslice/metrics``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from podling.api.core_v1 import Service
from podling.client.base import Key
from podling.controllers.endpoints.slice_rules import ENDPOINTS_MAX, Changes, Desired
from podling.controllers.endpoints.traffic_hints import distribution_of, is_topology_aware
from podling.machinery.histograms import Histogram, gauges, histograms, untyped

_PREFIX = "endpoint_slice_controller"
ENDPOINTS = tuple(2.0**power for power in range(1, 16))
SLICES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
"""The default buckets of Prometheus, which Kubernetes leaves as they are."""

_Totals = tuple[int, int, int]
"""The numbers of endpoints, of slices, and of slices that would do."""


class SliceMetrics:
    """Counts looks at Services, the changes of their slices, and how full these are."""

    def __init__(self) -> None:
        self._syncs: Counter[tuple[str]] = Counter()
        self._changes: Counter[tuple[str]] = Counter()
        self._added, self._removed = Histogram(ENDPOINTS), Histogram(ENDPOINTS)
        self._changed: dict[tuple[str, str], Histogram] = {}
        self._totals: dict[Key, dict[str, _Totals]] = {}  # by service and address type
        self._distributions: dict[Key, str] = {}

    def record_sync(self, result: str) -> None:
        """Count a look at a Service that ended with ``success``, ``error`` or ``stale``."""
        self._syncs[result,] += 1

    def record_written(self, service: Service, changes: Changes) -> None:
        """Count the changes of the slices of one address type after they were written."""
        for operation, slices in operations(changes).items():
            self._changes[operation,] += len(slices)
        self._added.observe(changes.added)
        self._removed.observe(changes.removed)
        labels = "Auto" if is_topology_aware(service) else "Disabled", distribution_of(service) or ""
        number = sum(map(len, operations(changes).values()))
        self._changed.setdefault(labels, Histogram(SLICES)).observe(number)

    def record_fill(self, key: Key, service: Service, type_: str, wanted: Desired, changes: Changes) -> None:
        """Take in how many endpoints and slices of one address type a Service has now."""
        endpoints = sum(map(len, wanted.values()))
        slices = len(changes.create) + len(changes.update) + len(changes.unchanged)
        least = sum(-(-len(each) // ENDPOINTS_MAX) for each in wanted.values())
        self._totals.setdefault(key, {})[type_] = (endpoints, slices, max(1, least))
        distribution = distribution_of(service)
        if distribution is None:
            self._distributions.pop(key, None)
        else:
            known = distribution == "PreferClose"
            self._distributions[key] = distribution if known else "ImplementationSpecific"

    def forget(self, key: Key) -> None:
        """Forget a Service that is gone."""
        self._totals.pop(key, None)
        self._distributions.pop(key, None)

    def families(self) -> Iterator[Any]:
        """Yield families of ``prometheus_client``."""
        every = [each for types in self._totals.values() for each in types.values()]
        for index, name, text in (
            (0, "endpoints_desired", "Number of endpoints desired"),
            (1, "num_endpoint_slices", "Number of EndpointSlices"),
            (
                2,
                "desired_endpoint_slices",
                "Number of EndpointSlices that would exist with perfect endpoint allocation",
            ),
        ):
            total = float(sum(each[index] for each in every))
            yield gauges(f"{_PREFIX}_{name}", f"[ALPHA] {text}", (), {(): total})
        yield gauges(
            f"{_PREFIX}_services_count_by_traffic_distribution",
            "[ALPHA] Number of Services using some specific trafficDistribution",
            ("traffic_distribution",),
            {(name,): float(count) for name, count in Counter(self._distributions.values()).items()},
        )
        for name, label, found in (("changes", "operation", self._changes), ("syncs", "result", self._syncs)):
            yield untyped(f"{_PREFIX}_{name}", f"[ALPHA] Number of EndpointSlice {name}", (label,), found)
        for name, histogram in (("added", self._added), ("removed", self._removed)):
            text = f"[ALPHA] Number of endpoints {name} on each Service sync"
            yield histograms(f"{_PREFIX}_endpoints_{name}_per_sync", text, (), {(): histogram})
        yield histograms(
            f"{_PREFIX}_endpointslices_changed_per_sync",
            "[ALPHA] Number of EndpointSlices changed on each Service sync",
            ("topology", "traffic_distribution"),
            self._changed,
        )


def operations(changes: Changes) -> dict[str, Sequence[Any]]:
    return {"create": changes.create, "update": changes.update, "delete": changes.delete}
