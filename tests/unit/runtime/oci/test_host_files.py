"""The machine's directories as containers get them: what only root may read cannot be read through them."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from podling.files.trees import remove_tree
from podling.runtime.oci.host_files import place_of, private_paths, share, share_covered
from podling.runtime.oci.rootfs import unmount_everything_under

root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A directory with public and private things; ``private`` and what lies in it is for root alone."""
    top = tmp_path / "machine"
    (top / "bin").mkdir(parents=True)
    (top / "private/deep").mkdir(parents=True)
    (top / "private/deep/file").write_text("secret")
    (top / "private").chmod(0o700)
    (top / "unsearchable").mkdir(mode=0o754)
    (top / "unsearchable").chmod(0o754)
    (top / "unsearchable/file").write_text("secret")
    (top / "key").write_text("secret")
    (top / "key").chmod(0o640)
    (top / "hidden key").write_text("secret")
    (top / "hidden key").chmod(0o600)
    (top / "link").symlink_to("key")
    (top / "bin/program").write_text("#!/bin/sh\necho public\n")
    (top / "bin/program").chmod(0o755)
    return top


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    directory = tmp_path / "state"
    directory.mkdir()
    yield directory
    unmount_everything_under(directory)
    remove_tree(directory)


def readable(top: Path) -> set[str]:
    """Return the files below ``top`` that show something secret to this process, which is root's."""
    found = set()
    for name in ("private/deep/file", "unsearchable/file", "key", "hidden key", "link"):
        try:
            if "secret" in (top / name).read_text():
                found.add(name)
        except OSError:
            continue
    return found


def test_private_paths_are_those_that_others_may_not_read(machine: Path) -> None:
    names = [(Path(path).relative_to(machine), known) for path, known in private_paths(machine)]
    assert [(str(name), known) for name, known in names] == [
        ("hidden key", False),
        ("key", False),
        ("private", True),
        ("unsearchable", True),
    ]


@root
def test_directories_are_shared_without_owners(machine: Path, state: Path) -> None:
    (state / "host-files").mkdir()
    share(state, [str(machine)])
    shown = place_of(state, str(machine))
    assert readable(machine) == {"private/deep/file", "unsearchable/file", "key", "hidden key", "link"}
    assert readable(shown) == set()
    assert subprocess.run([shown / "bin/program"], capture_output=True, text=True).stdout == "public\n"
    with pytest.raises(OSError, match="Read-only"):
        (shown / "new").touch()
    (machine / "later").write_text("secret")
    (machine / "later").chmod(0o600)
    if (shown / "bin").stat().st_uid == 65534:  # this file system has ID-mapped mounts
        with pytest.raises(PermissionError):
            (shown / "later").read_text()


@root
def test_directories_are_shared_again_at_every_start(machine: Path, state: Path) -> None:
    for _ in range(3):
        share(state, [str(machine), str(machine / "bin")])
    mounts = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(state) in line]
    assert len(mounts) == 2
    assert (machine / "bin/program").exists()


@root
def test_private_paths_are_covered_where_mounts_have_owners(machine: Path, state: Path) -> None:
    shown = state / "shown"
    shown.mkdir()
    share_covered(str(machine), shown, state / "covers")
    assert readable(shown) == set()
    assert readable(machine) == {"private/deep/file", "unsearchable/file", "key", "hidden key", "link"}
    assert (shown / "bin/program").read_text().startswith("#!/bin/sh")
    assert stat.S_ISDIR((shown / "private").stat().st_mode)
    assert os.listdir(shown / "private") == []
