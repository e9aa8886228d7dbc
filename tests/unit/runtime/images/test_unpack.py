"""A layer becomes a directory: everything kept, nothing outside touched."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from podling.runtime.base import ImageFailure
from podling.runtime.images.unpack import unpack
from tests.support.images import Tree, sha256

root = pytest.mark.skipif(os.geteuid() != 0, reason="owners, devices and overlay attributes need root")


def unpacked(tree: Tree, place: Path) -> tuple[str, int]:
    place.mkdir(exist_ok=True)
    return unpack(io.BytesIO(tree.tar()), place)


@root
def test_unpacking_keeps_visible_file_attributes(tmp_path: Path) -> None:
    tree = Tree().directory("etc", 0o751, uid=3, gid=4, mtime=1_000_000)
    tree.add("etc/secret", b"content", mode=0o4640, uid=1000, gid=50, mtime=1_234_567)
    tree.add("etc/same", kind=tarfile.LNKTYPE, linkname="etc/secret")
    tree.link("etc/link", "/absolute/anywhere")
    tree.add("null", kind=tarfile.CHRTYPE, devmajor=1, devminor=3, mode=0o666)
    tree.add("pipe", kind=tarfile.FIFOTYPE)
    tree.add("marked", b"x", pax_headers={"SCHILY.xattr.user.colour": "blue"})
    digest, size = unpacked(tree, tmp_path / "layer")
    assert (digest, size) == (sha256(tree.tar()), 8)

    layer = tmp_path / "layer"
    secret = (layer / "etc/secret").stat()
    assert (layer / "etc/secret").read_bytes() == b"content"
    assert (stat.S_IMODE(secret.st_mode), secret.st_uid, secret.st_gid) == (0o4640, 1000, 50)
    assert secret.st_mtime == 1_234_567
    assert (layer / "etc/same").stat().st_ino == secret.st_ino
    directory = (layer / "etc").stat()
    assert (stat.S_IMODE(directory.st_mode), directory.st_uid, directory.st_gid) == (0o751, 3, 4)
    assert directory.st_mtime == 1_000_000
    assert os.readlink(layer / "etc/link") == "/absolute/anywhere"
    assert (layer / "null").stat().st_rdev == os.makedev(1, 3)
    assert stat.S_ISFIFO((layer / "pipe").stat().st_mode)
    assert os.getxattr(layer / "marked", "user.colour") == b"blue"


@root
def test_deleted_names_become_whiteouts_and_replaced_directories_opaque(tmp_path: Path) -> None:
    tree = Tree().directory("kept").add("kept/.wh.gone").directory("new").add("new/.wh..wh..opq")
    tree.add(".wh..wh.aufs", b"metadata of another file system")
    unpacked(tree, tmp_path / "layer")
    gone = os.lstat(tmp_path / "layer/kept/gone")
    assert (stat.S_ISCHR(gone.st_mode), gone.st_rdev) == (True, 0)
    assert os.getxattr(tmp_path / "layer/new", "trusted.overlay.opaque") == b"y"
    assert sorted(os.listdir(tmp_path / "layer")) == ["kept", "new"]


@root
@pytest.mark.parametrize("whiteout_first", [True, False])
def test_a_directory_deleted_and_made_anew_in_one_layer_is_opaque(
    tmp_path: Path, whiteout_first: bool
) -> None:
    tree = Tree()
    steps: list[Callable[[], object]] = [lambda: tree.add(".wh.data"), lambda: tree.directory("data")]
    for step in steps if whiteout_first else reversed(steps):
        step()
    unpacked(tree.add("data/file", b"new"), tmp_path / "layer")
    assert os.getxattr(tmp_path / "layer/data", "trusted.overlay.opaque") == b"y"
    assert (tmp_path / "layer/data/file").read_bytes() == b"new"


@root
def test_an_archive_cannot_plant_overlay_attributes(tmp_path: Path) -> None:
    headers = {"SCHILY.xattr.trusted.overlay.redirect": "/etc"}
    unpacked(Tree().add("file", b"", pax_headers=headers), tmp_path / "layer")
    assert os.listxattr(tmp_path / "layer/file") == []


def test_a_later_entry_replaces_an_earlier_one(tmp_path: Path) -> None:
    tree = Tree().add("a", b"first", uid=os.getuid(), gid=os.getgid())
    tree.add("a", b"second", uid=os.getuid(), gid=os.getgid())
    unpacked(tree, tmp_path / "layer")
    assert (tmp_path / "layer/a").read_bytes() == b"second"


def escapes() -> dict[str, Tree]:
    return {
        "a parent in the name": Tree().add("../outside", b"x"),
        "a parent further in": Tree().add("a/../../outside", b"x"),
        "a hard link to outside": Tree().add("x", kind=tarfile.LNKTYPE, linkname="../outside"),
        "a hard link to nothing": Tree().add("x", kind=tarfile.LNKTYPE, linkname="nothing"),
        "a whiteout of the parent": Tree().add("a/.wh..."),
        "a loop of links": Tree().link("a", "b").link("b", "a").add("a/file", b"x"),
    }


@pytest.mark.parametrize("what", escapes())
def test_a_layer_that_tries_to_leave_is_refused(tmp_path: Path, what: str) -> None:
    (tmp_path / "outside").write_text("untouched")
    with pytest.raises(ImageFailure):
        unpacked(escapes()[what], tmp_path / "layer")
    assert (tmp_path / "outside").read_text() == "untouched"


@pytest.mark.parametrize("target", ["/", "/tmp", "../../..", "/../.."])
def test_links_are_followed_inside_the_layer_only(tmp_path: Path, target: str) -> None:
    tree = Tree().link("way", target)
    unpacked(tree.add("way/planted", b"x", uid=os.getuid(), gid=os.getgid()), tmp_path / "layer")
    assert not (tmp_path / "planted").exists()
    planted = list((tmp_path / "layer").rglob("planted"))
    assert planted
    assert all(path.resolve().is_relative_to(tmp_path / "layer") for path in planted)


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_compression_is_recognised_and_the_digest_is_of_what_was_inside(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    tar = Tree().add("file", b"content" * 100, uid=os.getuid(), gid=os.getgid()).tar()
    assert unpack(io.BytesIO(compress(tar)), tmp_path)[0] == sha256(tar)


@pytest.mark.parametrize("broken", [b"no archive at all", gzip.compress(b"x" * 4096, mtime=0)[:20]])
def test_a_broken_layer_says_so(tmp_path: Path, broken: bytes) -> None:
    with pytest.raises(ImageFailure, match="broken"):
        unpack(io.BytesIO(broken), tmp_path)
