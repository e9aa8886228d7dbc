"""Scripted exec, attach and port-forward."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from podling import clock
from podling.runtime.base import Container, ContainerState, Streams
from podling.runtime.sim import ContainerScript, ExecScript, PortScript
from podling.runtime.sim.life import Life
from podling.runtime.sim.memory_log import MemoryLog
from podling.runtime.sim.streams import attach_to, play_exec, play_port


@dataclass
class Terminal:
    """Both output streams of a client, and its input."""

    stdin: tuple[bytes, ...] | None = None
    out: list[bytes] = field(default_factory=list)
    errors: list[bytes] = field(default_factory=list)

    @property
    def streams(self) -> Streams:
        async def to_out(chunk: bytes) -> None:
            self.out.append(chunk)

        async def to_errors(chunk: bytes) -> None:
            self.errors.append(chunk)

        stdin = chunks(*self.stdin) if self.stdin is not None else None
        return Streams(stdin=stdin, stdout=to_out, stderr=to_errors)


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


def running(script: ContainerScript | None = None, *, stdin_once: bool = False) -> Life:
    container = Container(
        id="c",
        sandbox_id="s",
        name="app",
        attempt=0,
        state=ContainerState.CREATED,
        created_at=clock.now(),
    )
    script = script or ContainerScript()
    life = Life(container, script, MemoryLog(), lambda _event, _container: None, stdin_once=stdin_once)
    life.begin(1)
    return life


@pytest.mark.parametrize(("tty", "out", "errors"), [(False, [b"yes"], [b"no"]), (True, [b"yes", b"no"], [])])
async def test_exec_separates_streams_unless_on_a_terminal(
    tty: bool, out: list[bytes], errors: list[bytes]
) -> None:
    terminal = Terminal()
    answer = ExecScript(stdout="yes", stderr="no", exit_code=4)
    assert await play_exec(running(), answer, terminal.streams, tty=tty) == 4
    assert (terminal.out, terminal.errors) == (out, errors)


async def test_exec_echoes_its_input() -> None:
    terminal = Terminal(stdin=(b"a", b"b"))
    assert await play_exec(running(), ExecScript(echo=True), terminal.streams, tty=False) == 0
    assert terminal.out == [b"a", b"b"]


async def test_exec_is_killed_with_its_container() -> None:
    life = running()
    asyncio.get_running_loop().call_later(3, life.end, 0)
    before = clock.monotonic()
    assert await play_exec(life, ExecScript(seconds=60), Terminal().streams, tty=False) == 137
    assert clock.monotonic() - before == 3


async def test_attach_passes_output_on_until_the_end() -> None:
    life, terminal = running(), Terminal()
    life.write("before\n")
    loop = asyncio.get_running_loop()
    loop.call_later(1, life.write, "out\n")
    loop.call_later(2, life.write, "error\n", "stderr")
    loop.call_later(3, life.end, 0)
    await attach_to(life, terminal.streams, tty=False)
    assert (terminal.out, terminal.errors) == ([b"out\n"], [b"error\n"])
    assert life.listeners == []


@pytest.mark.parametrize(("stdin_once", "still_running"), [(True, False), (False, True)])
async def test_end_of_input_ends_a_container_that_reads_once(stdin_once: bool, still_running: bool) -> None:
    life = running(ContainerScript(echo=True), stdin_once=stdin_once)
    terminal = Terminal(stdin=(b"hello",))
    attached: asyncio.Task[Any] = asyncio.create_task(attach_to(life, terminal.streams, tty=False))
    await clock.sleep(60)
    assert terminal.out == [b"hello"]
    assert (life.running, attached.done()) == (still_running, not still_running)
    life.end(0)
    await attached


@pytest.mark.parametrize(
    ("script", "sent"),
    [
        (PortScript(port=80, reply="hi"), [b"hi"]),
        (PortScript(port=80, echo=True), [b"a", b"b"]),
        (PortScript(port=80, reply="hi", echo=True), [b"hi", b"a", b"b"]),
        (PortScript(port=80), []),
    ],
)
async def test_port_replies_and_echoes_as_scripted(script: PortScript, sent: list[bytes]) -> None:
    got: list[bytes] = []

    async def send(chunk: bytes) -> None:
        got.append(chunk)

    await play_port(script, chunks(b"a", b"b"), send)
    assert got == sent
