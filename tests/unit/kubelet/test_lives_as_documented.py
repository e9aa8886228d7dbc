"""The documents' statements about containers, hooks, init containers and termination."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import ConfigMap, Pod
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import PatchType, WatchEventType
from podling.runtime.base import ContainerState
from tests.support.kubelet_node import SimNode, condition, pod

SLEEP = {"preStop": {"sleep": {"seconds": 3}}}


def container(name: str = "app", **more: Any) -> dict[str, Any]:
    return {"name": name, "image": "app:1", **more}


async def running(node: SimNode) -> list[str]:
    found = await node.runtime.list_containers()
    return sorted(held.name for held in found if held.state is ContainerState.RUNNING)


# Conditions during the start.


async def test_init_containers_start_after_network_and_volumes(node: SimNode) -> None:
    mount = {"name": "files", "mountPath": "/files"}
    await node.create(
        pod(
            initContainers=[container("setup", volumeMounts=[mount])],
            volumes=[{"name": "files", "configMap": {"name": "settings"}}],
            scripts={"Pod": {"sandboxSeconds": 5}, "setup": {"runs": [{"seconds": 5}]}},
        )
    )
    await node.pass_time(4)
    assert await node.runtime.list_containers() == (), "without a network"
    await node.pass_time(10)
    assert await node.runtime.list_containers() == (), "without a volume"
    assert condition(await node.get(), "Initialized") == "False ContainersNotInitialized"
    await node.client.create(ConfigMap(metadata=ObjectMeta(name="settings", namespace="default")))
    await node.pass_time(1)
    assert await running(node) == ["setup"]


async def test_without_init_containers_a_pod_is_initialized_before_its_sandbox_is_made(node: SimNode) -> None:
    await node.create(pod(scripts={"Pod": {"sandboxSeconds": 5}}))
    await node.pass_time(2)
    found = await node.get()
    assert condition(found, "Initialized") == "True"
    assert condition(found, "PodReadyToStartContainers") == "False"
    assert condition(found, "PodScheduled") == "True"
    await node.pass_time(4)
    assert condition(await node.get(), "PodReadyToStartContainers") == "True"


async def test_with_init_containers_it_is_initialized_when_they_have_succeeded(node: SimNode) -> None:
    await node.create(
        pod(initContainers=[container("setup")], scripts={"setup": {"runs": [{"seconds": 10}]}})
    )
    await node.pass_time(5)
    found = await node.get()
    assert condition(found, "PodReadyToStartContainers") == "True"
    assert condition(found, "Initialized") == "False ContainersNotInitialized"
    assert condition(found, "Ready") == "False ContainersNotReady"
    assert found.status.phase == "Pending"
    await node.pass_time(6)
    assert condition(await node.get(), "Initialized") == "True"


async def test_without_a_sandbox_nothing_is_ready_to_start_containers(node: SimNode) -> None:
    """The condition is False after the pod's end as well as before its start."""
    await node.create(pod(restartPolicy="Never", script={"runs": [{"seconds": 5}]}))
    await node.pass_time(10)
    found = await node.get()
    assert (found.status.phase, condition(found, "PodReadyToStartContainers")) == ("Succeeded", "False")


async def test_containers_are_made_once_the_sandbox_is_there(node: SimNode) -> None:
    """Images may be pulled meanwhile, unlike in Kubernetes: that saves time."""
    await node.create(pod(scripts={"Pod": {"sandboxSeconds": 5}}))
    await node.pass_time(4)
    assert await node.runtime.list_containers() == ()
    assert any(recorded.startswith("Pulled") for recorded in await node.events())
    await node.pass_time(2)
    assert await running(node) == ["app"]


# Restarts.


@pytest.mark.parametrize(
    ("policy", "code", "phase", "count"),
    [
        ("Always", 0, "Running", 1),
        ("Always", 1, "Running", 1),
        ("OnFailure", 0, "Succeeded", 0),
        ("OnFailure", 1, "Running", 1),
        ("Never", 0, "Succeeded", 0),
        ("Never", 1, "Failed", 0),
        (None, 0, "Running", 1),
    ],
)
async def test_ended_container_restarts_by_policy(
    node: SimNode, policy: str | None, code: int, phase: str, count: int
) -> None:
    chosen: dict[str, Any] = {"restartPolicy": policy} if policy else {}
    await node.create(pod(script={"runs": [{"seconds": 5, "exitCode": code}, {}]}, **chosen))
    await node.pass_time(10)
    found = await node.get()
    assert found.status.phase == phase
    assert found.status.container_statuses[0].restart_count == count


