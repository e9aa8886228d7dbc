"""Init containers and sidecars on a simulated node: order, restarts, ends."""

from __future__ import annotations

from typing import Any

from podling.api.core_v1 import ContainerStatus, Pod
from tests.support.kubelet_node import SimNode, condition, pod


def init(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "image": "tool:1", **more}


def sidecar(name: str, **more: Any) -> dict[str, Any]:
    return init(name, restartPolicy="Always", **more)


def states(found: Pod) -> dict[str, str]:
    """Return every container's state in one word: waiting by its reason, terminated by its exit code."""
    result = {}
    for status in (*found.status.init_container_statuses, *found.status.container_statuses):
        if status.state.running is not None:
            result[status.name] = "running"
        elif status.state.terminated is not None:
            result[status.name] = f"exit {status.state.terminated.exit_code}"
        elif status.state.waiting is not None:
            result[status.name] = status.state.waiting.reason or ""
    return result


async def test_init_containers_run_one_after_another(node: SimNode) -> None:
    ten = {"runs": [{"seconds": 10}]}
    await node.create(pod(initContainers=[init("a"), init("b")], scripts={"a": ten, "b": ten}))
    await node.pass_time(5)
    found = await node.get()
    assert states(found) == {"a": "running", "b": "PodInitializing", "app": "PodInitializing"}
    assert condition(found, "Initialized") == "False ContainersNotInitialized"
    assert found.status.phase == "Pending"
    await node.pass_time(10)
    assert states(await node.get()) == {"a": "exit 0", "b": "running", "app": "PodInitializing"}
    await node.pass_time(10)
    found = await node.get()
    assert states(found) == {"a": "exit 0", "b": "exit 0", "app": "running"}
    assert condition(found, "Initialized") == "True"
    assert [status.ready for status in found.status.init_container_statuses] == [True, True]


async def test_a_failing_init_container_is_tried_again_with_back_off(node: SimNode) -> None:
    lives = {"a": {"runs": [{"seconds": 0, "exitCode": 1}, {"seconds": 0, "exitCode": 1}, {"seconds": 0}]}}
    await node.create(pod(initContainers=[init("a")], scripts=lives))
    await node.pass_time(5)
    found = await node.get()
    assert states(found) == {"a": "CrashLoopBackOff", "app": "PodInitializing"}
    assert found.status.phase == "Pending"
    await node.pass_time(10)
    assert states(await node.get()) == {"a": "exit 0", "app": "running"}


async def test_a_failing_init_container_fails_a_pod_that_never_restarts(node: SimNode) -> None:
    lives = {"a": {"runs": [{"seconds": 1, "exitCode": 7}]}}
    await node.create(pod(initContainers=[init("a"), init("b")], restartPolicy="Never", scripts=lives))
    await node.pass_time(5)
    found = await node.get()
    assert found.status.phase == "Failed"
    assert states(found) == {"a": "exit 7", "b": "PodInitializing", "app": "PodInitializing"}


NO_PROGRAM = {"startError": 'exec: "prepare": executable file not found in $PATH'}


async def test_unstartable_init_container_is_retried_with_back_off(node: SimNode) -> None:
    """Retries are the same as after a failure: at once, then 10 s, 20 s and 40 s after the last try."""
    await node.create(pod(initContainers=[init("setup")], scripts={"setup": NO_PROGRAM}))
    tries = []
    for _ in range(80):
        await node.pass_time(1)
        tries.append(setup_of(await node.get()).restart_count)
    assert [tries.index(count) for count in (1, 2, 3, 4)] == [0, 10, 30, 70]
    found = await node.get()
    ended = setup_of(found).last_state.terminated
    assert ended is not None
    assert (ended.reason, ended.exit_code) == ("StartError", 128)
    assert (found.status.phase, states(found)["app"]) == ("Pending", "PodInitializing")


async def test_unstartable_init_container_fails_a_pod_that_never_restarts(
    node: SimNode,
) -> None:
    await node.create(
        pod(initContainers=[init("setup")], restartPolicy="Never", scripts={"setup": NO_PROGRAM})
    )
    await node.pass_time(60)
    found = await node.get()
    assert found.status.phase == "Failed"
    assert states(found) == {"setup": "exit 128", "app": "PodInitializing"}
    assert setup_of(found).restart_count == 0


