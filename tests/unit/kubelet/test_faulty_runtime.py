"""Pods on a runtime that hangs, fails, or reports wrong states."""

from __future__ import annotations

import errno
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from podling import clock
from podling.api.core_v1 import Node
from podling.runtime.base import Container, ContainerState, RuntimeFailure, Sandbox
from podling.runtime.sim import Fault, FaultyRuntime
from podling.testing import ControlPlane
from tests.support.kubelet_node import NODE, SimNode, condition, pod, sim_node

PROBE = {"exec": {"command": ["true"]}, "periodSeconds": 1}
GRACE = 5
NO_SPACE = OSError(errno.ENOSPC, "No space left on device", "/data")
BROKEN = RuntimeFailure("broken")


@dataclass
class Ground:
    """A node with a faulty machine, and a second pod that must not be affected."""

    node: SimNode
    runtime: FaultyRuntime
    probed: list[float] = field(default_factory=list)

    async def begin(self) -> None:
        self.runtime.faults.append(Fault(verb="exec", pod="steady", lie=self._note))
        containers = [{"name": "app", "image": "x:1", "readinessProbe": PROBE, "livenessProbe": PROBE}]
        await self.node.create(pod("steady", containers=containers))
        await self.node.pass_time(10)
        self.before = await self.node.get("steady")
        assert condition(self.before, "Ready") == "True"

    def _note(self, answer: int) -> int:
        self.probed.append(clock.monotonic())
        return answer

    def breaks(self, *faults: Fault) -> None:
        self.runtime.faults.extend(faults)

    def heals(self) -> None:
        del self.runtime.faults[1:]

    async def nobody_noticed(self) -> None:
        """Check that the second pod runs and was probed in time, and that a new pod starts at once."""
        assert (await self.node.get("steady")).status == self.before.status
        late = [after - before for before, after in zip(self.probed[::2], self.probed[2::2], strict=False)]
        assert max(late) < 1.01, "a probe came late"
        name = f"later-{clock.monotonic():.0f}"
        await self.node.create(pod(name))
        await self.node.pass_time(2)
        assert condition(await self.node.get(name), "Ready") == "True"

    async def running(self, name: str = "web") -> list[tuple[str, int]]:
        """Return the containers of a pod that really run, despite the runtime's faults."""
        self.heals()
        boxes = {box.id for box in await self.runtime.list_sandboxes() if box.pod_name == name}
        found = await self.runtime.list_containers()
        return [(c.name, c.attempt) for c in found if c.sandbox_id in boxes and c.state is RUNNING]


RUNNING = ContainerState.RUNNING


@pytest.fixture
async def ground(cluster: ControlPlane, tmp_path: Path) -> AsyncIterator[Ground]:
    runtime = FaultyRuntime()
    async with sim_node(cluster, tmp_path, runtime=runtime) as node:
        found = Ground(node, runtime)
        await found.begin()
        yield found


def waiting(found: Any) -> str:
    """Return why the pod's one container waits: ``reason: message``."""
    (status,) = found.status.container_statuses
    state = status.state.waiting
    return f"{state.reason}: {state.message or ''}" if state is not None else "does not wait"


HANGING = {
    "run_sandbox": (
        "RunPodSandbox",
        "ContainerCreating: ",
        "FailedCreatePodSandBox: Failed to create pod sandbox: rpc error: code = DeadlineExceeded "
        "desc = context deadline exceeded",
    ),
    "create_container": (
        "CreateContainer",
        "CreateContainerError: context deadline exceeded",
        "Failed: Error: context deadline exceeded",
    ),
    "start_container": (
        "StartContainer",
        "RunContainerError: context deadline exceeded",
        "Failed: Error: context deadline exceeded",
    ),
}


@pytest.mark.parametrize("verb", HANGING)
async def test_a_hanging_call_is_shown_then_given_up_then_made_again(ground: Ground, verb: str) -> None:
    call, reason, event = HANGING[verb]
    ground.breaks(Fault(verb=verb, pod="web", hangs=True, times=2))
    await ground.node.create(pod())
    await ground.node.pass_time(5)
    assert waiting(await ground.node.get()) == "ContainerCreating: "
    await ground.node.pass_time(10)
    shown = waiting(await ground.node.get())
    assert shown.startswith(f"ContainerCreating: the container runtime has not answered {call} since 20")
    await ground.nobody_noticed()
    await ground.node.pass_time(105)
    assert waiting(await ground.node.get()) == reason
    assert event in await ground.node.events()
    await ground.node.pass_time(30)
    shown = waiting(await ground.node.get())
    assert shown.startswith(reason)
    assert f"has not answered {call} since 20" in shown
    await ground.node.pass_time(120)
    assert condition(await ground.node.get(), "Ready") == "True"
    assert len(await ground.running()) == 1
    await ground.nobody_noticed()


