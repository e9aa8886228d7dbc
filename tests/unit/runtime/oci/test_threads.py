"""Threads that live for one call."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Iterator

import pytest

from podling import clock
from podling.runtime.oci.threads import in_thread, wait_for_end

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


async def test_result_of_cancelled_call_is_undone() -> None:
    taken_back: list[str] = []
    calling = asyncio.create_task(in_thread(lambda: "result", undo=taken_back.append))
    await clock.sleep(0)  # lets it start its thread
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    assert taken_back == ["result"]


async def test_failure_of_cancelled_call_is_dropped() -> None:
    def work() -> None:
        raise ValueError

    calling = asyncio.create_task(in_thread(work, undo=wait_for_end))
    await clock.sleep(0)  # lets it start its thread
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling


async def test_thread_that_runs_first_returns_its_result() -> None:
    assert await in_thread(threading.get_ident, first=True) != threading.get_ident()
    with pytest.raises(ZeroDivisionError):
        await in_thread(lambda: 1 // 0, first=True)


async def test_caller_goes_on_while_the_thread_does_the_rest() -> None:
    rest = threading.Event()
    ended = threading.Event()

    def then() -> None:
        rest.wait(10)
        ended.set()

    assert await in_thread(lambda: "result", then=then) == "result"
    assert not ended.is_set()
    rest.set()
    assert ended.wait(10)


async def test_nothing_follows_a_failure() -> None:
    called = threading.Event()
    with pytest.raises(ZeroDivisionError):
        await in_thread(lambda: 1 // 0, then=called.set)
    assert not called.wait(0.05)
