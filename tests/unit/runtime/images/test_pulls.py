"""A pull is awaited as long as something comes of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from podling import clock
from podling.runtime.images import pulls

pytestmark = pytest.mark.asyncio(loop_factories=["real"])  # directories are measured in threads


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulls, "PROGRESS_SECONDS", 0.05)


async def test_growing_pull_is_awaited(tmp_path: Path) -> None:
    async def grow() -> str:
        for number in range(10):
            await asyncio.to_thread((tmp_path / str(number)).write_bytes, bytes(8192))
            await clock.sleep(0.02)
        return "whole"

    assert await pulls.while_it_grows(grow(), tmp_path) == "whole"


async def test_stalled_pull_is_cancelled(tmp_path: Path) -> None:
    ended = []

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    with pytest.raises(pulls.Stalled):
        await pulls.while_it_grows(hang(), tmp_path)
    assert ended == [True]


async def test_its_failure_is_the_callers(tmp_path: Path) -> None:
    async def fail() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await pulls.while_it_grows(fail(), tmp_path)
