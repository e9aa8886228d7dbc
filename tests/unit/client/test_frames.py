"""Frames: cut at any byte, written together, refused when malformed."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling import clock
from podling.client import messages
from podling.client.frames import FRAME_BYTES_MAX, FrameError, FrameReader, FrameWriter

MESSAGES = st.one_of(
    st.builds(messages.Cancel, st.integers(0, 2**62)),
    st.builds(messages.Extra, st.integers(0, 2**62), st.text(max_size=20), st.binary(max_size=300)),
    st.builds(messages.Beat, st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3)),
    st.builds(messages.ClientReply, st.integers(0, 2**62), st.binary(max_size=300), st.text(max_size=20)),
)


def frame(message: object) -> bytes:
    body = msgspec.msgpack.encode(message)
    return len(body).to_bytes(4, "big") + body


def cut(data: bytes, positions: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(position % (len(data) + 1) for position in positions)})
    return [data[start:end] for start, end in pairwise(places)]


@given(st.lists(MESSAGES, max_size=8), st.lists(st.integers(0, 4000), max_size=12))
def test_messages_are_read_wherever_the_bytes_are_cut(sent: list[object], positions: list[int]) -> None:
    data = b"".join(map(frame, sent))
    reader = FrameReader()
    received = [
        messages.read_from_client(each) for piece in cut(data, positions) for each in reader.feed(piece)
    ]
    assert received == sent


def test_messages_are_read_byte_by_byte() -> None:
    sent = [messages.Cancel(1), messages.Extra(2, "verb", b"x" * 100), messages.Cancel(3)]
    reader = FrameReader()
    received = [
        messages.read_from_client(each)
        for byte in b"".join(map(frame, sent))
        for each in reader.feed(bytes([byte]))
    ]
    assert received == sent


@given(st.binary(max_size=200))
def test_garbage_is_refused_or_waited_for(data: bytes) -> None:
    reader = FrameReader()
    try:
        frames = [bytes(each) for each in reader.feed(data)]
    except FrameError:
        assert int.from_bytes(data[:4], "big") > FRAME_BYTES_MAX or len(data) > 4
        return
    for each in frames:
        try:
            message = messages.read_from_client(each)
        except msgspec.MsgspecError:
            continue
        assert msgspec.msgpack.encode(message)


def test_frame_beyond_the_limit_is_refused_before_it_is_read() -> None:
    with pytest.raises(FrameError, match="is larger than"):
        list(FrameReader().feed((FRAME_BYTES_MAX + 1).to_bytes(4, "big")))


async def test_messages_of_one_turn_are_written_together() -> None:
    written: list[bytes] = []
    writer = FrameWriter(lambda data: written.append(bytes(data)))
    sent = [messages.Cancel(1), messages.Cancel(2)]
    for message in sent:
        writer.add(message)
    assert written == []
    await clock.sleep(0)
    assert written == [b"".join(map(frame, sent))]


async def test_large_messages_do_not_wait_for_the_end_of_the_turn() -> None:
    written: list[bytes] = []
    writer = FrameWriter(lambda data: written.append(bytes(data)))
    writer.add(messages.Extra(1, "", b"x" * 300_000))
    assert len(written) == 1
    await clock.sleep(0)
    assert len(written) == 1


async def test_message_beyond_the_limit_is_refused_and_the_others_are_sent() -> None:
    written: list[bytes] = []
    writer = FrameWriter(lambda data: written.append(bytes(data)))
    writer.add(messages.Cancel(1))
    with pytest.raises(FrameError, match="is larger than"):
        writer.add(messages.Extra(2, "", bytes(FRAME_BYTES_MAX)))
    writer.add(messages.Cancel(3))
    writer.flush()
    assert written == [frame(messages.Cancel(1)) + frame(messages.Cancel(3))]
