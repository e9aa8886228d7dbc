"""The streams of simulated containers: scripted ``exec``, ``attach`` and port-forward."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from podling import clock
from podling.runtime.base import Streams
from podling.runtime.sim.life import KILLED, Life
from podling.runtime.sim.script import ExecScript, PortScript


async def play_exec(life: Life, answer: ExecScript, io: Streams, *, tty: bool) -> int:
    """Give a scripted answer; the container's end ends it too, as killed."""
    if answer.echo and io.stdin is not None:
        async for chunk in io.stdin:
            await _send(io, chunk, "stdout", tty=tty)
    if answer.stdout:
        await _send(io, answer.stdout.encode(), "stdout", tty=tty)
    if answer.stderr:
        await _send(io, answer.stderr.encode(), "stderr", tty=tty)
    if answer.seconds > 0 and await clock.wait_for(life.exited, answer.seconds):
        return KILLED
    return answer.exit_code


async def attach_to(life: Life, io: Streams, *, tty: bool) -> None:
    """Pass on what the container writes from now on, until it ends."""
    written: asyncio.Queue[tuple[bytes, str] | None] = asyncio.Queue()

    def listen(chunk: bytes, stream: str) -> None:
        written.put_nowait((chunk, stream))

    async def wait_for_end() -> None:
        await life.exited.wait()
        written.put_nowait(None)

    life.listeners.append(listen)
    try:
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(wait_for_end())
            reading = tasks.create_task(_read_input(life, io.stdin)) if io.stdin is not None else None
            while (item := await written.get()) is not None:
                await _send(io, *item, tty=tty)
            for task in filter(None, (watching, reading)):
                task.cancel()
    finally:
        life.listeners.remove(listen)


async def _read_input(life: Life, stdin: AsyncIterator[bytes]) -> None:
    async for chunk in stdin:
        if life.script.echo and life.running:
            life.write(chunk.decode(errors="replace"))
    if life.script.echo and life.stdin_once:
        life.end(0)


async def play_port(
    script: PortScript, inbound: AsyncIterator[bytes], send: Callable[[bytes], Awaitable[None]]
) -> None:
    """Answer a forwarded connection: the reply at once, then echo if scripted, until it is closed."""
    if script.reply:
        await send(script.reply.encode())
    async for chunk in inbound:
        if script.echo:
            await send(chunk)


async def _send(io: Streams, chunk: bytes, stream: str, *, tty: bool) -> None:
    sink = io.stdout if tty or stream == "stdout" else io.stderr
    if sink is not None:
        await sink(chunk)
