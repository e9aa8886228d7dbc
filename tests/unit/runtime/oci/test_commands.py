"""Helper programs: awaited without blocking, killed when given up, nothing left open."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from podling.runtime.base import RuntimeFailure
from podling.runtime.oci import commands
from tests.support.descriptors import no_descriptors

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


async def test_output_errors_and_code_are_kept_apart() -> None:
    finished = await commands.run(["sh", "-c", "echo out; echo err >&2; exit 3"], check=False)
    assert (finished.code, finished.output, finished.errors) == (3, "out", "err")


async def test_much_goes_in_and_out_at_once() -> None:
    data = bytes(range(256)) * 4096
    finished = await commands.run(["cat"], stdin=data)
    assert finished.raw == data


async def test_unread_input_is_no_failure() -> None:
    finished = await commands.run(["true"], stdin=b"x" * (1 << 20))
    assert finished.code == 0


async def test_a_failure_names_the_command_and_its_words() -> None:
    with pytest.raises(RuntimeFailure, match=r"^sh failed: broken$"):
        await commands.run(["sh", "-c", "echo broken >&2; exit 1"])
    with pytest.raises(RuntimeFailure, match=r"^false failed: exit code 1$"):
        await commands.run(["false"])
    with pytest.raises(RuntimeFailure, match=r"/no/such/program cannot be run: No such file or directory"):
        await commands.run(["/no/such/program"])


async def test_hanging_command_is_killed_with_children(tmp_path: Path) -> None:
    """Both hold the pipe open: its end of file is the end of both."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = asyncio.create_task(asyncio.to_thread(pipe.read_text))
    with pytest.raises(RuntimeFailure, match=r"sh did not end within 0\.5 s"):
        await commands.run(["sh", "-c", f"exec 9> {pipe}; echo held >&9; sleep 4444 & wait"], deadline=0.5)
    async with asyncio.timeout(10):
        assert await reading == "held\n"


async def test_only_what_is_not_private_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "secret")
    finished = await commands.run(["env"])
    assert "TOKEN" not in finished.output
    assert "PATH=" in finished.output


async def test_a_command_that_leaves_a_process_behind_is_not_waited_for() -> None:
    await commands.run_detached(["sh", "-c", "sleep 1 & exit 0"])
    with pytest.raises(RuntimeFailure, match="sh failed: said before"):
        await commands.run_detached(["sh", "-c", "echo said before; exit 1"])


async def test_child_is_awaited_without_a_free_descriptor() -> None:
    process = subprocess.Popen(["sleep", "0.05"])  # noqa: ASYNC220
    with no_descriptors():
        assert await commands.wait(process) == 0
