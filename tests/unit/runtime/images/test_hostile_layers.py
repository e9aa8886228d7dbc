"""Hostile layers: no content changes files outside of the layer's directory."""

from __future__ import annotations

import io
import os
import stat
import tarfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from podling.runtime.base import ImageFailure
from podling.runtime.images.unpack import unpack
from tests.support.images import Tree

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="owners and devices need root")


def symlinked(name: str, *more: str) -> Callable[[str], Tree]:
    """Return a link to outside, and entries that go through it."""

    def make(outside: str) -> Tree:
        tree = Tree().link(name, outside)
        for path in more:
            tree.add(path, b"hostile", mode=0o6777)
        return tree

    return make


def through(kind: bytes, **fields: Any) -> Callable[[str], Tree]:
    """Return a link to outside, and one entry of ``kind`` behind it."""
    return lambda outside: Tree().link("l", outside).add("l/planted", kind=kind, **fields)


HOSTILE: dict[str, Callable[[str], Tree]] = {
    "parent": lambda _: Tree().add("../planted", b"x"),
    "parents": lambda _: Tree().add("../../../../../../../../planted", b"x"),
    "parent further in": lambda _: Tree().add("a/b/../../../planted", b"x"),
    "absolute": lambda outside: Tree().add(f"{outside}/planted", b"x"),
    "absolute with parents": lambda outside: Tree().add(f"/..{outside}/planted", b"x"),
    "double slashes": lambda outside: Tree().add(f"//{outside}//planted", b"x"),
    "link and file": symlinked("l", "l/planted"),
    "link and file of the same name": symlinked("secret", "secret"),
    "link and file deeper": symlinked("l", "l/a/b/planted"),
    "link and directory": lambda outside: Tree().link("l", outside).directory("l", 0o777, uid=1000),
    "link and directory inside": lambda outside: Tree().link("l", outside).directory("l/d", 0o777),
    "link to the file, then the file": lambda outside: Tree().link("l", f"{outside}/secret").add("l", b"x"),
    "link to the file, then its mode": (
        lambda outside: Tree().link("l", f"{outside}/secret").add("l", mode=0o777, uid=5)
    ),
    "link with an owner and time": lambda outside: Tree().add(
        "l", kind=tarfile.SYMTYPE, linkname=f"{outside}/secret", uid=5, mtime=5
    ),
    "link with an attribute": lambda outside: Tree().add(
        "l",
        kind=tarfile.SYMTYPE,
        linkname=f"{outside}/secret",
        pax_headers={"SCHILY.xattr.trusted.planted": "x"},
    ),
    "relative link": lambda _: Tree().link("l", "../outside").add("l/planted", b"x"),
    "relative link deep": lambda _: Tree().link("a/b/l", "../../../../outside").add("a/b/l/planted", b"x"),
    "chain of links": lambda outside: Tree().link("a", "b").link("b", outside).add("a/planted", b"x"),
    "link to a link to outside": lambda outside: (
        Tree().link("a", outside).link("a/b", outside).add("a/b/planted", b"x")
    ),
    "link to /proc/self/root": lambda outside: (
        Tree().link("p", "/proc/self/root").add(f"p{outside}/planted", b"x")
    ),
    "link to /proc/self/cwd": lambda _: Tree().link("p", "/proc/self/cwd/..").add("p/planted", b"x"),
    "loop": lambda _: Tree().link("a", "b").link("b", "a").add("a/planted", b"x"),
    "hard link to outside": lambda outside: Tree().add(
        "h", kind=tarfile.LNKTYPE, linkname=f"{outside}/secret"
    ),
    "hard link with parents": lambda _: Tree().add("h", kind=tarfile.LNKTYPE, linkname="../outside/secret"),
    "hard link through a link": lambda outside: (
        Tree().link("l", outside).add("h", kind=tarfile.LNKTYPE, linkname="l/secret")
    ),
    "hard link to a link, then written": lambda outside: (
        Tree().link("l", f"{outside}/secret").add("h", kind=tarfile.LNKTYPE, linkname="l").add("h", b"x")
    ),
    "hard link behind a link": through(tarfile.LNKTYPE, linkname="l/secret"),
    "link behind a link": through(tarfile.SYMTYPE, linkname="/etc"),
    "fifo behind a link": through(tarfile.FIFOTYPE),
    "device behind a link": through(tarfile.CHRTYPE, devmajor=1, devminor=1),
    "whiteout behind a link": symlinked("l", "l/.wh.secret"),
    "opaque behind a link": symlinked("l", "l/.wh..wh..opq"),
    "whiteout of the parent": lambda _: Tree().add(".wh..."),
    "whiteout of itself": lambda _: Tree().add("a/.wh.."),
    "whiteout with a slash": lambda _: Tree().add(".wh./../outside/secret"),
    "directory replaced by a link": lambda outside: (
        Tree().directory("d", 0o700, uid=5, mtime=5).link("d", outside).add("d/planted", b"x")
    ),
    "nested directory replaced by a link": lambda outside: (
        Tree()
        .directory("d", 0o700, mtime=5)
        .directory("d/e", 0o777, uid=5, mtime=5)
        .link("d", f"{outside}/..")
    ),
    "link replaced by a directory": lambda outside: (
        Tree().link("d", outside).directory("d").add("d/planted", b"x")
    ),
    "sparse file through a link": lambda outside: (
        Tree()
        .link("l", outside)
        .add(
            "l/planted",
            b"x",
            pax_headers={"GNU.sparse.major": "0", "GNU.sparse.map": "5,1", "GNU.sparse.size": "6"},
        )
    ),
    "name in a PAX header": lambda _: Tree().add("harmless", b"x", pax_headers={"path": "../planted"}),
    "sparse name in a PAX header": lambda _: Tree().add(
        "harmless", b"x", pax_headers={"GNU.sparse.name": "../planted"}
    ),
    "the root as a link": lambda outside: Tree().link(".", outside).add("planted", b"x"),
    "the root as a file": lambda _: Tree().add("/", b"x"),
}