async def test_a_restarted_container_is_another_in_the_same_pod(node: SimNode) -> None:
    await node.create(pod(script={"runs": [{"seconds": 5, "exitCode": 1}, {}]}))
    await node.pass_time(3)
    before = await node.get()
    await node.pass_time(5)
    after = await node.get()
    (old,), (new,) = before.status.container_statuses, after.status.container_statuses
    assert new.container_id != old.container_id
    assert new.last_state.terminated is not None
    assert new.last_state.terminated.container_id == old.container_id
    assert (after.metadata.uid, after.status.pod_ip) == (before.metadata.uid, before.status.pod_ip)
    assert after.spec.node_name == before.spec.node_name


@pytest.mark.parametrize(
    ("run", "reason", "code"),
    [
        ({"seconds": 5}, "Completed", 0),
        ({"seconds": 5, "exitCode": 1}, "Error", 1),
        ({"seconds": 5, "exitCode": 137}, "Error", 137),
        ({"seconds": 5, "outOfMemory": True}, "OOMKilled", 137),
    ],
)
async def test_state_before_the_last_restart_is_kept(
    node: SimNode, run: dict[str, Any], reason: str, code: int
) -> None:
    await node.create(pod(script={"runs": [run, {}]}))
    await node.pass_time(60)
    (status,) = (await node.get()).status.container_statuses
    assert status.state.running is not None
    ended = status.last_state.terminated
    assert ended is not None
    assert (ended.reason, ended.exit_code, status.restart_count) == (reason, code, 1)
    assert ended.started_at is not None
    assert ended.finished_at is not None
    assert (ended.finished_at - ended.started_at).total_seconds() == 5
    assert ended.container_id not in ("", status.container_id)


async def test_only_the_container_that_exceeds_its_memory_is_killed_and_restarted(node: SimNode) -> None:
    hungry = {"runs": [{"seconds": 5, "outOfMemory": True}, {}]}
    await node.create(pod(containers=[container("hungry"), container("modest")], scripts={"hungry": hungry}))
    await node.pass_time(10)
    statuses = {held.name: held for held in (await node.get()).status.container_statuses}
    terminated = statuses["hungry"].last_state.terminated
    assert terminated is not None
    assert (terminated.reason, terminated.exit_code) == ("OOMKilled", 137)
    assert {name: held.restart_count for name, held in statuses.items()} == {"hungry": 1, "modest": 0}


async def test_failed_pod_is_kept_until_it_is_deleted(node: SimNode) -> None:
    await node.create(pod(restartPolicy="Never", script={"runs": [{"seconds": 1, "exitCode": 1}]}))
    await node.pass_time(3600)
    assert (await node.get()).status.phase == "Failed"


# Init containers.


async def test_app_containers_start_side_by_side_once_all_init_containers_are_done(node: SimNode) -> None:
    """No container waits for another to be ready."""
    never = {"tcpSocket": {"port": 1}, "periodSeconds": 5}
    lives: dict[str, Any] = {"setup": {"runs": [{"seconds": 5}]}, "first": {"probes": [{"success": False}]}}
    await node.create(
        pod(
            initContainers=[container("setup")],
            containers=[container("first", readinessProbe=never), container("second")],
            scripts=lives,
        )
    )
    await node.pass_time(4)
    assert await running(node) == ["setup"]
    await node.pass_time(2)
    assert await running(node) == ["first", "second"]


async def test_statuses_of_each_sort_of_container_are_in_their_own_list(node: SimNode) -> None:
    await node.create(
        pod(
            initContainers=[container("setup"), container("side", restartPolicy="Always")],
            scripts={"setup": {"runs": [{"seconds": 2}]}},
        )
    )
    await node.pass_time(5)
    debugger = {"spec": {"ephemeralContainers": [{"name": "debug", "image": "app:1"}]}}
    await node.client.patch(
        Pod,
        "web",
        debugger,
        "default",
        patch_type=PatchType.STRATEGIC,
        subresource="ephemeralcontainers",
    )
    await node.pass_time(5)
    status = (await node.get()).status
    lists = (status.init_container_statuses, status.container_statuses, status.ephemeral_container_statuses)
    assert [[held.name for held in held_list] for held_list in lists] == [
        ["setup", "side"],
        ["app"],
        ["debug"],
    ]
    assert [held.state.running is not None for held_list in lists for held in held_list] == [
        False,
        True,
        True,
        True,
    ]


