"""Following logs: files across rotation, and logs in memory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from podling import clock
from podling.kubelet.file_watch import FileWatch
from podling.kubelet.server.log_sources import open_log
from podling.kubelet.server.log_turns import LogTurns
from podling.kubelet.server.logs import LogOptions, read_log
from podling.runtime.process import ProcessRuntime
from podling.runtime.sim import ContainerScript, LogScript, Run, SimRuntime
from tests.support.runtimes import start_app

REAL = pytest.mark.asyncio(loop_factories=["real"])


async def test_followed_log_grows_and_ends_with_its_container(tmp_path: Path) -> None:
    runtime = SimRuntime()
    script = ContainerScript(
        runs=(Run(seconds=3600),), logs=(LogScript(text="tick", every=600), LogScript(text="bye", after=3599))
    )
    container_id = await start_app(runtime, tmp_path, script=script)
    began, times = clock.now(), []
    async with open_log(runtime, container_id, str(tmp_path / "0.log"), FileWatch(), follow=True) as log:
        async for chunk in read_log(log, LogOptions(follow=True), LogTurns()):
            times.append((int((clock.now() - began).total_seconds()), chunk))
    ticks = [(seconds, b"tick\n") for seconds in range(0, 3600, 600)]
    assert times == [*ticks, (3599, b"bye\n")]
    assert (clock.now() - began).total_seconds() == 3600


async def test_log_of_an_ended_container_is_read_to_its_end(tmp_path: Path) -> None:
    runtime = SimRuntime()
    script = ContainerScript(runs=(Run(seconds=1),), logs=(LogScript(text="said"),))
    container_id = await start_app(runtime, tmp_path, script=script)
    await clock.sleep(5)
    for follow in (False, True):
        async with open_log(
            runtime, container_id, str(tmp_path / "0.log"), FileWatch(), follow=follow
        ) as log:
            read = [chunk async for chunk in read_log(log, LogOptions(follow=follow), LogTurns())]
        assert read == [b"said\n"]


@asynccontextmanager
async def processes(tmp_path: Path) -> AsyncIterator[ProcessRuntime]:
    runtime = ProcessRuntime(tmp_path / "state")
    await runtime.start()
    try:
        yield runtime
    finally:
        for sandbox in await runtime.list_sandboxes():
            await runtime.remove_sandbox(sandbox.id)
        await runtime.close()


@REAL
async def test_file_is_followed_across_its_rotation(tmp_path: Path) -> None:
    """No line is lost or read twice, although the file is renamed meanwhile."""
    gate, path = tmp_path / "gate", tmp_path / "logs" / "0.log"
    shell = f"echo one; read a < {gate}; echo two; read b < {gate}; echo three"
    async with processes(tmp_path) as runtime:
        os.mkfifo(gate)
        container_id = await start_app(runtime, tmp_path / "logs", shell=shell)
        watch, seen = FileWatch(), b""
        async with open_log(runtime, container_id, str(path), watch, follow=True) as log:
            async for chunk in read_log(log, LogOptions(follow=True), LogTurns()):
                seen += chunk
                if seen == b"one\n":
                    os.rename(path, tmp_path / "logs" / "0.log.old")
                    await runtime.reopen_log(container_id)
                    await asyncio.to_thread(gate.write_text, "go\n")
                elif seen == b"one\ntwo\n":
                    await asyncio.to_thread(gate.write_text, "go\n")
        watch.close()
        assert seen == b"one\ntwo\nthree\n"
        assert b"three" in path.read_bytes()
