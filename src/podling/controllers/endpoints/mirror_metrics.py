"""Metrics of the mirroring of Endpoints, under Kubernetes' names.

Source: ``pkg/controller/endpointslicemirroring/metrics``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from podling import clock
from podling.api.discovery_v1 import EndpointSlice
from podling.client.base import Key
from podling.controllers.endpoints.mirror_rules import ADDRESSES_MAX, Desired
from podling.controllers.endpoints.slice_metrics import ENDPOINTS, operations
from podling.controllers.endpoints.slice_rules import Changes, identity, is_same, ports_key
from podling.machinery.histograms import Histogram, gauges, histograms, untyped

_PREFIX = "endpoint_slice_mirroring_controller"
_SECONDS = tuple(0.001 * 2**power for power in range(15))
_COUNTED = {
    "endpoints_added": "Number of endpoints added",
    "endpoints_updated": "Number of endpoints updated",
    "endpoints_removed": "Number of endpoints removed",
    "addresses_skipped": "Number of addresses skipped",
}
_EXISTING = {
    "endpoints_desired": "Number of endpoints desired",
    "num_endpoint_slices": "Number of EndpointSlices",
    "desired_endpoint_slices": "Number of EndpointSlices that would exist with perfect endpoint allocation",
}


class MirrorMetrics:
    """Counts looks at Endpoints, the changes of their slices, and how full these are."""

    def __init__(self) -> None:
        self._changes: Counter[tuple[str]] = Counter()
        self._counted = {name: Histogram(ENDPOINTS) for name in _COUNTED}
        self._durations = Histogram(_SECONDS)
        self._totals: dict[Key, tuple[int, int, int]] = {}  # in the order of _EXISTING

    @contextmanager
    def sync(self) -> Iterator[None]:
        """Record how long a look at an Endpoints object takes."""
        start = clock.monotonic()
        try:
            yield
        finally:
            self._durations.observe(clock.monotonic() - start)

    def record_fill(self, key: Key, slices: Iterable[EndpointSlice], wanted: Desired, skipped: int) -> None:
        """Take in what an Endpoints object wants, and which ``slices`` it has before the changes."""
        for name, number in zip(_COUNTED, (*_differences(slices, wanted), skipped), strict=True):
            self._counted[name].observe(number)
        endpoints = sum(map(len, wanted.values()))
        least = sum(-(-len(each) // ADDRESSES_MAX) for each in wanted.values())
        self._totals[key] = endpoints, len(wanted), least

    def record_written(self, changes: Changes) -> None:
        """Count the changes of slices after they were written."""
        for operation, slices in operations(changes).items():
            self._changes[operation,] += len(slices)

    def forget(self, key: Key) -> None:
        """Forget an Endpoints object that is not mirrored any more."""
        self._totals.pop(key, None)

    def families(self) -> Iterator[Any]:
        """Yield families of ``prometheus_client``."""
        for index, (name, text) in enumerate(_EXISTING.items()):
            total = float(sum(each[index] for each in self._totals.values()))
            yield gauges(f"{_PREFIX}_{name}", f"[ALPHA] {text}", (), {(): total})
        for name, text in _COUNTED.items():
            full = f"[ALPHA] {text} on each Endpoints sync"
            yield histograms(f"{_PREFIX}_{name}_per_sync", full, (), {(): self._counted[name]})
        yield histograms(
            f"{_PREFIX}_endpoints_sync_duration",
            "[ALPHA] Duration of syncEndpoints() in seconds",
            (),
            {(): self._durations},
        )
        text = "[ALPHA] Number of EndpointSlice changes"
        yield untyped(f"{_PREFIX}_changes", text, ("operation",), self._changes)


def _differences(slices: Iterable[EndpointSlice], wanted: Desired) -> tuple[int, int, int]:
    """Return how many endpoints the first slice of each group lacks, has otherwise and has too many."""
    first = {(each.address_type, ports_key(each.ports)): each for each in reversed([*slices])}
    added = updated = removed = 0
    for group, endpoints in wanted.items():
        present = first[group].endpoints if group in first else ()
        held = {identity(each): each for each in present}
        added += len(endpoints.keys() - held.keys())
        removed += len(held.keys() - endpoints.keys())
        updated += sum(not is_same(held[name], endpoints[name]) for name in held.keys() & endpoints.keys())
    return added, updated, removed