async def test_next_container_starts_once_a_sidecar_has_started(node: SimNode) -> None:
    startup = {"httpGet": {"port": 80}, "periodSeconds": 1, "failureThreshold": 30}
    lives = {"proxy": {"probes": [{"success": False}, {"after": 8}]}}
    await node.create(pod(initContainers=[sidecar("proxy", startupProbe=startup)], scripts=lives))
    await node.pass_time(5)
    assert states(await node.get()) == {"proxy": "running", "app": "PodInitializing"}
    await node.pass_time(5)
    found = await node.get()
    assert states(found) == {"proxy": "running", "app": "running"}
    assert condition(found, "Ready") == "True"


async def test_a_sidecar_is_restarted_even_in_a_pod_that_never_restarts(node: SimNode) -> None:
    lives = {"proxy": {"runs": [{"seconds": 5, "exitCode": 1}, {}]}, "app": {"runs": [{"seconds": 60}]}}
    await node.create(pod(initContainers=[sidecar("proxy")], restartPolicy="Never", scripts=lives))
    await node.pass_time(10)
    found = await node.get()
    assert states(found) == {"proxy": "running", "app": "running"}
    assert found.status.init_container_statuses[0].restart_count == 1


async def test_sidecars_end_with_the_last_regular_container(node: SimNode) -> None:
    lives = {"app": {"runs": [{"seconds": 10}]}}
    await node.create(pod(initContainers=[sidecar("proxy")], restartPolicy="Never", scripts=lives))
    await node.pass_time(15)
    found = await node.get()
    assert found.status.phase == "Succeeded"
    assert states(found) == {"proxy": "exit 143", "app": "exit 0"}


async def test_sidecars_end_last_in_reverse_order(node: SimNode) -> None:
    slow = {"stopSeconds": 2, "stopExitCode": 0}
    lives = {"app": slow, "first": slow, "second": slow}
    await node.create(pod(initContainers=[sidecar("first"), sidecar("second")], scripts=lives))
    await node.pass_time(1)
    await node.delete()
    gone = []
    for _ in range(16):
        await node.pass_time(0.5)
        running = {c.name for c in await node.runtime.list_containers() if c.state.value == "RUNNING"}
        gone += [name for name in ("app", "first", "second") if name not in running and name not in gone]
    assert gone == ["app", "second", "first"]
    assert not await node.exists()


def setup_of(found: Pod) -> ContainerStatus:
    (status,) = found.status.init_container_statuses
    return status


async def test_a_rule_restarts_the_whole_pod_in_place(node: SimNode) -> None:
    rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
    main = {"name": "app", "image": "app:1", "restartPolicy": "Never", "restartPolicyRules": [rule]}
    helper = {"name": "helper", "image": "app:1"}
    lives = {"app": {"runs": [{"seconds": 10, "exitCode": 42}, {}]}, "setup": {"runs": [{"seconds": 1}]}}
    await node.create(
        pod(containers=[main, helper], initContainers=[init("setup")], restartPolicy="Never", scripts=lives)
    )
    await node.pass_time(5)
    before = await node.get()
    assert states(before) == {"setup": "exit 0", "app": "running", "helper": "running"}
    await node.pass_time(10)
    after = await node.get()
    assert states(after) == {"setup": "exit 0", "app": "running", "helper": "running"}
    counts = {s.name: s.restart_count for s in after.status.container_statuses}
    assert counts == {"app": 1, "helper": 1}
    assert after.status.init_container_statuses[0].restart_count == 1
    assert after.status.pod_ip == before.status.pod_ip
    assert condition(after, "AllContainersRestarting") == "False"
    ends = [s.last_state.terminated for s in (*after.status.container_statuses, setup_of(after))]
    assert [(end.reason, end.exit_code, end.message) for end in ends if end is not None] == [
        ("RestartingAllContainers", 137, "The container is removed because RestartAllContainers in place")
    ] * 3
