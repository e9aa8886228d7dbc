"""Calls that block on behalf of pods, on a loop with real threads."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from podling import clock
from podling.api.core_v1 import FileKeySelector
from podling.kubelet import blocking as module
from podling.kubelet import labels
from podling.kubelet.blocking import blocking, blocking_for_pod
from podling.kubelet.containers.env_file import read_env_file
from podling.kubelet.containers.messages import termination_message
from podling.kubelet.failures import MissingReference
from podling.runtime.base import Container, ContainerState
from podling.runtime.process.runtime import ProcessRuntime
from podling.sim.loop import EPOCH

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


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    folder = tmp_path / "volume"
    folder.mkdir()
    (tmp_path / "outside").write_text("A=secret\n")
    (folder / "good").write_text("A=1\n")
    (folder / "inside").symlink_to("good")
    (folder / "link").symlink_to("../outside")
    (folder / "absolute").symlink_to(tmp_path / "outside")
    (folder / "up").symlink_to("..")
    (folder / "directory").mkdir()
    (folder / "device").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe")
    return folder


@pytest.mark.parametrize("path", ["good", "inside"])
def test_env_file_is_read(volume: Path, path: str) -> None:
    selector = FileKeySelector(key="A", path=path, volume_name="v")

    async def story() -> None:
        assert await read_env_file("pod", volume, selector) == "1"

    run(story())


@pytest.mark.parametrize(
    "path", ["pipe", "link", "absolute", "up/outside", "../outside", "directory", "device", "missing"]
)
def test_env_file_is_a_regular_file_of_the_volume(volume: Path, path: str) -> None:
    selector = FileKeySelector(key="A", path=path, volume_name="v")

    async def story() -> None:
        with pytest.raises(MissingReference, match="couldn't parse env file"):
            await read_env_file("pod", volume, selector)

    run(story())


@pytest.mark.parametrize(("path", "text"), [("good", "A=1\n"), ("inside", ""), ("pipe", ""), ("device", "")])
def test_termination_message_is_a_regular_file(volume: Path, path: str, text: str) -> None:
    ended = Container(
        id="c",
        name="app",
        sandbox_id="s",
        attempt=0,
        created_at=EPOCH,
        state=ContainerState.EXITED,
        labels={labels.POD_UID: "pod"},
        annotations={labels.TERMINATION_MESSAGE_HOST_PATH: str(volume / path)},
    )

    async def story() -> None:
        assert await termination_message(ProcessRuntime(volume), ended) == text

    run(story())
