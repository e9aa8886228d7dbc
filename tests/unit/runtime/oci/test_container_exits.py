"""Exit files of monitors and ends of processes, as they appear."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from podling.runtime.oci.container_exits import ExitWatch, Running

pytestmark = pytest.mark.asyncio(loop_factories=["real"])

CONTAINER = "c" * 64


async def test_exit_files_are_reported_and_temporary_files_are_not(tmp_path: Path) -> None:
    seen: asyncio.Queue[str] = asyncio.Queue()
    watch = ExitWatch(tmp_path, seen.put_nowait)
    watch.start()
    try:
        temporary = os.path.join(tmp_path, f".{CONTAINER}.part")
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT))
        os.rename(temporary, os.path.join(tmp_path, CONTAINER))
        assert await seen.get() == CONTAINER
        assert seen.empty()
    finally:
        watch.close()
    watch.close()


async def test_end_of_process_is_reported_once() -> None:
    process = await asyncio.create_subprocess_exec("sleep", "600")
    ended = asyncio.Event()
    running = Running(os.pidfd_open(process.pid), ended.set)
    assert not ended.is_set()
    process.kill()
    await ended.wait()
    await process.wait()
    assert not running.recorded.is_set()
    running.close()
    running.close()
    assert running.descriptor == -1
