"""Trees that no path reaches: walked, measured and removed."""

from __future__ import annotations

import errno
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from podling.files.trees import TreeMeter, remove_tree, sizes, tree_size, walk
from podling.runtime.oci import linux

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def descend(top: Path, depth: int, name: str = "d", leaf: bytes = b"") -> None:
    """Make ``depth`` nested directories, the innermost with a file."""
    here = os.open(top, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    file = os.open("leaf", os.O_CREAT | os.O_WRONLY, dir_fd=here)
    os.write(file, leaf)
    os.close(file)
    os.close(here)


@pytest.fixture
def tree() -> Iterator[Path]:
    """A directory in memory that is removed after the test in any state."""
    parent = Path(tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    (parent / "tree").mkdir()
    yield parent / "tree"
    subprocess.run(["rm", "-rf", str(parent)], check=True)


@pytest.mark.parametrize(("depth", "name"), [(1100, "d"), (2045, "d"), (5000, "d"), (40, "n" * 255)])
def test_deep_tree_is_measured_and_removed(tree: Path, depth: int, name: str) -> None:
    descend(tree, depth, name, b"x" * 100_000)
    assert sum(1 for _ in walk(tree)) == depth + 1
    assert tree_size(tree) >= 100_000
    remove_tree(tree)
    assert not tree.exists()


def test_removing_nothing_succeeds(tree: Path) -> None:
    remove_tree(tree / "absent")
    remove_tree(tree)
    assert not tree.exists()
    assert tree_size(tree) == 0


def test_removal_follows_no_link(tree: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("x")
    (tree / "a").mkdir()
    (tree / "a" / "way").symlink_to(outside)
    (tree / "way").symlink_to(outside, target_is_directory=True)
    (tree / "loop").symlink_to("loop")
    remove_tree(tree)
    assert (outside / "file").exists()
    with pytest.raises(OSError, match=r"directory|links"):
        (tmp_path / "link").symlink_to(outside)
        remove_tree(tmp_path / "link")
    assert (outside / "file").exists()


def test_removal_takes_names_of_its_own_and_bytes_that_are_no_text(tree: Path) -> None:
    for name in (b".removed-1", b".removed-2", b"\xff\xfe"):
        path = os.path.join(os.fsencode(tree), name)
        os.makedirs(os.path.join(path, b"inner"))
        open(os.path.join(path, b"inner", b"file"), "x").close()
    (tree / ".removed-3").write_text("a file")
    remove_tree(tree)
    assert not tree.exists()


def test_many_entries_are_removed_in_batches(tree: Path) -> None:
    for number in range(10_050):
        os.close(os.open(tree / str(number), os.O_CREAT))
    remove_tree(tree)
    assert not tree.exists()


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # the child makes system calls only
def test_hostile_permissions_do_not_keep_a_tree(tree: Path) -> None:
    (tree / "a" / "b").mkdir(parents=True)
    (tree / "a" / "b" / "file").write_text("x")
    for path in (tree / "a" / "b", tree / "a", tree):
        path.chmod(0)
    if os.geteuid() != 0:
        remove_tree(tree)
        assert not tree.exists()
        return
    for path in (tree, tree / "a", tree / "a" / "b"):
        os.chown(path, 65534, 65534)
    tree.parent.chmod(0o777)
    remove_tree_as_nobody(tree)
    assert not tree.exists()


def remove_tree_as_nobody(tree: Path) -> None:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            parent = os.open(tree.parent, os.O_RDONLY)
            os.fchdir(parent)
            os.setresuid(65534, 65534, 65534)
            remove_tree(Path(tree.name))
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@root_only
def test_immutable_files_do_not_keep_a_tree(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a").mkdir()
    (tree / "a" / "file").write_text("x")
    done = subprocess.run(["chattr", "+i", str(tree / "a" / "file"), str(tree / "a")], check=False)
    if done.returncode != 0:
        pytest.skip("this file system has no immutable files")
    remove_tree(tree)
    assert not tree.exists()


@root_only
def test_removal_never_enters_a_mount(tree: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("x")
    (tree / "a" / "mount").mkdir(parents=True)
    (tree / "a" / "mounted-file").write_text("")
    (tree / "b").mkdir()
    (tree / "b" / "other").write_text("x")
    places = [tree / "a" / "mount", tree / "a" / "mounted-file"]
    linux.mount(str(outside), places[0], flags=linux.MS_BIND)
    linux.mount(str(outside / "file"), places[1], flags=linux.MS_BIND)
    try:
        with pytest.raises(OSError, match="busy") as caught:
            remove_tree(tree)
        assert caught.value.errno == errno.EBUSY
        assert (outside / "file").read_text() == "x"
        assert not (tree / "b").exists(), "what could be removed was"
    finally:
        text = Path("/proc/self/mountinfo").read_text()
        for place in [line.split()[4] for line in text.splitlines() if f"{tree}/" in line]:
            linux.unmount(place)
    remove_tree(tree)
    assert not tree.exists()


def test_size_counts_blocks_once(tree: Path) -> None:
    (tree / "file").write_bytes(b"x" * 100_000)
    alone = tree_size(tree)
    for number in range(5):
        os.link(tree / "file", tree / f"again-{number}")
    assert tree_size(tree) == pytest.approx(alone, abs=8)
    (tree / "holes").touch()
    os.truncate(tree / "holes", 1 << 40)
    assert tree_size(tree) < alone + 100_000


def test_walk_goes_on_after_the_tree_was_rearranged(tree: Path) -> None:
    for top in "abc":
        (tree / top / "x" / "y").mkdir(parents=True)
        for number in range(3):
            (tree / top / "x" / "y" / f"{number}").write_text("x")
    seen = []
    for _, name, _ in walk(tree):
        seen.append(name)
        if name == "y" and not (tree / "moved").exists():
            for top in "abc":
                if (tree / top / "x").exists():
                    os.rename(tree / top / "x", tree / f"{top}-moved")
            (tree / "moved").mkdir()
    assert {"a", "b", "c"} <= set(seen)


def test_walk_survives_vanishing_directories(tree: Path) -> None:
    for top in "abc":
        (tree / top / "x").mkdir(parents=True)
    seen = []
    for _, name, _ in walk(tree):
        seen.append(name)
        if name == "x":
            for top in "abc":
                remove_tree(tree / top)
    assert {"a", "b", "c", "x"} == set(seen)


def test_inodes_are_counted_once_for_each_file(tree: Path) -> None:
    (tree / "folder").mkdir()
    for name in ("one", "folder/two", "folder/three"):
        (tree / name).write_bytes(b"x" * 10_000)
    (tree / "again").hardlink_to(tree / "one")
    assert TreeMeter(tree).measure().inodes == 4


def test_meter_takes_several_calls_for_a_large_tree(tree: Path) -> None:
    for number in range(25):
        (tree / f"{number:04d}").mkdir()
        for inner in range(1000):
            (tree / f"{number:04d}" / str(inner)).write_bytes(b"x")
    whole = tree_size(tree)
    assert len(list(sizes(tree))) == 3
    meter = TreeMeter(tree, entries_per_call=10_000)
    first, second, third, fourth, fifth = (meter.measure().bytes for _ in range(5))
    assert 0 < first < second < third == whole
    assert fourth == fifth == whole, "the last whole count holds while the next is under way"
