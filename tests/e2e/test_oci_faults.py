"""Helpers that hang, fail or vanish: a call that is given up leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from podling.runtime.base import ContainerState, RuntimeFailure
from podling.runtime.failures import DeadlineExceeded
from podling.runtime.oci import conmon, detect
from tests.support.oci_node import Node, missing, node

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.skipif(bool(missing()), reason=missing())]


def engine_that(tmp_path: Path, script: str) -> detect.Choice:
    """An OCI runtime that does what ``script`` says."""
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
    """The command lines of all processes that name a container."""
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
