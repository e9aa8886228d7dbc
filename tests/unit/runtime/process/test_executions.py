"""Streams of host processes under stress: slow readers, several readers, terminals."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from podling import clock
from podling.runtime.base import ContainerSpec, ContainerState, SandboxSpec, Streams
from podling.runtime.process import ProcessRuntime

pytestmark = pytest.mark.asyncio(loop_factories=["real", "uvloop"])

DEADLINE_SECONDS = 20.0


@pytest.fixture
async def runtime(tmp_path: Path) -> AsyncIterator[ProcessRuntime]:
    runtime = ProcessRuntime(tmp_path / "state")
    await runtime.start()
    yield runtime
    for sandbox in await runtime.list_sandboxes():
        await runtime.remove_sandbox(sandbox.id)
    await runtime.close()


async def start(
    runtime: ProcessRuntime, logs: Path, shell: str, *, stdin: bool = False, tty: bool = False
) -> str:
    sandbox = await runtime.run_sandbox(
        SandboxSpec(pod_uid="uid", pod_name="web", pod_namespace="default", log_directory=logs)
    )
    image = await runtime.images.pull("podling.local/host")
    container_id = await runtime.create_container(
        sandbox.id,
        ContainerSpec(
            name="app",
            image=image.id,
            command=("sh", "-c", shell),
            log_path=logs / "0.log",
            stdin=stdin,
            tty=tty,
        ),
    )
    await runtime.start_container(container_id)
    return container_id


class Reader:
    """Keeps what comes; can be slow, and can be waited for."""

    def __init__(self, pause_seconds: float = 0) -> None:
        self.received = b""
        self._pause_seconds = pause_seconds
        self._changed = asyncio.Event()

    async def take(self, chunk: bytes) -> None:
        if self._pause_seconds:
            await clock.sleep(self._pause_seconds)
        self.received += chunk
        self._changed.set()

    async def until(self, text: bytes) -> None:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while text not in self.received:
                self._changed.clear()
                await self._changed.wait()


class Typist:
    """Input that a test types piece by piece."""

    def __init__(self) -> None:
        self._typed: asyncio.Queue[bytes | None] = asyncio.Queue()

    def type(self, text: bytes | None) -> None:
        """Type ``text``; None is the end."""
        self._typed.put_nowait(text)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (text := await self._typed.get()) is not None:
            yield text


async def test_a_slow_reader_gets_everything_and_so_does_the_log(
    runtime: ProcessRuntime, tmp_path: Path
) -> None:
    """More than all buffers hold: the container has to wait for its reader, and loses nothing."""
    container_id = await start(runtime, tmp_path / "logs", "read go; seq 1 400000; read end", stdin=True)
    reader, typist = Reader(pause_seconds=0.001), Typist()
    attached = asyncio.create_task(
        runtime.attach(container_id, Streams(stdin=aiter(typist), stdout=reader.take))
    )
    typist.type(b"go\n")
    await reader.until(b"\n400000\n")
    typist.type(b"end\n")
    async with asyncio.timeout(DEADLINE_SECONDS):
        await attached
    expected = b"".join(b"%d\n" % number for number in range(1, 400_001))
    assert reader.received == expected
    assert (tmp_path / "logs" / "0.log").read_bytes().count(b" stdout ") >= 400_000


async def test_everyone_attached_sees_the_same(runtime: ProcessRuntime, tmp_path: Path) -> None:
    container_id = await start(
        runtime, tmp_path / "logs", "while read line; do echo got $line; done", stdin=True
    )
    readers, typist = [Reader(), Reader()], Typist()
    tasks = [
        asyncio.create_task(
            runtime.attach(container_id, Streams(stdin=aiter(typist), stdout=readers[0].take))
        ),
        asyncio.create_task(runtime.attach(container_id, Streams(stdout=readers[1].take))),
    ]
    typist.type(b"one\n")
    await readers[0].until(b"got one\n")
    typist.type(b"two\n")
    for reader in readers:
        await reader.until(b"got two\n")
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (await runtime.container_status(container_id)).state is ContainerState.RUNNING


async def sizes(*pairs: tuple[int, int]) -> AsyncIterator[tuple[int, int]]:
    for pair in pairs:
        yield pair


async def test_a_terminal_has_the_size_of_its_users(runtime: ProcessRuntime, tmp_path: Path) -> None:
    container_id = await start(
        runtime, tmp_path / "logs", "while read line; do stty size; done", stdin=True, tty=True
    )
    reader, typist = Reader(), Typist()
    attached = asyncio.create_task(
        runtime.attach(
            container_id, Streams(stdin=aiter(typist), stdout=reader.take, resizes=sizes((80, 24))), tty=True
        )
    )
    # Orders on one connection are obeyed one after another, but size and input come from two tasks here.
    typist.type(b"\n")
    while b"24 80" not in reader.received:
        typist.type(b"\n")
        await clock.sleep(0.02)
    attached.cancel()
    await asyncio.gather(attached, return_exceptions=True)


async def test_exec_has_a_terminal_of_its_own(runtime: ProcessRuntime, tmp_path: Path) -> None:
    container_id = await start(runtime, tmp_path / "logs", "exec sleep 3600")
    reader, typist = Reader(), Typist()
    command = ["sh", "-c", "echo $TERM; trap 'stty size' WINCH; while read line; do stty size; done"]
    running = asyncio.create_task(
        runtime.exec(
            container_id,
            command,
            Streams(stdin=aiter(typist), stdout=reader.take, resizes=sizes((132, 43))),
            tty=True,
        )
    )
    await reader.until(b"xterm\r\n")
    typist.type(b"\n")
    await reader.until(b"43 132\r\n")
    typist.type(None)
    async with asyncio.timeout(DEADLINE_SECONDS):
        assert await running == 0