def snapshot(directory: Path) -> dict[str, tuple[object, ...]]:
    """Everything of a tree that a layer could change."""
    found: dict[str, tuple[object, ...]] = {}
    for path in [directory, *sorted(directory.rglob("*"))]:
        status = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
        kept = (status.st_mode, status.st_uid, status.st_gid, status.st_mtime_ns, status.st_nlink)
        found[str(path)] = (*kept, content, tuple(os.listxattr(path, follow_symlinks=False)))
    return found


@pytest.mark.parametrize("what", HOSTILE)
def test_nothing_outside_changes(tmp_path: Path, what: str) -> None:
    outside, layer = tmp_path / "outside", tmp_path / "layer"
    (outside / "d").mkdir(parents=True)
    (outside / "secret").write_text("untouched")
    layer.mkdir()
    root = {name: os.lstat(f"/{name}").st_mtime_ns for name in ("etc", "etc/passwd", "usr")}
    before = snapshot(outside)
    names = sorted(os.listdir(tmp_path))
    with suppress(ImageFailure):
        unpack(io.BytesIO(HOSTILE[what](str(outside)).tar()), layer)
    assert snapshot(outside) == before
    assert sorted(os.listdir(tmp_path)) == names
    assert {name: os.lstat(f"/{name}").st_mtime_ns for name in root} == root
    assert not os.path.lexists("/planted")


def test_a_replaced_directory_takes_nothing_along(tmp_path: Path) -> None:
    """Mode and time of a directory that a later link replaced are set on nothing."""
    (tmp_path / "layer").mkdir()
    tree = (
        Tree().directory("d").directory("d/e", 0o700, mtime=5).link("d", ".").directory("e", 0o751, mtime=7)
    )
    unpack(io.BytesIO(tree.tar()), tmp_path / "layer")
    status = (tmp_path / "layer/e").stat()
    assert (stat.S_IMODE(status.st_mode), status.st_mtime) == (0o751, 7)


def test_many_replaced_directories_take_little_time(tmp_path: Path) -> None:
    (tmp_path / "layer").mkdir()
    tree = Tree()
    for number in range(800):
        tree.directory(f"kept-{number}")
        tree.directory("d").add("d", b"x")
    unpack(io.BytesIO(tree.tar()), tmp_path / "layer")
    assert (tmp_path / "layer/d").read_bytes() == b"x"


def test_paths_of_directories_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from podling.runtime.images import unpack as module

    monkeypatch.setattr(module, "DIRECTORY_NAMES_BYTES_MAX", 10_000)
    monkeypatch.setattr(module, "STEPS_MAX", 5_000)
    long = "/".join(["d" * 10] * 40)
    tree = Tree()
    for number in range(100):
        tree.directory(f"{long}/{number}")
    (tmp_path / "a").mkdir()
    with pytest.raises(ImageFailure, match="too long"):
        unpack(io.BytesIO(tree.tar()), tmp_path / "a")
    files = Tree()
    for number in range(1000):
        files.add(f"{long}/{number}")
    (tmp_path / "b").mkdir()
    with pytest.raises(ImageFailure, match="too deep"):
        unpack(io.BytesIO(files.tar()), tmp_path / "b")
    monkeypatch.setattr(module, "ENTRIES_MAX", 30)
    (tmp_path / "c").mkdir()
    with pytest.raises(ImageFailure, match="more than 30 files"):
        unpack(io.BytesIO(Tree().add(f"{long}/x").tar()), tmp_path / "c")