async def test_a_new_sandbox_runs_all_init_containers_again(node: SimNode) -> None:
    once = {"runs": [{"seconds": 2}]}
    await node.create(
        pod(initContainers=[container("one"), container("two")], scripts={"one": once, "two": once})
    )
    await node.pass_time(6)
    assert await running(node) == ["app"]
    (sandbox,) = await node.runtime.list_sandboxes()
    await node.runtime.stop_sandbox(sandbox.id)
    await node.pass_time(1)
    assert await running(node) == ["one"]
    await node.pass_time(2)
    assert await running(node) == ["two"]
    await node.pass_time(20)
    found = await node.get()
    assert await running(node) == ["app"]
    assert [held.restart_count for held in found.status.init_container_statuses] == [1, 1]


async def test_another_image_of_an_init_container_that_is_done_restarts_nothing(node: SimNode) -> None:
    await node.create(pod(initContainers=[container("setup")], scripts={"setup": {"runs": [{"seconds": 2}]}}))
    await node.pass_time(5)
    change = {"spec": {"initContainers": [{"name": "setup", "image": "app:2"}]}}
    await node.client.patch(Pod, "web", change, "default", patch_type=PatchType.STRATEGIC)
    await node.pass_time(60)
    found = await node.get()
    statuses = (*found.status.init_container_statuses, *found.status.container_statuses)
    assert [held.restart_count for held in statuses] == [0, 0]


async def test_the_active_deadline_counts_the_time_of_init_containers(node: SimNode) -> None:
    await node.create(pod(initContainers=[container("setup")], activeDeadlineSeconds=20))
    await node.pass_time(15)
    assert (await node.get()).status.phase == "Pending"
    await node.pass_time(10)
    found = await node.get()
    assert (found.status.phase, found.status.reason) == ("Failed", "DeadlineExceeded")
    assert await running(node) == []


async def test_a_sidecar_may_be_probed_as_any_container(node: SimNode) -> None:
    probe = {"tcpSocket": {"port": 15001}, "periodSeconds": 5, "failureThreshold": 1}
    side = container("side", restartPolicy="Always", readinessProbe=probe, livenessProbe=probe)
    life = {"probes": [{}, {"after": 12, "success": False}]}
    await node.create(pod(initContainers=[side], scripts={"side": life}))
    await node.pass_time(8)
    assert condition(await node.get(), "Ready") == "True"
    await node.pass_time(10)
    found = await node.get()
    assert found.status.init_container_statuses[0].restart_count == 1
    assert found.status.container_statuses[0].restart_count == 0


async def test_a_sidecar_may_have_hooks_as_any_container(node: SimNode) -> None:
    """The next container waits for the hook after the start; the hook before the end has its time."""
    hooks = {"postStart": {"sleep": {"seconds": 4}}, **SLEEP}
    await node.create(pod(initContainers=[container("side", restartPolicy="Always", lifecycle=hooks)]))
    await node.pass_time(3)
    assert await running(node) == ["side"], "the first hook is at work"
    await node.pass_time(2)
    assert await running(node) == ["app", "side"]
    await node.delete()
    await node.pass_time(2)
    assert await running(node) == ["side"], "the last hook is at work"
    await node.pass_time(2)
    assert not await node.exists()


# Hooks and termination.


async def test_a_pre_stop_hook_runs_before_a_failed_probe_ends_its_container(node: SimNode) -> None:
    probe = {"tcpSocket": {"port": 8080}, "periodSeconds": 10, "failureThreshold": 1}
    life = {"probes": [{}, {"after": 19, "success": False}]}
    await node.create(pod(containers=[container(livenessProbe=probe, lifecycle=SLEEP)], script=life))
    await node.pass_time(22)
    assert await running(node) == ["app"], "the hook is at work"
    await node.pass_time(3)
    (status,) = (await node.get()).status.container_statuses
    terminated = status.last_state.terminated
    assert terminated is not None
    assert terminated.started_at is not None
    assert terminated.finished_at is not None
    assert round((terminated.finished_at - terminated.started_at).total_seconds()) == 23


async def test_no_pre_stop_hook_runs_for_a_container_that_has_ended(node: SimNode) -> None:
    hooked = container("done", lifecycle={"preStop": {"sleep": {"seconds": 20}}})
    await node.create(
        pod(
            containers=[hooked, container("app")],
            restartPolicy="Never",
            scripts={"done": {"runs": [{"seconds": 1}]}},
        )
    )
    await node.pass_time(5)
    await node.delete()
    await node.pass_time(1)
    assert not await node.exists()


async def test_grace_period_is_thirty_seconds_by_default(node: SimNode) -> None:
    await node.create(pod(script={"ignoresSignals": True}))
    await node.pass_time(1)
    await node.delete()
    assert (await node.get()).metadata.deletion_grace_period_seconds == 30
    await node.pass_time(29)
    assert await running(node) == ["app"]
    await node.pass_time(2)
    assert not await node.exists()


