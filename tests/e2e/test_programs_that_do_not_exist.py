"""A container whose program does not exist: its states, its end and its events, with each OCI runtime."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from podling import clock
from podling.api.core_v1 import ContainerStatus, Event, Pod
from podling.kubelet.config import KubeletConfig
from podling.runtime.oci import detect
from tests.support import oci_node
from tests.support.real_kubelet import RealNode, real_node

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.skipif(bool(oci_node.missing()), reason=oci_node.missing()),
]

NAMED = 'exec: "no-such-program": executable file not found in $PATH'
PLACED = 'exec: "/no/such/program": stat /no/such/program: no such file or directory'
DEADLINE_SECONDS = 30.0


@pytest.fixture(params=["crun", "runc"])
async def node(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[RealNode]:
    if shutil.which(request.param) is None:
        pytest.skip(f"needs {request.param}")
    facts = detect.gather()
    choice = detect.choose(facts if request.param == "crun" else replace(facts, crun=""))
    assert choice.engine is not None
    assert choice.engine.name == request.param
    config = KubeletConfig(eviction_hard={}, crash_loop_back_off_max=1.0)
    async with real_node(tmp_path, config, choice=choice) as running:
        yield running


async def seen(
    node: RealNode, name: str, until: Callable[[ContainerStatus], bool]
) -> tuple[list[ContainerStatus], Pod]:
    """Return every distinct status of the pod's container up to the one that is looked for."""
    found: list[ContainerStatus] = []
    async with asyncio.timeout(DEADLINE_SECONDS):
        while True:
            pod = await node.client.get(Pod, name, "default")
            for status in (*pod.status.init_container_statuses, *pod.status.container_statuses)[:1]:
                if not found or found[-1] != status:
                    found.append(status)
                if until(status):
                    return found, pod
            await clock.sleep(0.01)


def waiting(status: ContainerStatus) -> str:
    return (status.state.waiting.reason or "") if status.state.waiting else ""


async def events(node: RealNode, name: str, reason: str) -> list[tuple[str, str, str]]:
    listing = await node.client.list(Event, "default")
    return [
        (event.type or "", event.message or "", event.involved_object.field_path or "")
        for event in listing.items
        if event.involved_object.name == name and event.reason == reason
    ]


@pytest.mark.parametrize(("program", "message"), [("no-such-program", NAMED), ("/no/such/program", PLACED)])
async def test_missing_program_is_a_start_error_and_is_tried_again(
    node: RealNode, program: str, message: str
) -> None:
    running = await node.run("neighbour", {"name": "main"})
    await node.create("absent", {"name": "main", "command": [program]})
    statuses, pod = await seen(node, "absent", lambda status: status.restart_count == 2)
    assert pod.status.phase == "Running", "a container that has ended once counts as started"
    words = [waiting(status) for status in statuses if status.state.waiting]
    assert (
        {"RunContainerError", "CrashLoopBackOff"}
        <= set(words)
        <= {
            "ContainerCreating",
            "RunContainerError",
            "CrashLoopBackOff",
        }
    )
    for status in statuses:
        if waiting(status) == "RunContainerError":
            assert status.state.waiting is not None
            assert status.state.waiting.message == message
        if waiting(status) == "CrashLoopBackOff":
            assert status.state.waiting is not None
            assert (status.state.waiting.message or "").startswith(
                "back-off 1s restarting failed container=main pod=absent_default("
            )
        assert status.state.running is None, "it never runs"
        ended = status.state.terminated or status.last_state.terminated
        if waiting(status) in ("RunContainerError", "CrashLoopBackOff"):
            assert ended is not None
        if ended is not None:
            assert (ended.reason, ended.exit_code, ended.message) == ("StartError", 128, message)
            assert ended.container_id
            assert ended.finished_at is not None
    assert statuses[-1].ready is False
    assert statuses[-1].started is False
    path = "spec.containers{main}"
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not (backed_off := await events(node, "absent", "BackOff")):
            await clock.sleep(0.05)
    assert await events(node, "absent", "Failed") == [("Warning", f"Error: {message}", path)]
    assert await events(node, "absent", "Started") == []
    assert [type_ for type_, _, _ in backed_off] == ["Warning"]
    found = await node.client.get(Pod, "neighbour", "default")
    assert found.status.container_statuses == running.status.container_statuses


async def test_pod_that_is_not_restarted_fails_with_its_missing_program(node: RealNode) -> None:
    await node.create("once", {"name": "main", "command": ["no-such-program"]}, restartPolicy="Never")
    pod = await node.phase("once", "Failed")
    (status,) = pod.status.container_statuses
    assert status.state.terminated is not None
    assert (status.state.terminated.reason, status.state.terminated.exit_code) == ("StartError", 128)
    assert status.state.terminated.message == NAMED
    assert status.restart_count == 0
