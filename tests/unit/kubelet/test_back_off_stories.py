"""The waits before each restart of a container that keeps ending, to the second, on virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from podling import clock
from podling.api.core_v1 import Event
from podling.kubelet.config import KubeletConfig
from podling.runtime.base import ContainerEventType
from podling.testing import ControlPlane
from tests.support.kubelet_node import SimNode, pod, sim_node

FAILS = {"seconds": 1, "exitCode": 1}


class Gaps:
    """Collects the seconds between each end of a container and its next start."""

    def __init__(self) -> None:
        self.seconds: list[int] = []
        self._ended: datetime | None = None

    async def follow(self, node: SimNode) -> None:
        async for event in node.runtime.events():
            if event.type is ContainerEventType.EXITED:
                self._ended = event.at
            elif event.type is ContainerEventType.STARTED and self._ended is not None:
                self.seconds.append(round((event.at - self._ended).total_seconds()))


@asynccontextmanager
async def gaps(node: SimNode) -> AsyncIterator[Gaps]:
    found = Gaps()
    following = asyncio.create_task(found.follow(node))
    await clock.sleep(0)
    yield found
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)


def crashing(*runs: dict[str, Any], **spec: Any) -> Any:
    return pod(script={"runs": [*runs]}, **spec)


async def test_each_wait_is_twice_the_one_before_up_to_five_minutes(node: SimNode) -> None:
    async with gaps(node) as waited:
        await node.create(crashing(FAILS))
        texts = []
        for seconds in (5, 15, 20, 40, 80, 160, 300):
            await node.pass_time(seconds)
            (status,) = (await node.get()).status.container_statuses
            assert status.state.waiting is not None
            texts.append((status.state.waiting.message or "").split(" restarting")[0])
        await node.pass_time(700)
    assert waited.seconds == [0, 10, 20, 40, 80, 160, 300, 300, 300]
    shown = ["10s", "20s", "40s", "1m20s", "2m40s", "5m0s", "5m0s"]
    assert texts == [f"back-off {text}" for text in shown]
    (recorded,) = [e for e in (await node.client.list(Event, "default")).items if e.reason == "BackOff"]
    uid = (await node.get()).metadata.uid
    assert recorded.message == f"Back-off restarting failed container app in pod web_default({uid})"
    assert (recorded.type, recorded.involved_object.field_path) == ("Warning", "spec.containers{app}")


@pytest.mark.parametrize(
    ("seconds", "after"),
    [(590, [0, 10, 20, 40, 80]), (605, [0, 10, 20, 0, 10])],
    ids=["short of it", "reset"],
)
async def test_run_of_more_than_ten_minutes_resets_the_back_off(
    node: SimNode, seconds: int, after: list[int]
) -> None:
    """They count from the last increase of the wait, which is the start of the long run."""
    async with gaps(node) as waited:
        await node.create(crashing(FAILS, FAILS, FAILS, {"seconds": seconds, "exitCode": 1}, FAILS))
        await node.pass_time(40 + seconds + 150)
    assert waited.seconds[:5] == after


async def test_a_changed_image_ends_the_wait(node: SimNode) -> None:
    async with gaps(node) as waited:
        await node.create(crashing(FAILS))
        await node.pass_time(40)
        found = await node.get()
        (container,) = found.spec.containers
        spec = structs.replace(found.spec, containers=(structs.replace(container, image="app:2"),))
        await node.client.update(structs.replace(found, spec=spec))
        await node.pass_time(20)
    assert waited.seconds == [0, 10, 20, 6, 10], (
        "the wait of 40 s ended with the change; then all begins anew"
    )


async def test_successful_end_waits_like_a_failure(node: SimNode) -> None:
    async with gaps(node) as waited:
        await node.create(crashing({"seconds": 1}))
        await node.pass_time(80)
    assert waited.seconds == [0, 10, 20, 40][: len(waited.seconds)]
    assert len(waited.seconds) >= 3


async def test_the_longest_wait_can_be_configured(cluster: ControlPlane, tmp_path: Path) -> None:
    config = KubeletConfig(node_addresses=("192.168.0.10",), write_files=False, crash_loop_back_off_max=15.0)
    async with sim_node(cluster, tmp_path, config=config) as node, gaps(node) as waited:
        await node.create(crashing(FAILS))
        await node.pass_time(70)
    assert waited.seconds == [0, 10, 15, 15, 15]
