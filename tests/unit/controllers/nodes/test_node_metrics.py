"""Metrics of zones: sizes, health, and zones whose nodes have all gone."""

from __future__ import annotations

import pytest

from podling.controllers.nodes.node_metrics import NodeMetrics
from tests.support.counts import samples


@pytest.mark.parametrize(
    ("ready", "size", "unhealthy", "health"),
    [([True], 1, 0, 100), ([False], 1, 1, 0), ([True, False, False, True], 4, 2, 50), ([], 0, 0, 100)],
)
def test_zone_is_shown_with_its_size_and_health(
    ready: list[bool], size: int, unhealthy: int, health: float
) -> None:
    metrics = NodeMetrics()
    metrics.see({"a": ready}, 0.5)
    read = {
        name: samples([metrics], f"node_collector_{name}")[("a",)]
        for name in ("zone_size", "unhealthy_nodes_in_zone", "zone_health")
    }
    assert read == {"zone_size": size, "unhealthy_nodes_in_zone": unhealthy, "zone_health": health}
    assert samples([metrics], "node_collector_update_all_nodes_health_duration_seconds_sum")[()] == 0.5


def test_zone_without_nodes_is_shown_empty() -> None:
    metrics = NodeMetrics()
    metrics.see({"a": [True], "b": [False]}, 0)
    metrics.see({"a": [True]}, 0)
    assert samples([metrics], "node_collector_zone_size") == {("a",): 1, ("b",): 0}
    assert samples([metrics], "node_collector_zone_health") == {("a",): 100, ("b",): 100}
