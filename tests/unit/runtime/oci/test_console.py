"""Terminals received from the OCI runtime."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from podling.runtime.oci.console import Console
from podling.runtime.oci.threads import in_thread

pytestmark = [
    pytest.mark.asyncio(loop_factories=["real"]),  # processes do not know virtual time
    pytest.mark.skipif(sys.platform != "linux", reason="pidfd, /proc"),
]


@pytest.fixture(autouse=True)
def nothing_stays_open() -> Iterator[None]:
    before = set(os.listdir("/proc/self/fd"))
    yield
    left = set(os.listdir("/proc/self/fd")) - before
    kinds = {number: _what(number) for number in left}
    assert not [number for number, kind in kinds.items() if kind.startswith(("pipe", "socket", "/dev/pt"))]


def _what(number: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{number}")
    except OSError:
        return ""


@pytest.fixture
def console(tmp_path: Path) -> Iterator[Console]:
    made = Console(tmp_path)
    made.listen()
    yield made
    made.close()


@pytest.fixture
def sent() -> Iterator[int]:
    """One end of a terminal, for an engine to send; ours is closed with the other."""
    ours, theirs = os.openpty()
    yield ours
    os.close(ours)
    os.close(theirs)


async def test_received_terminal_belongs_to_its_taker(console: Console, sent: int) -> None:
    receiving = asyncio.create_task(console.receive())
    await in_thread(lambda: _send(console.path, sent))
    await receiving
    terminal = console.take()
    assert os.isatty(terminal)
    assert console.take() == -1
    os.close(terminal)


async def test_terminal_sent_early_is_taken(console: Console, sent: int) -> None:
    """The engine of a short command may have ended by then."""
    _send(console.path, sent)
    terminal = console.take()
    assert os.isatty(terminal)
    os.close(terminal)


async def test_console_without_terminal_takes_none(console: Console) -> None:
    assert console.take() == -1


async def test_untaken_terminal_is_closed(console: Console, sent: int) -> None:
    receiving = asyncio.create_task(console.receive())
    await in_thread(lambda: _send(console.path, sent))
    await receiving


def _send(path: str, descriptor: int) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(path)
        socket.send_fds(connection, [b"terminal"], [descriptor])
