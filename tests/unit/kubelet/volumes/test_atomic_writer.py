"""The atomic writer: publishing, replacing and refusing files."""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podling.kubelet.volumes.atomic_writer import FileProjection, InvalidPath, check_path, write_payload

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="changes owners")


def files(**texts: str) -> dict[str, FileProjection]:
    return {name.replace("__", "/"): FileProjection(text.encode()) for name, text in texts.items()}


def shown(directory: Path) -> dict[str, str]:
    """Return every file by its visible path."""
    found = {}
    for name in sorted(os.listdir(directory)):
        if name.startswith(".."):
            continue
        for path in [directory / name, *sorted((directory / name).rglob("*"))]:
            if path.is_file():
                found[str(path.relative_to(directory))] = path.read_text()
    return found


def test_files_are_published_and_replaced_together(tmp_path: Path) -> None:
    assert write_payload(tmp_path, files(a="1", deep__b="2"))
    assert shown(tmp_path) == {"a": "1", "deep/b": "2"}
    before = os.readlink(tmp_path / "..data")
    assert write_payload(tmp_path, files(a="3", c="4"))
    assert shown(tmp_path) == {"a": "3", "c": "4"}
    assert os.readlink(tmp_path / "..data") != before
    assert not (tmp_path / before).exists()


def test_deep_paths_are_published(deep: Path) -> None:
    path = "d/" * 1200 + "file"
    assert write_payload(deep, {path: FileProjection(b"1")})
    assert not write_payload(deep, {path: FileProjection(b"1")})
    assert (deep / path).read_bytes() == b"1"
    assert write_payload(deep, {"other": FileProjection(b"1")})


@root_only
def test_deep_paths_are_given_to_a_group(deep: Path) -> None:
    path = "d/" * 1200 + "file"
    write_payload(deep, {path: FileProjection(b"1")}, group=1234)
    assert (deep / path).parent.stat().st_gid == 1234


@pytest.mark.parametrize(
    "paths", [("a\0b",), ("x" * 5000,), ("x" * 300,), ("a", "a/b"), ("d/" * 2030 + "file",), ("..",), (".",)]
)
def test_invalid_paths_are_refused_and_leave_nothing(deep: Path, paths: tuple[str, ...]) -> None:
    with pytest.raises((InvalidPath, OSError)):
        write_payload(deep, {path: FileProjection(b"1") for path in paths})
    assert os.listdir(deep) == []


def test_unchanged_files_are_left_alone(tmp_path: Path) -> None:
    write_payload(tmp_path, files(a="1"))
    before = os.readlink(tmp_path / "..data")
    assert not write_payload(tmp_path, files(a="1"))
    assert os.readlink(tmp_path / "..data") == before


def test_file_keeps_its_inode_while_others_change(tmp_path: Path) -> None:
    write_payload(tmp_path, files(a="1", deep__b="2", c="3"))
    inodes = {name: (tmp_path / name).stat().st_ino for name in ("a", "deep/b")}
    assert write_payload(tmp_path, files(a="1", deep__b="2", c="4"))
    assert {name: (tmp_path / name).stat().st_ino for name in inodes} == inodes
    assert (tmp_path / "c").read_text() == "4"


def test_reader_in_a_tight_loop_sees_each_update_whole_or_not_at_all(tmp_path: Path) -> None:
    """Every file has the number of its update on many lines; all files of one ``..data`` have the same."""
    names = ("a", "deep/b", "c")

    def payload(number: int) -> dict[str, FileProjection]:
        return {name: FileProjection(f"{number}\n".encode() * 3000) for name in names}

    def numbers(directory: int) -> set[int]:
        return {int(line) for name in names for line in read_at(directory, name).split()}

    ended, seen = threading.Event(), [0]

    def read() -> None:
        while not ended.is_set():
            directory = os.open(tmp_path / "..data", os.O_PATH | os.O_DIRECTORY)
            try:
                (number,) = numbers(directory)
            except FileNotFoundError:
                continue  # a newer update has replaced it meanwhile
            finally:
                os.close(directory)
            assert number >= seen[-1]
            seen.append(number)

    write_payload(tmp_path, payload(0))
    with ThreadPoolExecutor() as pool:
        reading = pool.submit(read)
        try:
            for number in itertools.count(1):
                write_payload(tmp_path, payload(number))
                if len(set(seen)) > 50 or reading.done():
                    break
        finally:
            ended.set()
        reading.result()


class BeforeEachCall:
    """Calls ``look`` before each call of the system that Python audits, as a reader between two of them."""

    look: Callable[[], object] | None = None

    def __call__(self, event: str, _: object) -> None:
        if self.look is not None and (event == "open" or event.startswith("os.")):
            look, self.look = self.look, None  # what it reads itself is no step of the writer
            look()
            self.look = look


BEFORE_EACH_CALL = BeforeEachCall()
sys.addaudithook(BEFORE_EACH_CALL)

PAYLOADS = st.dictionaries(st.sampled_from(["a", "b", "d/x", "d/y"]), st.text("xyz", max_size=3), min_size=1)


@given(before=PAYLOADS, after=PAYLOADS)
@settings(deadline=None)  # it writes files
def test_old_or_new_files_are_there_at_every_step_of_an_update(
    before: dict[str, str], after: dict[str, str]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        data, looks = Path(name) / "..data", list[dict[str, str]]()
        write_payload(Path(name), {path: FileProjection(text.encode()) for path, text in before.items()})
        BEFORE_EACH_CALL.look = lambda: looks.append(shown(data))
        try:
            write_payload(Path(name), {path: FileProjection(text.encode()) for path, text in after.items()})
        finally:
            BEFORE_EACH_CALL.look = None
        looks.append(shown(data))
    assert len(looks) > 3
    assert looks[0] == before
    assert looks[-1] == after
    assert [each for each, _ in itertools.groupby(looks)] in ([before, after], [before])


def read_at(directory: int, name: str) -> bytes:
    descriptor = os.open(name, os.O_RDONLY, dir_fd=directory)
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def test_changed_mode_is_published(tmp_path: Path) -> None:
    write_payload(tmp_path, files(a="1"))
    assert write_payload(tmp_path, {"a": FileProjection(b"1", 0o600)})
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


@given(st.lists(st.dictionaries(st.sampled_from(["a", "b", "d/x", "d/y"]), st.text(max_size=3)), max_size=4))
@settings(deadline=None)  # it writes files
def test_last_payload_replaces_any_earlier_one(payloads: list[dict[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        for payload in payloads:
            given_files = {path: FileProjection(text.encode()) for path, text in payload.items()}
            write_payload(Path(name), given_files)
            seen = {path: (Path(name) / path).read_bytes().decode() for path in payload}
            assert seen == payload
            assert set(shown(Path(name))) == set(payload)


@pytest.mark.parametrize("path", ["", "/abs", "../up", "a/../../b", "..data", "..hidden/x"])
def test_paths_out_of_the_volume_are_refused(path: str) -> None:
    with pytest.raises(InvalidPath):
        check_path(path)


@root_only
def test_group_owns_the_published_files(tmp_path: Path) -> None:
    write_payload(tmp_path, {"a": FileProjection(b"1", 0o400)}, group=1234)
    status = (tmp_path / "a").stat()
    assert (status.st_gid, status.st_mode & 0o777) == (1234, 0o440)
