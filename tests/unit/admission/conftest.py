"""A webhook and a server that asks it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from podling.testing import ControlPlane, memory_cluster
from tests.support.webhooks import Hook, serving_hook


@pytest.fixture
async def hook(tmp_path: Path) -> AsyncIterator[Hook]:
    async with serving_hook(tmp_path) as hook:
        yield hook


@pytest.fixture
async def plane() -> AsyncIterator[ControlPlane]:
    async with memory_cluster() as plane:
        yield plane
