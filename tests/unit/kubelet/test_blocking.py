"""Calls that block on behalf of pods, on a loop with real threads."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any

import pytest

from podling import clock
from podling.kubelet import blocking as module
from podling.kubelet.blocking import blocking, blocking_for_pod

POOL_SIZE = min(32, (os.cpu_count() or 1) + 4)


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 20))


def test_stuck_calls_for_pods_leave_the_pool_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POD_SECONDS", 0.1)
    release = threading.Event()

    async def story() -> None:
        pods = [f"pod-{number}" for number in range(2 * POOL_SIZE)]
        calls = [blocking_for_pod(uid, release.wait) for uid in pods]
        stuck = asyncio.gather(*calls, return_exceptions=True)
        assert await blocking(lambda: "answer") == "answer"
        assert {type(outcome) for outcome in await stuck} == {TimeoutError}

        before = threading.active_count()
        with pytest.raises(TimeoutError, match="an earlier call for the pod has not ended yet"):
            await blocking_for_pod(pods[0], release.wait)
        assert threading.active_count() == before
        assert await blocking_for_pod("another", lambda: 7) == 7

        release.set()
        for thread in threading.enumerate():
            if thread.name == "pod":
                thread.join()
        await clock.sleep(0)
        assert await blocking_for_pod(pods[0], lambda: 8) == 8

    run(story())


def test_failures_reach_the_caller() -> None:
    async def story() -> None:
        with pytest.raises(ZeroDivisionError):
            await blocking_for_pod("pod", lambda: 1 // 0)

    run(story())
