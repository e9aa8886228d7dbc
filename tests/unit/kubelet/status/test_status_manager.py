"""Writes of statuses: their times, and the retries after a refusal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling import clock
from podling.api.core_v1 import Pod, PodIP, PodStatus
from podling.client.local import LocalClient
from podling.kubelet.status import status_manager
from podling.kubelet.status.status_manager import StatusManager, retry_seconds
from podling.testing import ControlPlane
from tests.support.kubelet_node import pod

NONSENSE = PodStatus(phase="Running", pod_ip="nowhere", pod_ips=(PodIP(ip="nowhere"),))
GOOD = PodStatus(phase="Running")


class Noting(LocalClient):
    """Records the times of writes."""

    def __init__(self, plane: ControlPlane) -> None:
        super().__init__(plane.backend)
        self.moments: list[float] = []
        self._begin = clock.monotonic()

    async def update(self, obj: Any, *, subresource: str = "", dry_run: bool = False) -> Any:
        self.moments.append(round(clock.monotonic() - self._begin, 1))
        return await super().update(obj, subresource=subresource, dry_run=dry_run)


@dataclass
class Desk:
    """A status manager, its pod, and the times of its writes."""

    client: Noting
    held: Pod
    manager: StatusManager = field(init=False)

    def __post_init__(self) -> None:
        self.manager = StatusManager(self.client)
        self.manager.update_pod(self.held)

    async def stored(self) -> Pod:
        return await self.client.get(Pod, "web", "default")


@pytest.fixture
async def desk(cluster: ControlPlane) -> AsyncIterator[Desk]:
    desk = Desk(Noting(cluster), await cluster.client.create(pod()))
    yield desk
    await desk.manager.close()


async def test_invalid_status_is_retried_at_growing_intervals(desk: Desk) -> None:
    desk.manager.decide(desk.held, NONSENSE)
    await clock.sleep(1000)
    assert desk.client.moments == [0, 10, 30, 70, 150, 310, 610, 910]


async def test_new_decision_is_written_at_once(desk: Desk) -> None:
    desk.manager.decide(desk.held, NONSENSE)
    await clock.sleep(200)
    desk.manager.decide(desk.held, GOOD)
    await clock.sleep(1)
    assert desk.client.moments == [0, 10, 30, 70, 150, 200]
    assert (await desk.stored()).status.phase == "Running"


async def test_changed_pod_is_tried_again_at_once(desk: Desk) -> None:
    desk.manager.decide(desk.held, NONSENSE)
    await clock.sleep(200)
    labels = {"metadata": {"labels": {"a": "b"}}}
    desk.manager.update_pod(await desk.client.patch(Pod, "web", labels, "default"))
    await clock.sleep(1)
    assert desk.client.moments == [0, 10, 30, 70, 150, 200]


@given(failures=st.integers(1, 10**6), refused=st.booleans())
def test_retry_wait_grows_to_a_maximum(failures: int, refused: bool) -> None:
    waits = [retry_seconds(failures + more, refused=refused) for more in (0, 1)]
    assert waits == sorted(waits)
    bound = status_manager.REFUSED_SECONDS_MAX if refused else status_manager.RETRY_SECONDS_MAX
    assert 1 <= waits[0] <= waits[1] <= bound
