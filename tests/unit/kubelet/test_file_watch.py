"""Notification of changed files."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from podling import clock
from podling.kubelet.file_watch import POLL_SECONDS, DirectoryWatch, FileWatch

REAL = pytest.mark.asyncio(loop_factories=["real"])


@REAL
async def test_watches_on_the_same_directory_are_independent(tmp_path: Path) -> None:
    watch = FileWatch()
    with watch.watch(tmp_path) as first, watch.watch(tmp_path) as second:
        (tmp_path / "log").write_text("news")
        async with asyncio.timeout(5):
            await first.wait()
            await second.wait()
    watch.close()


@pytest.mark.parametrize(("notified", "seconds"), [(True, 7.0), (False, POLL_SECONDS)])
async def test_watch_without_inotify_polls(notified: bool, seconds: float) -> None:
    watched = DirectoryWatch(notified=notified)
    asyncio.get_running_loop().call_later(7, watched.change)
    began = clock.monotonic()
    await watched.wait()
    assert clock.monotonic() - began == seconds


async def test_change_before_mark_is_forgotten_and_one_after_is_not() -> None:
    watched = DirectoryWatch(notified=True)
    watched.change()
    watched.mark()
    watched.change()
    await watched.wait()
