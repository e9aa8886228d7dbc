"""System calls that need no privileges."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podling.runtime.oci import linux


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root file system with links that lead out of it, beside a secret."""
    (tmp_path / "secret").write_text("outside")
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (root / "etc" / "passwd").write_text("root:x:0:0\n")
    (root / "secret").write_text("inside")
    (root / "etc" / "up").symlink_to("../../secret")
    (root / "etc" / "absolute").symlink_to("/etc/passwd")
    os.mkfifo(root / "fifo")
    return root


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/etc/passwd", "root:x:0:0\n"),
        ("etc/passwd", "root:x:0:0\n"),
        ("/etc/absolute", "root:x:0:0\n"),
        ("/etc/up", "inside"),
        ("/../../secret", "inside"),
        ("/missing", ""),
        ("/etc", ""),
        ("/fifo", ""),
        ("/etc\0/passwd", ""),
    ],
)
def test_files_are_read_inside_of_the_root_only(root: Path, path: str, text: str) -> None:
    assert linux.read_in_root(root, path) == text


def test_reading_in_root_is_limited(root: Path) -> None:
    assert linux.read_in_root(root, "/etc/passwd", limit=4) == "root"


@pytest.mark.parametrize(
    ("path", "message"),
    [("/missing", "No such file"), ("/fifo", "not a regular file"), ("/etc", "not a regular file")],
)
def test_only_regular_files_are_opened_in_root(root: Path, path: str, message: str) -> None:
    with pytest.raises(OSError, match=message) as caught:
        linux.open_file_in_root(root, path)
    assert caught.value.filename == path


def test_mount_options_longer_than_a_page_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="longer than one page"):
        linux.mount("overlay", tmp_path, "overlay", 0, "x" * 4096)


def test_inotify_of_missing_directory_names_it(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(FileNotFoundError, match="missing"):
        linux.inotify(tmp_path / "missing", linux.IN_MOVED_TO)
    assert len(os.listdir("/proc/self/fd")) == before
