"""Gauges of the stateful sets that state ``maxUnavailable``."""

from __future__ import annotations

import pytest

from podling.api.apps_v1 import StatefulSet
from podling.controllers.workloads.statefulset import StatefulSetController
from podling.testing import ControlPlane
from tests.support.control_loops import make_ready, running, set_phase
from tests.support.counts import samples
from tests.support.workloads import rolling_stateful, stateful_set

PREFIX = "statefulset_controller_statefulset_"


async def test_unavailable_members_are_counted_beside_their_limit(cluster: ControlPlane) -> None:
    strategy = rolling_stateful(partition=0, max_unavailable="50%")
    await cluster.client.create(stateful_set(4, pod_management_policy="Parallel", update_strategy=strategy))
    async with running(cluster.client, StatefulSetController) as manager:
        await cluster.advance(seconds=1)
        labels = ("default", "db", "Parallel")
        assert samples([manager], f"{PREFIX}max_unavailable") == {labels: 2}
        assert samples([manager], f"{PREFIX}unavailable_replicas") == {labels: 4}
        await make_ready(cluster.client)
        await cluster.advance(seconds=1)
        assert samples([manager], f"{PREFIX}unavailable_replicas") == {labels: 0}
        await cluster.client.delete(StatefulSet, "db", "default", propagation="Background")
        await cluster.advance(seconds=1)
        assert samples([manager], f"{PREFIX}max_unavailable") == {}


@pytest.mark.parametrize(
    ("policy", "replicas", "limit", "broken", "gauges"),
    [("OrderedReady", 5, 2, 1, (2, 1)), ("Parallel", 10, "20%", 3, (2, 3))],
)
async def test_more_members_than_the_limit_may_be_unavailable(
    cluster: ControlPlane, policy: str, replicas: int, limit: int | str, broken: int, gauges: tuple[int, int]
) -> None:
    """Cases of ``TestStatefulSetMetrics`` in stateful_set_control_test.go."""
    strategy = rolling_stateful(partition=0, max_unavailable=limit)
    made = stateful_set(replicas, pod_management_policy=policy, update_strategy=strategy)
    await cluster.client.create(made)
    async with running(cluster.client, StatefulSetController) as manager:
        for _ in range(replicas + 1):
            await make_ready(cluster.client)
            await cluster.advance(seconds=1)
        for ordinal in range(broken):
            await set_phase(cluster.client, f"db-{ordinal}", "Running")
        await cluster.advance(seconds=1)
        labels = ("default", "db", policy)
        assert samples([manager], f"{PREFIX}max_unavailable") == {labels: gauges[0]}
        assert samples([manager], f"{PREFIX}unavailable_replicas") == {labels: gauges[1]}


async def test_set_without_max_unavailable_has_no_gauges(cluster: ControlPlane) -> None:
    await cluster.client.create(stateful_set(1))
    async with running(cluster.client, StatefulSetController) as manager:
        await cluster.advance(seconds=1)
        assert samples([manager], f"{PREFIX}max_unavailable") == {}
        assert samples([manager], f"{PREFIX}unavailable_replicas") == {}