@pytest.mark.parametrize("done", [False, True], ids=["undone", "done"])
@pytest.mark.parametrize("verb", HANGING)
async def test_a_pod_whose_runtime_hangs_can_be_deleted(ground: Ground, verb: str, done: bool) -> None:
    ground.breaks(Fault(verb=verb, pod="web", hangs=True, done=done))
    await ground.node.create(pod(terminationGracePeriodSeconds=GRACE))
    await ground.node.pass_time(5)
    await ground.node.delete()
    await ground.node.pass_time(GRACE + 3)
    assert not await ground.node.exists()
    assert await ground.running() == []
    await ground.nobody_noticed()


FAILING = [
    (Fault(verb="run_sandbox", error=BROKEN), "ContainerCreating: ", "Failed to create pod sandbox: broken"),
    (Fault(verb="create_container", error=BROKEN), "CreateContainerError: broken", "Error: broken"),
    (Fault(verb="start_container", error=BROKEN), "RunContainerError: broken", "Error: broken"),
    (
        Fault(verb="run_sandbox", error=NO_SPACE),
        "ContainerCreating: ",
        "Failed to create pod sandbox: /data: no space left on device",
    ),
    (
        Fault(verb="create_container", error=NO_SPACE),
        "CreateContainerError: /data: no space left on device",
        "Error: /data: no space left on device",
    ),
    (
        Fault(verb="start_container", error=NO_SPACE),
        "RunContainerError: /data: no space left on device",
        "Error: /data: no space left on device",
    ),
    (
        Fault(verb="images.image_status", error=NO_SPACE),
        'ImageInspectError: Failed to inspect image "app:1": /data: no space left on device',
        'Failed to inspect image "app:1": /data: no space left on device',
    ),
    (
        Fault(verb="images.pull", error=NO_SPACE),
        'ErrImagePull: failed to pull and unpack image "app:1": /data: no space left on device',
        'Failed to pull image "app:1": failed to pull and unpack image "app:1": '
        "/data: no space left on device",
    ),
]


@pytest.mark.parametrize(
    ("fault", "reason", "event"), FAILING, ids=[f"{f[0].verb}-{type(f[0].error).__name__}" for f in FAILING]
)
async def test_failing_call_is_reported_and_retried(
    ground: Ground, fault: Fault, reason: str, event: str
) -> None:
    if not fault.verb.startswith("images"):
        fault = replace(fault, pod="web")
    ground.breaks(replace(fault, met=0))
    await ground.node.create(pod())
    await ground.node.pass_time(0.5)
    assert waiting(await ground.node.get()) == reason
    assert any(event in recorded for recorded in await ground.node.events())
    ground.heals()
    await ground.nobody_noticed()
    await ground.node.pass_time(15)
    assert condition(await ground.node.get(), "Ready") == "True"


@pytest.mark.parametrize("verb", ["create_container", "start_container", "run_sandbox"])
async def test_call_that_succeeds_with_an_error_is_not_repeated(ground: Ground, verb: str) -> None:
    ground.breaks(Fault(verb=verb, pod="web", error=BROKEN, done=True, times=2))
    await ground.node.create(pod())
    await ground.node.pass_time(60)
    assert condition(await ground.node.get(), "Ready") == "True"
    assert len(await ground.running()) == 1
    boxes = [box for box in await ground.runtime.list_sandboxes() if box.pod_name == "web"]
    assert len([box for box in boxes if box.ready]) == 1


async def test_pod_with_a_sidecar_waits_before_its_sandbox_is_tried_again(ground: Ground) -> None:
    fault = Fault(verb="run_sandbox", pod="web", error=BROKEN)
    ground.breaks(fault)
    sidecar = {"name": "side", "image": "x:1", "restartPolicy": "Always"}
    await ground.node.create(pod(initContainers=[sidecar]))
    await ground.node.pass_time(60)
    assert 2 <= fault.met <= 20
    ground.heals()
    await ground.node.pass_time(15)
    assert condition(await ground.node.get(), "Ready") == "True"


