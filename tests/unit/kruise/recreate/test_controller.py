"""Deadlines of requests, the readiness of their pods, their ends, in a cluster on virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from podling.api.core_v1 import Pod
from podling.machinery.conditions import find
from podling.machinery.errors import ApiError, is_not_found
from podling.machinery.pods import is_ready
from podling_kruise.recreate.types import (
    UNREADY_ACQUIRED,
    ContainerRecreateRequest,
)
from tests.support.clone_sets import Kruise, kruise_cluster
from tests.support.kubelet_node import pod
from tests.support.recreate_requests import recreate, request_of, statuses

TWO = [{"name": "app", "image": "app:1"}, {"name": "beside", "image": "beside:1"}]
ONE_END = {"runs": [{"seconds": 30}, {}]}
GATE = [{"conditionType": "KruisePodReady"}]


@pytest.fixture
async def kruise(tmp_path: Path) -> AsyncIterator[Kruise]:
    async with kruise_cluster(tmp_path) as found:
        yield found


async def started(kruise: Kruise, made: Pod) -> Pod:
    await kruise.node.create(made)
    await kruise.wait(10)
    found = await kruise.node.get(made.metadata.name or "")
    assert is_ready(found)
    return found


async def test_pod_is_not_ready_for_a_while_before(kruise: Kruise) -> None:
    await started(kruise, pod(readinessGates=GATE))
    await kruise.client.create(recreate(strategy={"unreadyGracePeriodSeconds": 20}))
    await kruise.wait(10)
    held, request = await kruise.node.get(), await request_of(kruise)
    gate = find(held.status.conditions, "KruisePodReady")
    assert gate is not None
    assert (gate.status, is_ready(held)) == ("False", False)
    assert gate.message == '[{"userAgent":"ContainerRecreateRequest","key":"default/again"}]'
    assert statuses(held)["app"].restart_count == 0
    assert request.metadata.finalizers == (UNREADY_ACQUIRED,)
    await kruise.wait(30)
    after, request = await kruise.node.get(), await request_of(kruise)
    assert (is_ready(after), statuses(after)["app"].restart_count) == (True, 1)
    assert request.metadata.finalizers == ()
    assert [each.type for each in request.status.conditions] == ["PreRecreateGrace"]


async def test_older_version_shows_the_grace_in_annotations(kruise: Kruise) -> None:
    await started(kruise, pod(readinessGates=GATE))
    await kruise.client.create(recreate(strategy={"unreadyGracePeriodSeconds": 1}))
    await kruise.wait()
    kind = kruise.plane.server.catalogue.by_path("apps.kruise.io", "v1alpha1", "containerrecreaterequests")
    assert kind is not None
    older = await kruise.plane.client.get(kind.type, "again", "default")
    annotations = older.metadata.annotations
    assert annotations["crr.apps.kruise.io/unready-acquired"].endswith("Z")
    assert '"ready":true' in annotations["crr.apps.kruise.io/sync-container-statuses"]
    assert set(older.content["status"]) == {"phase", "completionTime", "containerRecreateStates"}


@pytest.mark.parametrize("value", [None, "", "2026-01-01T00:00:00Z"])
async def test_grace_of_the_older_version_is_immutable(kruise: Kruise, value: str | None) -> None:
    await started(kruise, pod(readinessGates=GATE))
    await kruise.client.create(recreate(strategy={"unreadyGracePeriodSeconds": 1}))
    await kruise.wait()
    kind = kruise.plane.server.catalogue.by_path("apps.kruise.io", "v1alpha1", "containerrecreaterequests")
    assert kind is not None
    patch = {"metadata": {"annotations": {UNREADY_ACQUIRED: value, "own": "1"}}}
    text = f"not allowed to update immutable annotation {UNREADY_ACQUIRED}"
    with pytest.raises(ApiError, match=text) as refused:
        await kruise.plane.client.patch(kind.type, "again", patch, "default")
    assert refused.value.code == 403
    assert (await request_of(kruise)).metadata.annotations == {}
    await kruise.plane.client.patch(
        kind.type, "again", {"metadata": {"annotations": {"own": "1"}}}, "default"
    )
    assert (await request_of(kruise)).metadata.annotations == {"own": "1"}


async def test_deleted_request_lets_its_pod_go(kruise: Kruise) -> None:
    await started(kruise, pod(readinessGates=GATE))
    await kruise.client.create(recreate(strategy={"unreadyGracePeriodSeconds": 100}))
    await kruise.wait(10)
    await kruise.client.delete(ContainerRecreateRequest, "again", "default")
    await kruise.wait(10)
    found = await kruise.node.get()
    assert (is_ready(found), statuses(found)["app"].restart_count) == (True, 0)
    with pytest.raises(ApiError) as gone:
        await request_of(kruise)
    assert is_not_found(gone.value)


async def test_ended_request_is_deleted_after_its_time(kruise: Kruise) -> None:
    await started(kruise, pod())
    await kruise.client.create(recreate(ttlSecondsAfterFinished=60))
    await kruise.wait(30)
    assert (await request_of(kruise)).status.phase == "Completed"
    await kruise.wait(60)
    with pytest.raises(ApiError) as gone:
        await request_of(kruise)
    assert is_not_found(gone.value)


async def test_request_ends_at_its_deadline(kruise: Kruise) -> None:
    never = {"exec": {"command": ["probe"]}, "initialDelaySeconds": 1000, "periodSeconds": 1}
    await kruise.node.create(pod(containers=[{**TWO[0], "readinessProbe": never}]))
    await kruise.wait(10)
    await kruise.client.create(recreate(activeDeadlineSeconds=30))
    await kruise.wait(40)
    status = (await request_of(kruise)).status
    assert (status.phase, status.message) == (
        "Completed",
        "recreating has exceeded the activeDeadlineSeconds",
    )


async def test_request_ends_when_its_pod_is_gone(kruise: Kruise) -> None:
    await started(kruise, pod(script={"ignoresSignals": True}))
    await kruise.client.create(recreate(strategy={"terminationGracePeriodSeconds": 600}))
    await kruise.wait(5)
    await kruise.node.delete()
    await kruise.wait(40)
    status = (await request_of(kruise)).status
    assert (status.phase, status.message) == ("Completed", "pod has gone")
    assert not await kruise.node.exists()


async def test_request_without_a_kubelet_ends_after_a_minute(kruise: Kruise) -> None:
    await started(kruise, pod())
    await kruise.node.stop()
    await kruise.client.create(recreate())
    await kruise.wait(50)
    assert (await request_of(kruise)).status.phase == ""
    await kruise.wait(20)
    status = (await request_of(kruise)).status
    assert (status.phase, status.message) == ("Completed", "daemon has not responded for a long time")
