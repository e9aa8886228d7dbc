"""The file with the state of the parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.cluster.processes.parts import Part
from podling.cluster.processes.state_file import NAME, ROOM_BYTES, StateFile, decode, encode, read_states
from podling.cluster.processes.states import PartState, Snapshot

ONE = Snapshot(
    7, (PartState(part=Part("node", "node-one", ("one",)), pid=8, starts=3, last_exit="exit code 1"),)
)


def test_states_are_read_as_they_were_written(tmp_path: Path) -> None:
    file = StateFile(tmp_path)
    assert read_states(tmp_path) is None
    file.write(ONE)
    assert read_states(tmp_path) == file.read() == ONE
    file.write(Snapshot(7))
    assert read_states(tmp_path) == file.read() == Snapshot(7)
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / NAME).stat().st_size == ROOM_BYTES
    file.remove()
    assert read_states(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_read_in_the_middle_of_a_write_is_noticed() -> None:
    old, new = encode(ONE, 1), encode(Snapshot(7), 2)
    assert decode(old) == ONE
    for cut in range(1, len(new)):
        found = decode(new[:cut] + old[cut:])
        assert found in (None, ONE, Snapshot(7))
    assert decode(new[: len(new) // 2] + old[len(new) // 2 :]) is None


@pytest.mark.parametrize("content", [b"", bytes(100), b"1\n{\n1\n", b"1\n", b"\n\n\n"])
def test_content_that_is_none_is_not_read(content: bytes) -> None:
    assert decode(content) is None


def test_parts_share_memory_where_no_file_can_be_made(tmp_path: Path) -> None:
    file = StateFile(tmp_path / "missing")
    file.write(ONE)
    assert file.read() == ONE
    assert read_states(tmp_path / "missing") is None
    file.remove()
