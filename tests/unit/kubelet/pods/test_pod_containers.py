"""Containers of pods that an extension looks at, and stops."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from podling import clock
from podling.kubelet.node_controllers import StopFailed
from tests.support.kubelet_node import pod
from tests.support.node_controllers import context, node_with_notes


async def test_stopped_container_is_started_again_by_the_sync(tmp_path: Path) -> None:
    async with node_with_notes(tmp_path) as node:
        uid = (await node.create(pod())).metadata.uid or ""
        await node.pass_time(10)
        (before,) = await context().containers.of_pod(uid)
        await context().containers.stop(uid, before.id, grace_seconds=5, message="Stopping it")
        await node.pass_time(10)
        (after,) = await context().containers.of_pod(uid)
        assert (before.is_running, after.is_running) == (True, True)
        assert (before.restart_count, after.restart_count) == (0, 1)
        assert after.id == (await node.get()).status.container_statuses[0].container_id
        assert "Killing: Stopping it" in await node.events()


async def test_container_that_has_ended_is_left_alone(tmp_path: Path) -> None:
    async with node_with_notes(tmp_path) as node:
        made = pod(script={"runs": [{"seconds": 2}]}, restartPolicy="Never")
        uid = (await node.create(made)).metadata.uid or ""
        await node.create(pod("other"))
        await node.pass_time(1)
        (running,) = await context().containers.of_pod(uid)
        await node.pass_time(1.2)
        with pytest.raises(StopFailed):
            await context().containers.stop("absent", running.id, grace_seconds=5, message="")
        assert [each.is_running for each in await context().containers.of_pod(uid)] == [False]


async def test_deletion_of_the_pod_takes_over_from_a_stop(tmp_path: Path) -> None:
    """The pod's own grace period counts then, and the hook runs to the end of that alone."""
    async with node_with_notes(tmp_path) as node:
        stubborn = pod(script={"ignoresSignals": True}, terminationGracePeriodSeconds=5)
        uid = (await node.create(stubborn)).metadata.uid or ""
        await node.pass_time(10)
        (found,) = await context().containers.of_pod(uid)
        stop = context().containers.stop(uid, found.id, grace_seconds=600, message="")
        stopping = asyncio.create_task(stop)
        await node.pass_time(5)
        await node.delete()
        began = clock.now()
        with pytest.raises(StopFailed, match="is to end"):
            await stopping
        await node.pass_time(10)
        assert not await node.exists()
        assert (clock.now() - began).total_seconds() <= 11
