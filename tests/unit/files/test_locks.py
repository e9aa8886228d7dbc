"""The holder of a file's lock."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from podling.files.locks import holder_of, is_alive, name_of
from tests.support.locks import held_by_another


def test_holder_of_a_lock_is_named(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    (tmp_path / "other").touch()
    with path.open() as handle, (tmp_path / "other").open() as other:
        assert holder_of(handle.fileno()) == 0
        with held_by_another(path) as pid:
            assert holder_of(handle.fileno()) == pid
            assert holder_of(other.fileno()) == 0
            assert name_of(pid).startswith("python")
        assert holder_of(handle.fileno()) == 0
        fcntl.flock(handle, fcntl.LOCK_EX)
        assert holder_of(handle.fileno()) == os.getpid()


def test_process_that_has_ended_has_no_name() -> None:
    assert name_of(2**22 + 1) == ""


def test_process_that_was_not_reaped_is_not_alive() -> None:
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert not is_alive(child)
    os.waitpid(child, 0)
    assert not is_alive(child)
    assert is_alive(os.getpid())