async def test_hanging_stop_is_reported_and_the_sandbox_ends_the_pod(ground: Ground) -> None:
    ground.breaks(Fault(verb="stop_container", pod="web", hangs=True))
    await ground.node.create(pod(terminationGracePeriodSeconds=GRACE))
    await ground.node.pass_time(5)
    await ground.node.delete()
    await ground.node.pass_time(GRACE + 60)
    assert await ground.node.exists()
    await ground.nobody_noticed()
    await ground.node.pass_time(80)
    assert (
        'FailedKillPod: error killing pod: failed to "KillContainer" for "app" with KillContainerError: '
        '"rpc error: code = DeadlineExceeded desc = context deadline exceeded"' in await ground.node.events()
    )
    assert not await ground.node.exists()
    assert await ground.running() == []


async def test_stop_without_effect_is_detected(ground: Ground) -> None:
    ground.breaks(Fault(verb="stop_container", pod="web"), Fault(verb="stop_sandbox", pod="web"))
    await ground.node.create(pod(terminationGracePeriodSeconds=GRACE))
    await ground.node.pass_time(5)
    await ground.node.delete()
    await ground.node.pass_time(GRACE + 30)
    assert await ground.node.exists(), "it still runs"
    text = "FailedKillPod: error killing pod: containers still run after they were killed: app"
    assert text in await ground.node.events()
    await ground.nobody_noticed()
    ground.heals()
    await ground.node.pass_time(30)
    assert not await ground.node.exists()
    assert await ground.running() == []


async def test_a_pod_that_cannot_be_removed_is_removed_later(ground: Ground) -> None:
    ground.breaks(Fault(verb="remove_sandbox", pod="web", error=BROKEN))
    await ground.node.create(pod(terminationGracePeriodSeconds=GRACE))
    await ground.node.pass_time(5)
    await ground.node.delete()
    await ground.node.pass_time(30)
    await ground.nobody_noticed()
    ground.heals()
    await ground.node.pass_time(30)
    assert not await ground.node.exists()
    assert [box for box in await ground.runtime.list_sandboxes() if box.pod_name == "web"] == []


def lose_web(found: tuple[Container, ...]) -> tuple[Container, ...]:
    return tuple(container for container in found if container.image != "web:1")


def double(found: tuple[Container, ...]) -> tuple[Container, ...]:
    twins = [structs.replace(one, id=f"{one.id[:-1]}x") for one in found if one.image == "web:1"]
    return (*found, *twins)


def undying(found: tuple[Container, ...]) -> tuple[Container, ...]:
    return tuple(
        structs.replace(one, state=RUNNING, exit_code=None, finished_at=None) if one.image == "web:1" else one
        for one in found
    )


def no_exit_codes(found: tuple[Container, ...]) -> tuple[Container, ...]:
    return tuple(structs.replace(one, exit_code=None, reason="") for one in found)


WEB = [{"name": "app", "image": "web:1"}]


@pytest.mark.parametrize("lie", [lose_web, double, undying])
async def test_wrong_lists_end_with_one_instance_of_each_container(ground: Ground, lie: Any) -> None:
    await ground.node.create(pod(containers=WEB))
    await ground.node.pass_time(5)
    ground.breaks(Fault(verb="list_containers", lie=lie))
    await ground.node.pass_time(60)
    await ground.nobody_noticed()
    ground.heals()
    await ground.node.pass_time(60)
    assert len(await ground.running()) == 1
    assert condition(await ground.node.get(), "Ready") == "True"
    await ground.node.delete(grace_seconds=1)
    await ground.node.pass_time(5)
    assert await ground.running() == []


def lose_box(found: tuple[Sandbox, ...]) -> tuple[Sandbox, ...]:
    return tuple(box for box in found if box.pod_name != "web")


async def test_containers_that_come_to_light_after_the_end_of_their_pod_are_killed(ground: Ground) -> None:
    await ground.node.create(pod(containers=WEB, restartPolicy="Never"))
    await ground.node.pass_time(5)
    ground.breaks(Fault(verb="list_containers", lie=lose_web), Fault(verb="list_sandboxes", lie=lose_box))
    await ground.node.pass_time(60)
    assert (await ground.node.get()).status.phase == "Failed"
    assert await ground.running() == [("app", 0)]
    await ground.node.pass_time(60)
    assert await ground.running() == []


async def test_a_missing_exit_code_is_a_failure(ground: Ground) -> None:
    ground.breaks(Fault(verb="list_containers", lie=no_exit_codes))
    await ground.node.create(pod(script={"runs": [{"seconds": 2}]}, restartPolicy="Never"))
    await ground.node.pass_time(10)
    found = await ground.node.get()
    assert found.status.phase == "Failed"
    ended = found.status.container_statuses[0].state.terminated
    assert ended is not None
    assert (ended.exit_code, ended.reason) == (137, "Error")
    await ground.nobody_noticed()


