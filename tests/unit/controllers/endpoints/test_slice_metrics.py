"""Metrics of the EndpointSlice controller. Cases of upstream's ``endpointslice/metrics/cache_test.go``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from podling.api.discovery_v1 import Endpoint, EndpointPort, EndpointSlice
from podling.client.base import Key
from podling.controllers.endpoints.slice_metrics import SliceMetrics
from podling.controllers.endpoints.slice_rules import Changes, Desired, Identity
from tests.support.counts import samples
from tests.unit.controllers.endpoints.services import service


class Collected:
    """The metrics as a collector."""

    def __init__(self, metrics: SliceMetrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Any]:
        return self._metrics.families()


def read(metrics: SliceMetrics, name: str) -> dict[tuple[str, ...], float]:
    return samples([Collected(metrics)], f"endpoint_slice_controller_{name}")


def wanted(*numbers: int) -> Desired:
    """Return so many endpoints under one port each."""
    found: dict[tuple[EndpointPort, ...], dict[Identity, Endpoint]] = {}
    for port, number in enumerate(numbers, 1):
        names = [((f"10.0.{port}.{index}",), "", "", str(index)) for index in range(number)]
        found[EndpointPort(port=port),] = {name: Endpoint(addresses=name[0]) for name in names}
    return found


def slices(number: int) -> list[EndpointSlice]:
    return [EndpointSlice(address_type="IPv4") for _ in range(number)]


def gauges(metrics: SliceMetrics) -> list[float]:
    """Return the numbers of endpoints, of slices, and of slices that would do."""
    names = ("endpoints_desired", "num_endpoint_slices", "desired_endpoint_slices")
    return [read(metrics, name)[()] for name in names]


def test_fill_of_slices_is_summed_over_services_families_and_ports() -> None:
    metrics = SliceMetrics()
    assert gauges(metrics) == [0, 0, 0]
    one, other = Key("ns", "one"), Key("ns", "other")
    metrics.record_fill(one, service(), "IPv4", wanted(45, 5), Changes(unchanged=slices(4)))
    assert gauges(metrics) == [50, 4, 2]
    metrics.record_fill(other, service(), "IPv4", wanted(150), Changes(create=slices(2)))
    metrics.record_fill(other, service(), "IPv6", {}, Changes(create=slices(1)))
    assert gauges(metrics) == [200, 7, 5]
    metrics.record_fill(one, service(), "IPv4", wanted(10), Changes(update=slices(1), delete=slices(3)))
    assert gauges(metrics) == [160, 4, 4]
    metrics.forget(other)
    assert gauges(metrics) == [10, 1, 1]


@pytest.mark.parametrize(
    ("distribution", "label"),
    [
        (None, None),
        ("PreferClose", "PreferClose"),
        ("PreferSameZone", "ImplementationSpecific"),
        ("PreferSameNode", "ImplementationSpecific"),
    ],
)
def test_services_are_counted_by_their_distribution(distribution: str | None, label: str | None) -> None:
    metrics = SliceMetrics()
    subject = service(traffic_distribution=distribution)
    for name in ("one", "other"):
        metrics.record_fill(Key("ns", name), subject, "IPv4", {}, Changes())
    found = read(metrics, "services_count_by_traffic_distribution")
    assert found == ({} if label is None else {(label,): 2})
    metrics.record_fill(Key("ns", "one"), service(), "IPv4", {}, Changes())
    metrics.forget(Key("ns", "other"))
    assert read(metrics, "services_count_by_traffic_distribution") == {}


def test_changes_are_counted_by_operation() -> None:
    metrics = SliceMetrics()
    changes = Changes(slices(1), slices(2), slices(3), added=5, removed=7)
    metrics.record_written(service(traffic_distribution="PreferClose"), changes)
    metrics.record_sync("success")
    metrics.record_sync("error")
    assert read(metrics, "changes") == {("create",): 1, ("update",): 2, ("delete",): 3}
    assert read(metrics, "syncs") == {("success",): 1, ("error",): 1}
    assert read(metrics, "endpoints_added_per_sync_sum") == {(): 5}
    assert read(metrics, "endpoints_removed_per_sync_sum") == {(): 7}
    assert read(metrics, "endpointslices_changed_per_sync_sum") == {("Disabled", "PreferClose"): 6}
