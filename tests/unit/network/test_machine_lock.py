"""The lock under which the clusters of a machine choose their subnets."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podling import clock
from podling.network.machine_lock import machine_lock
from podling.runtime.base import RuntimeFailure
from tests.support.locks import held_by_another


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "lock"


async def test_lock_is_open_to_its_owner_only_and_given_back(lock: Path) -> None:
    for _ in range(2):
        async with machine_lock(lock):
            assert os.stat(lock).st_mode & 0o777 == 0o600


async def test_lock_that_is_held_for_long_names_its_holder(lock: Path) -> None:
    began = clock.monotonic()
    with (
        held_by_another(lock) as pid,
        pytest.raises(RuntimeFailure, match=rf"lock is held by process {pid} \(python"),
    ):
        await machine_lock(lock).__aenter__()
    assert 10 <= clock.monotonic() - began < 11
    async with machine_lock(lock):
        pass
