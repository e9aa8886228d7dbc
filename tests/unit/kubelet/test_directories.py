"""The kubelet's directories: lists of pods, and logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.kubelet.directories import Directories
from tests.support.kubelet_node import pod


@pytest.fixture
def directories(tmp_path: Path) -> Directories:
    return Directories(tmp_path)


def test_pods_have_a_directory_or_logs(directories: Directories) -> None:
    assert directories.pod_uids() == ()
    directories.pod("b").mkdir(parents=True)
    for name in ("default_web_a", "default_web_b", "lost+found"):
        (directories.logs / name).mkdir(parents=True)
    assert directories.pod_uids() == ("a", "b")


def test_last_attempt_counts_rotated_logs(directories: Directories) -> None:
    subject = pod()
    assert directories.last_attempt(subject, "app") is None
    folder = directories.container_log(subject, "app", 0).parent
    folder.mkdir(parents=True)
    for name in ("0.log", "10.log", "2.log.20260101-000000.gz", "notes.txt"):
        (folder / name).touch()
    assert directories.last_attempt(subject, "app") == 10


def test_logs_are_removed_by_uid(directories: Directories) -> None:
    for name in ("default_web_u-1", "default_old_u-1", "default_web_u-2"):
        (directories.logs / name / "app").mkdir(parents=True)
    directories.remove_logs("u-1")
    assert [path.name for path in directories.logs.iterdir()] == ["default_web_u-2"]


def test_managed_bytes_count_present_files(directories: Directories) -> None:
    assert directories.managed_bytes("u-1") == 0
    directories.pod("u-1").mkdir(parents=True)
    directories.hosts_file("u-1").write_bytes(b"x" * 5000)
    directories.resolv_conf("u-1").write_bytes(b"x" * 5000)
    assert directories.managed_bytes("u-1") >= 10000
