"""Writes of statuses: their times, and the retries after a refusal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from podling import clock
from podling.api.core_v1 import (
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStatus,
    Pod,
    PodIP,
    PodStatus,
)
from podling.client.base import Client
from podling.client.local import LocalClient
from podling.kubelet.kubelet_metrics import KubeletMetrics
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
        self.deleted: list[str] = []
        self._begin = clock.monotonic()

    async def update(self, obj: Any, *, subresource: str = "", dry_run: bool = False) -> Any:
        self.moments.append(round(clock.monotonic() - self._begin, 1))
        return await super().update(obj, subresource=subresource, dry_run=dry_run)

    async def delete(self, kind: Any, name: str, namespace: str | None = None, **more: Any) -> None:
        self.deleted.append(name)
        await super().delete(kind, name, namespace, **more)


@dataclass
class Desk:
    """A status manager, its pod, the times of its writes, and another client."""

    client: Noting
    held: Pod
    other: Client
    manager: StatusManager = field(init=False)
    metrics: KubeletMetrics = field(init=False)

    def __post_init__(self) -> None:
        self.metrics = KubeletMetrics()
        self.manager = StatusManager(self.client, self.metrics)
        self.manager.update_pod(self.held)

    async def stored(self) -> Pod:
        return await self.client.get(Pod, "web", "default")


@pytest.fixture
async def desk(cluster: ControlPlane) -> AsyncIterator[Desk]:
    desk = Desk(Noting(cluster), await cluster.client.create(pod()), cluster.client)
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


# The cases of ``status_manager_test.go``.


def said(message: str) -> PodStatus:
    return PodStatus(phase="Running", message=message)


async def test_only_the_newest_of_several_decisions_is_written(desk: Desk) -> None:
    """``TestStaleUpdates``, ``TestChangedStatus``, ``TestUnchangedStatus``."""
    for message in ("initial", "first", "second"):
        desk.manager.decide(desk.held, said(message))
    await clock.sleep(5)
    assert desk.client.moments == [0]
    assert (await desk.stored()).status.message == "second"
    desk.manager.decide(desk.held, said("second"))
    await clock.sleep(5)
    assert desk.client.moments == [0]
    desk.manager.decide(desk.held, said("third"))
    await clock.sleep(5)
    assert desk.client.moments == [0, 10]


async def test_changes_by_another_client_are_written_over(desk: Desk) -> None:
    """``TestReconcilePodStatus``: only if the change is in what the kubelet owns."""
    desk.manager.decide(desk.held, said("own"))
    await clock.sleep(5)
    desk.manager.update_pod(await desk.stored())
    await clock.sleep(5)
    assert desk.client.moments == [0]
    others = await desk.other.update(
        structs.replace(await desk.stored(), status=said("other")), subresource="status"
    )
    desk.manager.update_pod(others)
    await clock.sleep(5)
    assert desk.client.moments == [0, 10]
    assert (await desk.stored()).status.message == "own"


async def test_status_of_a_pod_that_is_gone_is_given_up(desk: Desk) -> None:
    """``TestSyncPodIgnoresNotFound``."""
    await desk.other.delete(Pod, "web", "default", grace_seconds=0)
    desk.manager.decide(desk.held, said("too late"))
    await clock.sleep(100)
    assert desk.client.moments == [0]


async def test_status_never_goes_to_another_pod_of_the_name(desk: Desk) -> None:
    """``TestSyncPodChecksMismatchedUID``."""
    await desk.other.delete(Pod, "web", "default", grace_seconds=0)
    await desk.client.create(pod())
    desk.manager.decide(desk.held, said("of the first"))
    await clock.sleep(100)
    assert desk.client.moments == [0]
    assert (await desk.stored()).status.message == ""


async def test_pod_is_deleted_once_it_has_finished(desk: Desk) -> None:
    """``TestDeletePodBeforeFinished``, ``TestDeletePodFinished``."""
    bound = await desk.client.create(pod("bound", nodeName="n"))
    desk.manager.update_pod(bound)
    await desk.other.delete(Pod, "bound", "default", grace_seconds=30)
    leaving = await desk.client.get(Pod, "bound", "default")
    desk.manager.update_pod(leaving)
    desk.manager.decide(leaving, PodStatus(phase="Failed"), may_run=False)
    await clock.sleep(5)
    assert (desk.client.moments, desk.client.deleted) == ([0], [])
    desk.manager.allow_removal(leaving.metadata.uid or "")
    await clock.sleep(5)
    assert (desk.client.moments, desk.client.deleted) == ([0], ["bound"])


async def test_finished_pod_stays_until_its_phase_is_terminal_in_the_api(desk: Desk) -> None:
    """``canBeDeleted``: the phase that counts is the one that the API has."""
    bound = await desk.client.create(pod("bound", nodeName="n"))
    await desk.other.delete(Pod, "bound", "default", grace_seconds=30)
    leaving = await desk.client.get(Pod, "bound", "default")
    desk.manager.update_pod(leaving)
    desk.manager.allow_removal(bound.metadata.uid or "")
    desk.manager.decide(leaving, said("still"))
    await clock.sleep(5)
    assert desk.client.deleted == []
    desk.manager.decide(leaving, PodStatus(phase="Succeeded"), may_run=False)
    await clock.sleep(5)
    assert desk.client.deleted == ["bound"]


async def test_status_of_a_static_pod_goes_to_its_mirror(desk: Desk) -> None:
    """``TestStaticPod``, ``TestDoNotDeleteMirrorPods``: to the next mirror as well, and none is deleted."""
    annotations = {"kubernetes.io/config.mirror": "hash"}
    plain = pod("static", nodeName="n")
    static = structs.replace(plain, metadata=structs.replace(plain.metadata, uid="static-uid"))
    desk.manager.decide(static, PodStatus(phase="Failed", message="shown"), may_run=False)
    desk.manager.allow_removal("static-uid")
    await clock.sleep(5)
    assert desk.client.moments == []
    mirror = structs.replace(plain, metadata=structs.replace(plain.metadata, annotations=annotations))
    for number in (1, 2):
        made = await desk.client.create(mirror)
        desk.manager.update_mirror("static-uid", made)
        await clock.sleep(5)
        stored = await desk.client.get(Pod, "static", "default")
        assert (stored.status.message, len(desk.client.moments), desk.client.deleted) == ("shown", number, [])
        await desk.other.delete(Pod, "static", "default", grace_seconds=0)


@given(failures=st.integers(1, 10**6), refused=st.booleans())
def test_retry_wait_grows_to_a_maximum(failures: int, refused: bool) -> None:
    waits = [retry_seconds(failures + more, refused=refused) for more in (0, 1)]
    assert waits == sorted(waits)
    bound = status_manager.REFUSED_SECONDS_MAX if refused else status_manager.RETRY_SECONDS_MAX
    assert 1 <= waits[0] <= waits[1] <= bound


def ended(number: int, code: int, reason: str) -> ContainerState:
    end = ContainerStateTerminated(container_id=f"oci://{number}", exit_code=code, reason=reason)
    return ContainerState(terminated=end)


async def test_each_end_of_a_container_is_counted_once(desk: Desk) -> None:
    running = ContainerState(running=ContainerStateRunning())
    first, second = ended(1, 139, "Error"), ended(2, 0, "Completed")
    init = (ContainerStatus(name="init", state=ended(0, 0, "Completed")),)
    for state, last in (
        (running, ContainerState()),
        (first, ContainerState()),
        (running, first),
        (second, first),
    ):
        status = ContainerStatus(name="app", state=state, last_state=last)
        desk.manager.decide(desk.held, PodStatus(init_container_statuses=init, container_statuses=(status,)))
    assert desk.metrics.terminated_containers == {
        ("init_container", "0", "Completed"): 1,
        ("container", "139", "Error"): 1,
        ("container", "0", "Completed"): 1,
    }


async def test_ends_in_the_status_of_the_api_were_counted_before(cluster: ControlPlane) -> None:
    status = PodStatus(container_statuses=(ContainerStatus(name="app", state=ended(1, 1, "Error")),))
    metrics = KubeletMetrics()
    manager = StatusManager(Noting(cluster), metrics)
    held = structs.replace(await cluster.client.create(pod()), status=status)
    manager.decide(held, status)
    assert not metrics.terminated_containers
    await manager.close()
