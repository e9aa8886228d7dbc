"""The lock of a data directory: one process runs a cluster."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from podling.cluster.directory import DataDirectory
from podling.cluster.directory_errors import DirectoryInUse, DirectoryUnusable
from tests.support.locks import held_by_another


def test_one_process_holds_a_directory(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path / "data")
    directory.create()
    assert directory.running_pid() == 0
    with directory.locked():
        assert directory.running_pid() == os.getpid()
        with pytest.raises(DirectoryInUse, match=f"in use by process {os.getpid()}; stop it first"):
            DataDirectory(tmp_path / "data").locked().__enter__()
    assert directory.running_pid() == 0


def test_a_pid_file_without_its_lock_means_nothing(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    directory.create()
    with directory.locked():
        pass
    (tmp_path / "podling.pid").write_text("1\n")
    assert directory.running_pid() == 0


def test_lock_that_another_program_holds_names_it(tmp_path: Path) -> None:
    """The process id of a killed cluster may belong to anything: ``down`` would end it."""
    directory = DataDirectory(tmp_path)
    directory.create()
    with directory.locked():
        pass
    (tmp_path / "podling.pid").write_text("1\n")
    with held_by_another(tmp_path / "lock") as pid:
        holder = rf"locked by process {pid} \(python[^)]*\), which runs no cluster; end it first"
        with pytest.raises(DirectoryUnusable, match=holder):
            directory.running_pid()
        with pytest.raises(DirectoryUnusable, match=holder):
            directory.locked().__enter__()
    assert directory.running_pid() == 0


def test_cluster_that_could_not_record_itself_is_known_by_its_command_line(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    directory.create()
    (tmp_path / "lock").touch()
    with held_by_another(tmp_path / "lock", "--data-dir", str(tmp_path)) as pid:
        assert directory.running_pid() == pid
        with pytest.raises(DirectoryInUse, match=f"in use by process {pid}"):
            directory.locked().__enter__()


def test_lookup_of_running_process_never_takes_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = DataDirectory(tmp_path)
    directory.create()
    with directory.locked():
        pass
    taken = []
    monkeypatch.setattr("fcntl.flock", lambda *arguments: taken.append(arguments))
    assert directory.running_pid() == 0
    assert taken == []


def test_lock_that_outlives_its_killed_owner_for_a_moment_is_waited_for(tmp_path: Path) -> None:
    """The kernel kills the parts of a killed supervisor; until they are gone, they hold the lock."""
    directory = DataDirectory(tmp_path / "data")
    directory.create()
    reader, writer = os.pipe()
    supervisor = os.fork()
    if not supervisor:
        with directory.locked():
            if not os.fork():
                os.write(writer, b"part")
                os.close(writer)
                threading.Event().wait(0.5)
                os._exit(0)
            os._exit(0)
    os.close(writer)
    assert os.read(reader, 4) == b"part"
    os.waitpid(supervisor, 0)
    with directory.locked():
        assert directory.running_pid() == os.getpid()
        assert os.read(reader, 1) == b"", "the part has ended"
    os.close(reader)
