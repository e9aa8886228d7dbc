"""Containers recreated by request, in a cluster with OpenKruise on virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from podling import clock
from podling.api.core_v1 import Pod
from podling.machinery.pods import is_ready
from podling_kruise.recreate.types import (
    ACTIVE,
    NODE_NAME,
    POD_UID,
)
from tests.support.clone_sets import Kruise, kruise_cluster
from tests.support.kubelet_node import pod
from tests.support.recreate_requests import recreate, request_of, states, statuses

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


async def test_named_container_alone_is_recreated_in_the_same_pod(kruise: Kruise) -> None:
    before = await started(kruise, pod(containers=TWO))
    made = await kruise.client.create(recreate())
    await kruise.wait()
    after, request = await kruise.node.get(), await request_of(kruise)
    old, new = statuses(before), statuses(after)
    assert (after.metadata.uid, after.status.pod_ip) == (before.metadata.uid, before.status.pod_ip)
    assert (new["app"].restart_count, new["beside"].restart_count) == (1, 0)
    assert new["app"].container_id != old["app"].container_id
    assert new["beside"] == old["beside"]
    assert is_ready(after)
    context = made.spec.containers[0].status_context
    assert context is not None
    assert (context.container_id, context.restart_count) == (old["app"].container_id, 0)
    assert made.metadata.labels == {ACTIVE: "true", NODE_NAME: "node-1", POD_UID: before.metadata.uid}
    assert (request.status.phase, request.status.message) == ("Completed", "")
    assert states(request) == {"app": ("Succeeded", True)}
    (snapshot,) = request.status.container_status_snapshot
    assert (snapshot.container_id, snapshot.ready) == (new["app"].container_id, True)
    assert ACTIVE not in request.metadata.labels
    events = await kruise.node.events()
    assert "Killing: Stopping container app by ContainerRecreateRequest again" in events


async def test_all_named_containers_are_recreated(kruise: Kruise) -> None:
    await started(kruise, pod(containers=TWO))
    await kruise.client.create(recreate("app", "beside"))
    await kruise.wait()
    request = await request_of(kruise)
    assert states(request) == {"app": ("Succeeded", True), "beside": ("Succeeded", True)}
    assert [each.restart_count for each in statuses(await kruise.node.get()).values()] == [1, 1]


async def test_next_container_waits_until_the_one_before_is_ready(kruise: Kruise) -> None:
    slow = {"exec": {"command": ["probe"]}, "initialDelaySeconds": 20, "periodSeconds": 1}
    await kruise.node.create(pod(containers=[{**TWO[0], "readinessProbe": slow}, TWO[1]]))
    await kruise.wait(40)
    await kruise.client.create(recreate("app", "beside", strategy={"orderedRecreate": True}))
    await kruise.wait(10)
    assert states(await request_of(kruise)) == {"app": ("Recreating", True), "beside": ("Pending", False)}
    await kruise.wait(30)
    assert states(await request_of(kruise)) == {"app": ("Succeeded", True), "beside": ("Succeeded", True)}
    ends = [each.last_state.terminated for each in statuses(await kruise.node.get()).values()]
    first, second = (each.finished_at for each in ends if each is not None)
    assert first is not None
    assert second is not None
    assert (second - first).total_seconds() >= 20


async def test_new_container_has_to_run_for_a_while(kruise: Kruise) -> None:
    await started(kruise, pod())
    await kruise.client.create(recreate(strategy={"minStartedSeconds": 30}))
    await kruise.wait(20)
    assert states(await request_of(kruise)) == {"app": ("Recreating", True)}
    await kruise.wait(20)
    request = await request_of(kruise)
    assert request.status.phase == "Completed"
    running = statuses(await kruise.node.get())["app"].state.running
    assert running is not None
    assert running.started_at is not None
    assert request.status.completion_time is not None
    assert (request.status.completion_time - running.started_at).total_seconds() >= 29


async def test_container_gets_the_grace_period_of_the_request(kruise: Kruise) -> None:
    stubborn = pod(script={"ignoresSignals": True}, terminationGracePeriodSeconds=60)
    await started(kruise, stubborn)
    before = clock.now()
    await kruise.client.create(recreate(strategy={"terminationGracePeriodSeconds": 10}))
    await kruise.wait(30)
    ended = statuses(await kruise.node.get())["app"].last_state.terminated
    assert ended is not None
    assert ended.finished_at is not None
    assert (ended.finished_at - before).total_seconds() <= 12


async def test_hook_runs_before_the_container_ends(kruise: Kruise) -> None:
    hook = {"preStop": {"sleep": {"seconds": 5}}}
    await started(kruise, pod(containers=[{**TWO[0], "lifecycle": hook}]))
    before = clock.now()
    await kruise.client.create(recreate())
    await kruise.wait(30)
    ended = statuses(await kruise.node.get())["app"].last_state.terminated
    assert ended is not None
    assert ended.finished_at is not None
    assert (ended.finished_at - before).total_seconds() >= 5


async def test_requests_for_one_pod_follow_one_another(kruise: Kruise) -> None:
    await started(kruise, pod(containers=TWO))
    for name, container in (("first", "app"), ("second", "beside")):
        strategy = {"minStartedSeconds": 20}
        await kruise.client.create(recreate(container, name=name, strategy=strategy))
        await kruise.wait(2)
    phases = [(await request_of(kruise, name)).status.phase for name in ("first", "second")]
    assert phases == ["Recreating", "Pending"]
    await kruise.wait(60)
    phases = [(await request_of(kruise, name)).status.phase for name in ("first", "second")]
    assert phases == ["Completed", "Completed"]
    assert [each.restart_count for each in statuses(await kruise.node.get()).values()] == [1, 1]


@pytest.mark.parametrize(("is_forced", "restarts"), [(False, 1), (True, 2)])
async def test_container_that_has_restarted_itself_is_stopped_by_force_only(
    kruise: Kruise, is_forced: bool, restarts: int
) -> None:
    """It ends by itself while the request waits; so it is another one than at the request's creation."""
    await started(kruise, pod(script=ONE_END))
    strategy = {"forceRecreate": is_forced, "unreadyGracePeriodSeconds": 40}
    await kruise.client.create(recreate(strategy=strategy))
    await kruise.wait(100)
    request = await request_of(kruise)
    assert statuses(await kruise.node.get())["app"].restart_count == restarts
    assert (request.status.phase, states(request)["app"][0]) == ("Completed", "Succeeded")


async def test_container_that_ended_while_the_kubelet_was_away_is_not_recreated_again(
    kruise: Kruise,
) -> None:
    await started(kruise, pod(script=ONE_END))
    await kruise.node.stop()
    await kruise.client.create(recreate())
    await kruise.wait(40)
    await kruise.node.start()
    await kruise.wait(10)
    assert statuses(await kruise.node.get())["app"].restart_count == 1
    assert (await request_of(kruise)).status.phase == "Completed"
