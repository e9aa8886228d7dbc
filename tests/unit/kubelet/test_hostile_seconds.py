"""Durations beyond any calendar, in specs that a kubelet carries out."""

from __future__ import annotations

import pytest

from podling.machinery.moments import LATEST
from tests.support.kubelet_node import SimNode, pod

INT32_MAX, INT64_MAX = 2**31 - 1, 2**63 - 1
SECONDS = (10**12, 10**14, 1 << 62, INT64_MAX)
SERVES = {"stopSeconds": 1}


@pytest.mark.parametrize("seconds", SECONDS)
async def test_pod_with_endless_grace_runs_and_ends(node: SimNode, seconds: int) -> None:
    await node.create(pod(script=SERVES, terminationGracePeriodSeconds=seconds))
    await node.pass_time(2)
    assert (await node.get()).status.phase == "Running"
    await node.delete()
    await node.pass_time(30)
    assert not await node.exists()


@pytest.mark.parametrize("seconds", SECONDS)
async def test_kubelet_takes_over_pod_that_ends_with_endless_grace(node: SimNode, seconds: int) -> None:
    deaf = {"ignoresSignals": True}
    await node.create(pod(script=deaf, terminationGracePeriodSeconds=seconds))
    await node.pass_time(2)
    await node.delete()
    await node.pass_time(5)
    await node.restart()
    await node.pass_time(5)
    assert (await node.get()).metadata.deletion_timestamp == LATEST
    await node.delete(grace_seconds=2)
    await node.pass_time(30)
    assert not await node.exists()


async def test_pod_with_longest_deadline_goes_on(node: SimNode) -> None:
    await node.create(pod(script=SERVES, activeDeadlineSeconds=INT32_MAX))
    await node.pass_time(60)
    assert (await node.get()).status.phase == "Running"
