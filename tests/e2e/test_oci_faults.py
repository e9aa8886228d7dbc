"""Helpers that hang, fail or vanish: a call that is given up leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from podling.runtime.base import ContainerState, ExecTimeout, NamespaceOptions, RuntimeFailure
from podling.runtime.failures import DeadlineExceeded
from podling.runtime.oci import conmon, detect, linux
from podling.runtime.oci.host import birth
from podling.runtime.oci.processes import wait_for_ends
from tests.support.disks import fill
from tests.support.oci_node import DEADLINE_SECONDS, Node, missing, node

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.skipif(bool(missing()), reason=missing())]


def engine_that(tmp_path: Path, script: str) -> detect.Choice:
    """Return an OCI runtime that runs ``script``."""
    program = tmp_path / "engine"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    choice = detect.choose(detect.gather())
    assert choice.engine is not None
    return replace(choice, engine=replace(choice.engine, path=str(program)))


@pytest.fixture
async def hanging(tmp_path: Path) -> AsyncIterator[Node]:
    async with node(tmp_path, engine_that(tmp_path, f"echo $$ > {tmp_path}/started; exec sleep 5555")) as one:
        yield one


def processes_about(container: str) -> list[str]:
    """Return the command lines of all processes that name a container."""
    lines = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                line = Path(entry.path, "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if container in line:
                lines.append(line)
    return lines


async def test_a_start_that_hangs_can_be_given_up(hanging: Node, tmp_path: Path) -> None:
    sandbox = await hanging.pod()
    container = await hanging.create(sandbox)
    starting = asyncio.create_task(hanging.runtime.start_container(container))
    async with asyncio.timeout(20):
        while not await asyncio.to_thread((tmp_path / "started").exists):
            pass
    assert processes_about(container) != []
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert processes_about(container) == []
    status = await hanging.runtime.container_status(container)
    assert status.state is ContainerState.CREATED, "it did not fail, and may yet be started"
    await hanging.runtime.remove_sandbox(sandbox.id)
    assert hanging.traces() == []


async def test_a_start_that_hangs_too_long_has_failed(hanging: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conmon, "CREATE_SECONDS", 0.5)
    sandbox = await hanging.pod()
    container = await hanging.create(sandbox)
    with pytest.raises(DeadlineExceeded):
        await hanging.runtime.start_container(container)
    assert processes_about(container) == []
    status = await hanging.runtime.container_status(container)
    assert (status.state, status.reason, status.exit_code) == (ContainerState.EXITED, "StartError", 128)
    assert status.message == "context deadline exceeded"
    await hanging.runtime.remove_sandbox(sandbox.id)
    assert hanging.traces() == []


async def test_an_engine_that_fails_says_why(tmp_path: Path) -> None:
    async with node(tmp_path, engine_that(tmp_path, "echo 'no luck today' >&2; exit 1")) as here:
        sandbox = await here.pod()
        container = await here.create(sandbox)
        with pytest.raises(RuntimeFailure, match="no luck today"):
            await here.runtime.start_container(container)
        status = await here.runtime.container_status(container)
        assert (status.reason, status.exit_code) == ("StartError", 128)
        await here.runtime.remove_sandbox(sandbox.id)
        assert here.traces() == []


async def test_an_engine_that_talks_nonsense_is_found_out(tmp_path: Path) -> None:
    """It reports success and has made nothing."""
    async with node(tmp_path, engine_that(tmp_path, "echo 'x\\0{]'; exit 0")) as here:
        sandbox = await here.pod()
        container = await here.create(sandbox)
        with pytest.raises(RuntimeFailure):
            await here.runtime.start_container(container)
        assert processes_about(container) == []
        status = await here.runtime.container_status(container)
        assert (status.state, status.reason) == (ContainerState.EXITED, "StartError")
        with pytest.raises(RuntimeFailure):
            await here.pod(namespaces=NamespaceOptions(share_processes=True))
        await here.runtime.remove_sandbox(sandbox.id)
        assert here.traces() == []


async def test_a_command_that_hangs_in_the_engine_ends_with_its_time(tmp_path: Path) -> None:
    choice = detect.choose(detect.gather())
    assert choice.engine is not None
    hang = f'case "$*" in *" exec "*) echo $$ >{tmp_path}/hanging; exec sleep 5555;; esac'
    async with node(tmp_path, engine_that(tmp_path, f'{hang}; exec {choice.engine.path} "$@"')) as here:
        sandbox = await here.pod()
        container = await here.run(sandbox)
        with pytest.raises(ExecTimeout):
            await here.exec(container, "true", timeout=0.5)
        pid = int(await asyncio.to_thread((tmp_path / "hanging").read_text))
        await asyncio.to_thread(wait_for_ends, [pid], DEADLINE_SECONDS)
        assert birth(pid) == 0
        await here.runtime.stop_container(container, grace_seconds=5)
        await here.runtime.remove_sandbox(sandbox.id)
        assert here.traces() == []


async def test_an_end_is_known_and_a_pod_removed_on_a_full_disk(tmp_path: Path) -> None:
    """Nothing can be written: a new pod reports that, and existing pods can be removed."""
    disk = tmp_path / "disk"
    disk.mkdir()
    linux.mount("tmpfs", disk, "tmpfs", options="size=48m")
    try:
        async with node(disk) as here:
            sandbox = await here.pod()
            container = await here.run(sandbox)
            await asyncio.to_thread(fill, disk)
            with pytest.raises((RuntimeFailure, OSError), match="No space left on device"):
                await here.pod()
            with pytest.raises((RuntimeFailure, OSError), match="No space left on device"):
                await here.create(sandbox, name="other")
            assert (await here.exec(container, "true")).code == 0
            await here.runtime.stop_container(container, grace_seconds=5)
            assert (await here.runtime.container_status(container)).exit_code == 0
            await here.runtime.remove_sandbox(sandbox.id)
            assert here.traces() == []
            (disk / "ballast").unlink()
            assert (await here.exec(await here.run(await here.pod()), "true")).code == 0
    finally:
        linux.unmount(disk)


async def test_a_pod_given_up_while_it_is_made_leaves_nothing(tmp_path: Path) -> None:
    async with node(tmp_path) as here:
        for _ in range(20):
            making = asyncio.create_task(here.pod())
            for _ in range(3):
                await asyncio.to_thread(os.sched_yield)
            making.cancel()
            await asyncio.gather(making, return_exceptions=True)
        for sandbox in await here.runtime.list_sandboxes():
            await here.runtime.remove_sandbox(sandbox.id)
        assert here.traces() == []


async def test_a_container_given_up_while_it_is_made_leaves_nothing(tmp_path: Path) -> None:
    async with node(tmp_path) as here:
        sandbox = await here.pod()
        for _ in range(20):
            making = asyncio.create_task(here.run(sandbox))
            for _ in range(5):
                await asyncio.to_thread(os.sched_yield)
            making.cancel()
            await asyncio.gather(making, return_exceptions=True)
        await here.runtime.remove_sandbox(sandbox.id)
        assert here.traces() == []


async def test_without_a_network_a_pod_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    async with node(tmp_path) as here:
        await here.network.remove()
        with pytest.raises(RuntimeFailure, match="the pod network has been removed"):
            await here.pod()
        assert here.traces() == []
        status = await here.runtime.status()
        assert not status.network_ready
        assert status.network_message == "the pod network has been removed"