async def test_a_pod_ends_in_a_final_phase_before_it_goes(node: SimNode) -> None:
    """A finalizer of the test keeps the object, so that its last status can be read."""
    for name, code in (("good", 0), ("bad", 9)):
        made = pod(name, script={"stopExitCode": code})
        await node.create(made)
        change = {"metadata": {"finalizers": ["example.com/kept"]}}
        await node.client.patch(Pod, name, change, "default")
    await node.pass_time(1)
    for name in ("good", "bad"):
        await node.delete(name)
    await node.pass_time(5)
    assert [(await node.get(name)).status.phase for name in ("good", "bad")] == ["Succeeded", "Failed"]


async def test_after_a_forced_deletion_the_name_is_free_and_the_node_ends_the_old_one_gently(
    node: SimNode,
) -> None:
    """The object is deleted at once; on the node its containers get the signal and a little time."""
    await node.create(pod(script={"stopSeconds": 0.5, "stopExitCode": 0}))
    await node.pass_time(1)
    before = await node.get()
    await node.delete(grace_seconds=0)
    assert not await node.exists()
    after = await node.create(pod())
    assert after.metadata.uid != before.metadata.uid
    await node.pass_time(0.3)
    assert (await running(node)).count("app") >= 1
    await node.pass_time(10)
    assert (await node.get()).status.phase == "Running"
    (container_left,) = await node.runtime.list_containers()
    assert container_left.labels["io.kubernetes.pod.uid"] == after.metadata.uid


async def test_forced_deletion_removes_the_pod_in_its_present_phase(node: SimNode) -> None:
    """Without a report of the kubelet there is no final phase: the watch shows the last reported one."""
    await node.create(pod())
    await node.pass_time(1)
    listing = await node.client.list(Pod, "default")
    await node.delete(grace_seconds=0)
    seen: list[tuple[WatchEventType, str | None]] = []
    async for event in node.client.watch(Pod, "default", resource_version=listing.resource_version):
        seen.append((event.type, event.object.status.phase))
        if event.type is WatchEventType.DELETED:
            break
    assert seen == [(WatchEventType.DELETED, "Running")]


async def test_after_a_reboot_the_pod_is_not_ready_to_start_containers_until_its_new_sandbox(
    node: SimNode,
) -> None:
    await node.create(pod(scripts={"Pod": {"sandboxSeconds": 5}}))
    await node.pass_time(10)
    assert condition(await node.get(), "PodReadyToStartContainers") == "True"
    await node.stop()
    (sandbox,) = await node.runtime.list_sandboxes()
    await node.runtime.stop_sandbox(sandbox.id)
    await node.restart()
    await node.pass_time(3)
    found = await node.get()
    assert condition(found, "PodReadyToStartContainers") == "False"
    assert condition(found, "Ready") == "False ContainersNotReady"
    await node.pass_time(10)
    assert condition(await node.get(), "PodReadyToStartContainers") == "True"
    assert len({held.id for held in await node.runtime.list_sandboxes() if held.ready} - {sandbox.id}) == 1


async def test_a_changed_image_of_a_sidecar_restarts_the_sidecar_alone(node: SimNode) -> None:
    await node.create(pod(initContainers=[container("side", restartPolicy="Always")]))
    await node.pass_time(5)
    before = await node.get()
    change = {"spec": {"initContainers": [{"name": "side", "image": "app:2"}]}}
    await node.client.patch(Pod, "web", change, "default", patch_type=PatchType.STRATEGIC)
    await node.pass_time(60)
    after = await node.get()
    (side,) = after.status.init_container_statuses
    assert (side.restart_count, side.image, side.state.running is not None) == (1, "app:2", True)
    assert after.status.container_statuses == before.status.container_statuses


async def test_a_pre_stop_hook_runs_before_a_failed_startup_probe_ends_its_container(node: SimNode) -> None:
    probe = {"tcpSocket": {"port": 8080}, "periodSeconds": 10, "failureThreshold": 1}
    life = {"probes": [{"success": False}]}
    await node.create(
        pod(containers=[container(startupProbe=probe, lifecycle=SLEEP)], script=life, restartPolicy="Never")
    )
    await node.pass_time(2)
    assert await running(node) == ["app"], "the hook is at work"
    await node.pass_time(3)
    (status,) = (await node.get()).status.container_statuses
    terminated = status.state.terminated
    assert terminated is not None
    assert terminated.started_at is not None
    assert terminated.finished_at is not None
    assert round((terminated.finished_at - terminated.started_at).total_seconds()) == 3
