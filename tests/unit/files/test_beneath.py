"""Paths that leave their directory, or change while they are opened."""

from __future__ import annotations

import errno
import os
import re
from contextlib import suppress
from pathlib import Path

import pytest

from podling.files.beneath import make_directory_beneath, opened_beneath, path_of


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    """A volume beside a secret, with links of every kind."""
    (tmp_path / "secret").write_text("x")
    (tmp_path / "volume-2").mkdir()
    path = tmp_path / "volume"
    (path / "a" / "b").mkdir(parents=True)
    (path / "a" / "file").write_text("content")
    (path / "inside").symlink_to("a/b")
    (path / "absolute").symlink_to(path / "a")
    (path / "out").symlink_to("..")
    (path / "beside").symlink_to(tmp_path / "volume-2")
    (path / "root").symlink_to("/")
    (path / "fd").symlink_to("/proc/self/cwd")
    (path / "dangling").symlink_to("nowhere")
    (path / "loop").symlink_to("loop")
    return path


@pytest.mark.parametrize(
    ("part", "found"),
    [
        ("", "."),
        (".", "."),
        ("a", "a"),
        ("a//b/.", "a/b"),
        ("a/file", "a/file"),
        ("inside", "a/b"),
        ("absolute/b", "a/b"),
        ("inside/..", "a"),
    ],
)
def test_parts_inside_are_opened(volume: Path, part: str, found: str) -> None:
    with opened_beneath(volume, part) as descriptor:
        assert path_of(descriptor) == str((volume / found).resolve())


@pytest.mark.parametrize(
    ("part", "number"),
    [
        ("..", errno.EXDEV),
        ("out/secret", errno.EXDEV),
        ("beside", errno.EXDEV),
        ("root/etc", errno.EXDEV),
        ("fd", errno.EXDEV),
        ("/etc", errno.EXDEV),
        ("dangling", errno.ENOENT),
        ("loop", errno.ELOOP),
        ("a/file/x", errno.ENOTDIR),
    ],
)
def test_parts_outside_are_refused(volume: Path, part: str, number: int) -> None:
    with pytest.raises(OSError, match=re.escape(f"[Errno {number}]")), opened_beneath(volume, part):
        pass


def test_volume_that_is_a_link_itself_is_followed(volume: Path, tmp_path: Path) -> None:
    (tmp_path / "way").symlink_to(volume)
    with opened_beneath(tmp_path / "way", "a") as descriptor:
        assert path_of(descriptor) == str(volume / "a")


def test_exchange_between_the_two_looks_is_refused(volume: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The directory becomes a link after the kernel found it and before it is opened again."""
    import podling.files.beneath as module

    real = module._components

    def exchanged(top: int, part: str) -> list[str]:
        found = real(top, part)
        (volume / "a").rename(volume / "elsewhere")
        (volume / "a").symlink_to("/etc")
        return found

    monkeypatch.setattr(module, "_components", exchanged)
    with pytest.raises(OSError, match=re.escape(f"[Errno {errno.ELOOP}]")), opened_beneath(volume, "a"):
        pass


def test_directories_are_made_with_the_volumes_mode(volume: Path) -> None:
    volume.chmod(0o2777)
    before = os.umask(0o022)
    try:
        make_directory_beneath(volume, "inside/new/part")
    finally:
        os.umask(before)
    assert (volume / "a/b/new/part").stat().st_mode & 0o7777 == 0o2777
    make_directory_beneath(volume, "inside/new/part")
    make_directory_beneath(volume, "a/file")
    assert (volume / "a/file").read_text() == "content", "a file is left as it is"


@pytest.mark.parametrize(
    "part", ["../x", "out/x", "root/podling-made-this", "dangling", "loop/x", "a/file/x"]
)
def test_directories_are_not_made_outside(volume: Path, part: str) -> None:
    before = sorted(os.listdir(volume.parent))
    with pytest.raises(OSError, match=r"Errno"):
        make_directory_beneath(volume, part)
    assert sorted(os.listdir(volume.parent)) == before
    assert not Path("/podling-made-this").exists()


def test_descriptors_are_given_back(volume: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for part in ("a/b", "out/secret", "dangling", "loop", "a/file/x", ""):
        for attempt in (make_directory_beneath, _open):
            with suppress(OSError):
                attempt(volume, part)
    assert len(os.listdir("/proc/self/fd")) == before


def _open(volume: Path, part: str) -> None:
    with opened_beneath(volume, part):
        pass
