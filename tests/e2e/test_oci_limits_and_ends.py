"""Real containers within their limits, and their ends: processes killed, use counted, remains."""

from __future__ import annotations

import asyncio
import os
import select
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from podling.runtime.base import (
    ContainerState,
    ExecTimeout,
    LinuxResources,
    NamespaceOptions,
    RuntimeFailure,
    Streams,
)
from tests.support.oci_node import DEADLINE_SECONDS, Node, missing, node

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.skipif(bool(missing()), reason=missing())]


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Node]:
    async with node(tmp_path) as running:
        yield running


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


async def test_memory_limit_kills_the_container(here: Node) -> None:
    hungry = ("sh", "-c", "x=a; while :; do x=$x$x; done")
    container, _ = await here.finish(
        await here.pod(), *hungry, resources=LinuxResources(memory_limit=16 << 20)
    )
    assert (container.exit_code, container.reason) == (137, "OOMKilled")


async def test_limits_change_while_it_runs(here: Node) -> None:
    limits = LinuxResources(memory_limit=64 << 20, memory_swap_limit=64 << 20, cpu_shares=512)
    container = await here.run(await here.pod(), resources=limits)
    for size in (128 << 20, 32 << 20):
        change = LinuxResources(memory_limit=size, memory_swap_limit=size)
        await here.runtime.update_resources(container, change)
        status = await here.runtime.container_status(container)
        assert status.resources is not None
        assert (status.resources.memory_limit, status.resources.cpu_shares) == (size, 512)
    with pytest.raises(RuntimeFailure, match="cannot change the resources"):
        await here.runtime.update_resources(container, LinuxResources(cpu_quota=1))


async def test_a_pods_limit_holds_for_all_of_it(here: Node) -> None:
    sandbox = await here.pod(resources=LinuxResources(memory_limit=16 << 20, pids_limit=64))
    container, _ = await here.finish(sandbox, "sh", "-c", "x=a; while :; do x=$x$x; done")
    assert container.exit_code == 137


async def test_use_is_measured(here: Node) -> None:
    container = await here.run(await here.pod(), "sh", "-c", "head -c 1000000 /dev/zero > /file; sleep 3600")
    while (await here.exec(container, "sh", "-c", "test $(stat -c %s /file) = 1000000")).code:
        pass
    (use,) = await here.runtime.stats()
    assert use.container_id == container
    assert use.writable_layer_bytes >= 1_000_000
    assert use.processes >= 1
    assert min(use.cpu_nanoseconds, use.memory_bytes) > 0


async def test_children_of_a_timed_out_command_are_killed(here: Node) -> None:
    container = await here.run(await here.pod())
    with pytest.raises(ExecTimeout):
        await here.exec(container, "sh", "-c", "(setsid sleep 7777 &) ; sleep 8888", timeout=0.5)
    assert "8888" not in (await here.exec(container, "ps")).out


async def test_processes_left_behind_end_with_their_container(here: Node) -> None:
    sandbox = await here.pod(namespaces=NamespaceOptions(share_processes=True))
    await here.finish(sandbox, "sh", "-c", "setsid sleep 7777 & exit 0", name="one")
    other = await here.run(sandbox, name="two")
    assert "7777" not in (await here.exec(other, "ps")).out


async def test_a_container_whose_monitor_was_killed_still_ends(here: Node) -> None:
    container = await here.run(await here.pod())
    pid = (await here.runtime.container_status(container)).pid
    assert pid is not None
    os.kill(parent_of(pid), signal.SIGKILL)
    await here.runtime.stop_container(container, grace_seconds=0)
    status = await here.ended(container)
    assert (status.exit_code, status.reason) == (255, "Error")
    assert status.message == "the container's monitor is gone, and with it the exit code"


async def test_attach_is_refused_when_the_container_ended_before_its_monitor(here: Node) -> None:
    container = await here.run(await here.pod())
    pid = (await here.runtime.container_status(container)).pid
    assert pid is not None
    monitor, ended = parent_of(pid), os.pidfd_open(pid)
    os.kill(monitor, signal.SIGSTOP)
    try:
        signal.pidfd_send_signal(ended, signal.SIGKILL)
        await asyncio.to_thread(select.select, [ended], [], [], DEADLINE_SECONDS)
        async with asyncio.timeout(DEADLINE_SECONDS):
            with pytest.raises(RuntimeFailure, match="container is in CONTAINER_EXITED state"):
                await here.runtime.attach(container, Streams())
    finally:
        os.close(ended)
        os.kill(monitor, signal.SIGCONT)
    await here.ended(container)


async def test_nothing_is_left_of_a_pod(here: Node) -> None:
    sandbox = await here.pod()
    assert sandbox.ips
    for name in ("one", "two"):
        await here.run(sandbox, name=name)
    await here.create(sandbox, name="never-started")
    assert here.traces() != []
    await here.runtime.remove_sandbox(sandbox.id)
    assert here.traces() == []


async def test_fifty_pods_at_once(here: Node) -> None:
    async def one() -> str:
        return await here.run(await here.pod())

    async with asyncio.timeout(DEADLINE_SECONDS * 2):
        containers = await asyncio.gather(*(one() for _ in range(50)))
    states = [(await here.runtime.container_status(container)).state for container in containers]
    assert states == [ContainerState.RUNNING] * 50
    sandboxes = await here.runtime.list_sandboxes()
    assert len({sandbox.ips for sandbox in sandboxes}) == 50
    await asyncio.gather(*(here.runtime.remove_sandbox(sandbox.id) for sandbox in sandboxes))
    assert here.traces() == []
