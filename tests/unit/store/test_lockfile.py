"""The lock file of a store."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podling.store.base import StoreLocked
from podling.store.lockfile import LockFile


def test_second_lock_is_refused_and_names_the_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    held = LockFile(path)
    with pytest.raises(StoreLocked) as caught:
        LockFile(path)
    assert str(caught.value) == f"{path} is locked: process {os.getpid()} has this store open"
    held.release()


def test_released_lock_can_be_taken_again(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    held = LockFile(path)
    held.release()
    held.release()
    assert path.exists()
    LockFile(path).release()


def test_late_second_release_leaves_the_next_holder_locked(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = LockFile(path)
    first.release()
    second = LockFile(path)
    first.release()
    with pytest.raises(StoreLocked):
        LockFile(path)
    second.release()


def test_lock_replaces_the_process_id_of_a_dead_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_text("4294967295 and more\n")
    held = LockFile(path)
    assert path.read_text() == f"{os.getpid()}\n"
    held.release()
