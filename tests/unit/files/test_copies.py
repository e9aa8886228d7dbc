"""Copies of trees: as they are, and nothing that they lead to."""

from __future__ import annotations

import os
import socket
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from podling.files.copies import copy_tree
from podling.files.trees import remove_tree, walk

root = pytest.mark.skipif(os.geteuid() != 0, reason="owners and devices need root")


def copied(source: Path, target: Path) -> Path:
    opened = os.open(source, os.O_RDONLY | os.O_DIRECTORY)
    try:
        copy_tree(opened, target)
    finally:
        os.close(opened)
    return target


@root
def test_owners_modes_and_times_are_kept(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "d").mkdir(parents=True)
    (source / "d/file").write_text("content")
    os.chown(source / "d/file", 1000, 50)
    (source / "d/file").chmod(0o4640)
    os.utime(source / "d/file", (1, 2))
    os.chown(source / "d", 3, 4)
    (source / "d").chmod(0o1711)
    os.setxattr(source / "d/file", "user.colour", b"blue")
    os.utime(source / "d/file", (1, 2))
    (source / "link").symlink_to("/etc/shadow")
    source.chmod(0o750)
    target = copied(source, tmp_path / "target")
    file = (target / "d/file").stat()
    assert (target / "d/file").read_text() == "content"
    assert (file.st_uid, file.st_gid, stat.S_IMODE(file.st_mode), file.st_mtime) == (1000, 50, 0o4640, 2)
    assert os.getxattr(target / "d/file", "user.colour") == b"blue"
    directory = (target / "d").stat()
    assert (directory.st_uid, directory.st_gid, stat.S_IMODE(directory.st_mode)) == (3, 4, 0o1711)
    assert os.readlink(target / "link") == "/etc/shadow"
    assert stat.S_IMODE(target.stat().st_mode) == 0o750


@root
def test_devices_and_fifos_are_made_and_not_read(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    os.mknod(source / "zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    os.mkfifo(source / "fifo")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(source / "socket"))
    target = copied(source, tmp_path / "target")
    assert sorted(os.listdir(target)) == ["fifo", "zero"]
    assert (target / "zero").stat().st_rdev == os.makedev(1, 5)
    assert stat.S_ISFIFO((target / "fifo").stat().st_mode)


def test_deep_trees_are_copied(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    here = os.open(source, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    try:
        assert sum(1 for _ in walk(copied(source, tmp_path / "target"))) == 1500
    finally:
        remove_tree(source)
        remove_tree(tmp_path / "target")


def test_directory_that_becomes_a_link_meanwhile_leads_nowhere(tmp_path: Path) -> None:
    """A container exchanges a directory and a link while its volume is copied."""
    source, outside = tmp_path / "source", tmp_path / "outside"
    (source / "d").mkdir(parents=True)
    for number in range(20):
        (source / "d" / f"own-{number}").write_text("own")
    outside.mkdir()
    (outside / "secret").write_text("of the node")
    (source / "link").symlink_to(outside)
    ended = threading.Event()

    def exchange() -> None:
        while not ended.is_set():
            (source / "d").rename(source / "aside")
            (source / "link").rename(source / "d")
            (source / "d").rename(source / "link")
            (source / "aside").rename(source / "d")

    seen = set()
    with ThreadPoolExecutor() as pool:
        exchanging = pool.submit(exchange)
        try:
            for number in range(60):
                target = copied(source, tmp_path / f"target-{number}")
                seen |= {name for _, name, status in walk(target) if stat.S_ISREG(status.st_mode)}
        finally:
            ended.set()
        exchanging.result()
    assert "own-0" in seen
    assert "secret" not in seen
