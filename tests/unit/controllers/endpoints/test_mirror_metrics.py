"""Metrics of the mirroring of Endpoints. Cases of upstream's ``reconciler_test.go`` and ``cache_test.go``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from podling import clock
from podling.api.core_v1 import EndpointPort, EndpointSubset
from podling.client.base import Key
from podling.controllers.endpoints.mirror_metrics import MirrorMetrics
from podling.controllers.endpoints.mirror_rules import desired
from podling.testing import ControlPlane
from tests.support.counts import samples
from tests.unit.controllers.endpoints.test_mirror_rules import (
    ADMIN,
    HTTP,
    endpoints,
    mirrored,
    stored,
    subset,
)

WEB = Key("default", "web")


class Collected:
    """The metrics as a collector."""

    def __init__(self, metrics: MirrorMetrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Any]:
        return self._metrics.families()


def read(metrics: MirrorMetrics, name: str) -> dict[tuple[str, ...], float]:
    return samples([Collected(metrics)], f"endpoint_slice_mirroring_controller_{name}")


def many(count: int, *ports: EndpointPort) -> EndpointSubset:
    return subset(*(f"10.0.{index // 250}.{index % 250 + 1}" for index in range(count)), ports=ports)


@pytest.mark.parametrize(
    ("before", "after", "added", "updated", "removed", "skipped"),
    [
        ([], [], 0, 0, 0, 0),
        ([], [subset("10.0.0.1", waiting=("10.0.0.2",))], 2, 0, 0, 0),
        ([subset("10.0.0.1")], [subset("10.0.0.1")], 0, 0, 0, 0),
        ([subset("10.0.0.1", "10.0.0.2")], [subset("10.0.0.1", waiting=("10.0.0.2",))], 0, 1, 0, 0),
        ([subset("10.0.0.1", "10.0.0.2")], [subset("10.0.0.3")], 1, 0, 2, 0),
        ([subset("10.0.0.1")], [subset("10.0.0.1", ports=(ADMIN,))], 1, 0, 0, 0),
        ([], [subset("10.0.0.1"), subset("10.0.0.2", "fd00::1", ports=(ADMIN,))], 3, 0, 0, 0),
        ([], [many(1004, HTTP)], 1000, 0, 0, 4),
    ],
)
def test_endpoints_of_a_look_are_counted(
    before: list[EndpointSubset],
    after: list[EndpointSubset],
    added: int,
    updated: int,
    removed: int,
    skipped: int,
) -> None:
    metrics = MirrorMetrics()
    wanted, left_out = desired(endpoints(*after))
    metrics.record_fill(WEB, stored(endpoints(*before)), wanted, left_out)
    names = ("endpoints_added", "endpoints_updated", "endpoints_removed", "addresses_skipped")
    found = [read(metrics, f"{name}_per_sync_sum")[()] for name in names]
    assert found == [added, updated, removed, skipped]


def fill(metrics: MirrorMetrics) -> list[float]:
    names = ("endpoints_desired", "num_endpoint_slices", "desired_endpoint_slices")
    return [read(metrics, name)[()] for name in names]


def test_fill_of_slices_is_summed_over_endpoints() -> None:
    metrics = MirrorMetrics()
    metrics.record_fill(WEB, [], desired(endpoints(subset("10.0.0.1", "fd00::1")))[0], 0)
    assert fill(metrics) == [2, 2, 2]
    other = desired(endpoints(many(900, HTTP), many(1000, ADMIN)))[0]
    metrics.record_fill(Key("default", "other"), [], other, 0)
    assert fill(metrics) == [1902, 4, 4]
    metrics.forget(WEB)
    assert fill(metrics) == [1900, 2, 2]


def test_changes_are_counted_by_operation() -> None:
    metrics = MirrorMetrics()
    metrics.record_written(mirrored(endpoints(subset("10.0.0.1", "fd00::1"))))
    assert read(metrics, "changes") == {("create",): 2, ("update",): 0, ("delete",): 0}


async def test_looks_are_timed(cluster: ControlPlane) -> None:
    metrics = MirrorMetrics()
    with metrics.sync():
        await clock.sleep(2)
    assert read(metrics, "endpoints_sync_duration_count") == {(): 1}
    assert read(metrics, "endpoints_sync_duration_sum")[()] == pytest.approx(2)