async def test_ended_container_listed_as_running_is_killed_by_its_probe(ground: Ground) -> None:
    probed = [{**WEB[0], "livenessProbe": {**PROBE, "failureThreshold": 2}}]
    await ground.node.create(pod(containers=probed, script={"runs": [{"seconds": 20}, {}]}))
    await ground.node.pass_time(5)
    ground.breaks(Fault(verb="list_containers", lie=undying))
    await ground.node.pass_time(30)
    assert any("Liveness probe" in recorded for recorded in await ground.node.events()), (
        await ground.node.events()
    )
    ground.heals()
    await ground.node.pass_time(30)
    assert await ground.running() == [("app", 1)]


async def test_a_command_that_never_returns_fails_its_probe(ground: Ground) -> None:
    """This holds even if the runtime ignores the time limit that it was given."""
    ground.breaks(Fault(verb="exec", pod="web", hangs=True))
    await ground.node.create(pod(containers=[{**WEB[0], "readinessProbe": PROBE}]))
    await ground.node.pass_time(130)
    found = await ground.node.get()
    assert condition(found, "Ready") == "False ContainersNotReady"
    assert any("Unhealthy: Readiness probe" in recorded for recorded in await ground.node.events())
    await ground.nobody_noticed()
    ground.heals()
    await ground.node.pass_time(130)
    assert condition(await ground.node.get(), "Ready") == "True"


@pytest.mark.parametrize(
    "fault",
    [
        Fault(verb="stats", hangs=True),
        Fault(verb="stats", error=BROKEN),
        Fault(verb="stats", error=NO_SPACE),
        Fault(verb="images.list_images", error=BROKEN),
        Fault(verb="images.list_images", hangs=True),
        Fault(verb="images.remove_image", error=NO_SPACE),
        Fault(verb="events"),
        Fault(verb="list_containers", error=BROKEN, times=3),
        Fault(verb="list_sandboxes", error=NO_SPACE, times=3),
        Fault(verb="container_status", error=BROKEN),
    ],
    ids=lambda fault: f"{fault.verb}-{'hangs' if fault.hangs else type(fault.error).__name__}",
)
async def test_containers_of_no_pod_do_no_harm(ground: Ground, fault: Fault) -> None:
    ground.breaks(replace(fault, met=0))
    await ground.node.create(pod(script={"runs": [{"seconds": 20, "exitCode": 1}, {}]}))
    await ground.node.pass_time(300)
    assert (await ground.node.get("steady")).status == ground.before.status
    ground.heals()
    await ground.node.pass_time(30)
    assert len(await ground.running()) == 1
    await ground.nobody_noticed()


async def test_a_runtime_that_does_not_answer_at_all_makes_the_node_not_ready(ground: Ground) -> None:
    ground.breaks(Fault(verb="status", hangs=True))
    await ground.node.pass_time(140)
    node = await ground.node.client.get(Node, NODE)
    (ready,) = [held for held in node.status.conditions if held.type == "Ready"]
    assert (ready.status, ready.reason) == ("False", "KubeletNotReady")
    assert ready.message == "container runtime is down: context deadline exceeded"
    ground.heals()
    await ground.node.pass_time(150)
    node = await ground.node.client.get(Node, NODE)
    assert any(held.type == "Ready" and held.status == "True" for held in node.status.conditions)


async def test_a_pull_that_hangs_holds_up_only_pulls(ground: Ground) -> None:
    ground.breaks(Fault(verb="images.pull", hangs=True, times=1))
    await ground.node.create(pod())
    await ground.node.pass_time(60)
    assert 'Pulling: Pulling image "app:1"' in await ground.node.events()
    await ground.node.create(pod("present", containers=[{"name": "app", "image": "x:1"}]))
    await ground.node.pass_time(2)
    assert condition(await ground.node.get("present"), "Ready") == "True"
    await ground.node.delete(grace_seconds=1)
    await ground.node.pass_time(3)
    assert not await ground.node.exists()
    await ground.nobody_noticed()


async def test_relist_finds_ended_containers_without_events(ground: Ground) -> None:
    ground.breaks(Fault(verb="events"))
    await ground.node.restart()
    await ground.node.create(pod(script={"runs": [{"seconds": 20, "exitCode": 1}, {}]}))
    await ground.node.pass_time(28)
    (status,) = (await ground.node.get()).status.container_statuses
    assert (status.restart_count, status.state.running is not None) == (1, True)
