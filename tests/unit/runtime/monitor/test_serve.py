"""Frames of a monitor's connections."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from podling.runtime.monitor.serve import Client


@pytest.fixture
def client() -> Iterator[Client]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Client(ours)


@pytest.mark.parametrize(
    ("data", "frames", "left"),
    [
        (b"", [], b""),
        (b"S\x00\x00", [], b"S\x00\x00"),
        (b"S\x00\x00\x00\x0215", [("S", b"15")], b""),
        (b"S\x00\x00\x00\x021", [], b"S\x00\x00\x00\x021"),
        (b"R\x00\x00\x00\x00I\x00\x00\x00\x01aI", [("R", b""), ("I", b"a")], b"I"),
    ],
)
def test_whole_frames_are_taken_and_the_rest_is_kept(
    client: Client, data: bytes, frames: list[tuple[str, bytes]], left: bytes
) -> None:
    client.incoming += data
    assert client.frames() == frames
    assert bytes(client.incoming) == left


def test_frame_that_arrives_in_parts_is_taken_once(client: Client) -> None:
    client.queue("O", b"x" * 300)
    taken = []
    for byte in client.outgoing:
        client.incoming.append(byte)
        taken += client.frames()
    assert taken == [("O", b"x" * 300)]
