"""WebSocket framing: messages in any pieces, and malformed frames refused before they cost anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling.streaming.websocket import (
    INVALID_DATA,
    MESSAGE_MAX,
    PROTOCOL_ERROR,
    TOO_BIG,
    Close,
    Decoder,
    Event,
    Part,
    Ping,
    WebSocketError,
    close_frame,
    frame,
)
from tests.support.websocket_frames import client_frame, server_frames

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10


def messages(events: Sequence[Event]) -> list[bytes]:
    """Whole messages out of their parts."""
    found: list[bytes] = []
    for event in events:
        if isinstance(event, Part):
            if event.first:
                found.append(b"")
            found[-1] += event.data
    return found


@given(
    st.lists(st.lists(st.binary(max_size=300), min_size=1, max_size=4), max_size=5),
    st.integers(1, 200),
    st.booleans(),
)
def test_messages_come_out_as_they_went_in(sent: list[list[bytes]], piece: int, pinged: bool) -> None:
    data = b""
    for fragments in sent:
        for place, fragment in enumerate(fragments):
            opcode = CONTINUATION if place else BINARY
            data += client_frame(opcode, fragment, final=place == len(fragments) - 1)
            data += client_frame(PING, b"%d" % place) if pinged else b""
    decoder = Decoder()
    events = [
        event for start in range(0, len(data), piece) for event in decoder.feed(data[start : start + piece])
    ]
    assert messages(events) == [b"".join(fragments) for fragments in sent]
    ends = [event.last for event in events if isinstance(event, Part)]
    assert ends.count(True) == len(sent)
    assert sum(isinstance(event, Ping) for event in events) == pinged * sum(map(len, sent))


@given(st.lists(st.binary(max_size=40), max_size=8))
def test_any_bytes_are_messages_or_an_error(pieces: list[bytes]) -> None:
    decoder, codes = Decoder(), [PROTOCOL_ERROR, INVALID_DATA, TOO_BIG]
    try:
        for piece in pieces:
            decoder.feed(piece)
    except WebSocketError as error:
        codes.remove(error.code)


@given(st.integers(0, 70_000))
def test_server_frames_are_readable(size: int) -> None:
    assert server_frames(frame(BINARY, bytes(size)) + close_frame(1002)) == [
        (BINARY, bytes(size)),
        (CLOSE, b"\x03\xea"),
    ]


MALFORMED: Mapping[str, tuple[bytes, int]] = {
    "a frame without a mask": (client_frame(BINARY, b"x", mask=None), PROTOCOL_ERROR),
    "the first reserved bit": (client_frame(BINARY, b"x", reserved=4), PROTOCOL_ERROR),
    "the last reserved bit": (client_frame(BINARY, b"x", reserved=1), PROTOCOL_ERROR),
    "an unknown data frame": (client_frame(3, b"x"), PROTOCOL_ERROR),
    "an unknown control frame": (client_frame(11, b"x"), PROTOCOL_ERROR),
    "a ping in two frames": (client_frame(PING, b"x", final=False), PROTOCOL_ERROR),
    "a ping of 126 bytes": (client_frame(PING, bytes(126)), PROTOCOL_ERROR),
    "a continuation of nothing": (client_frame(CONTINUATION, b"x"), PROTOCOL_ERROR),
    "a message within a message": (client_frame(TEXT, b"x", final=False) + client_frame(TEXT, b"y"), 1002),
    "a short length in two bytes": (client_frame(BINARY, b"x", wide=2), PROTOCOL_ERROR),
    "a short length in eight bytes": (client_frame(BINARY, bytes(126), wide=8), PROTOCOL_ERROR),
    "a negative length": (client_frame(BINARY, b"", length=1 << 63, wide=8), PROTOCOL_ERROR),
    "a frame of 1 TiB": (client_frame(BINARY, b"", length=1 << 40), TOO_BIG),
    "a frame one byte too long": (client_frame(BINARY, b"", length=MESSAGE_MAX + 1), TOO_BIG),
    "half a close status": (client_frame(CLOSE, b"\x03"), PROTOCOL_ERROR),
    "a close status that is never sent": (client_frame(CLOSE, b"\x03\xed"), PROTOCOL_ERROR),
    "a close status of 0": (client_frame(CLOSE, b"\0\0"), PROTOCOL_ERROR),
    "a close reason that is not UTF-8": (client_frame(CLOSE, b"\x03\xe8\xff"), INVALID_DATA),
}


@pytest.mark.parametrize(("data", "code"), MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_frames_are_protocol_errors(data: bytes, code: int) -> None:
    with pytest.raises(WebSocketError) as caught:
        Decoder().feed(data)
    assert caught.value.code == code


def test_fragments_count_together_towards_the_limit_of_a_message() -> None:
    decoder, fragment = Decoder(), bytes(1 << 20)
    decoder.feed(client_frame(BINARY, b"", final=False))
    for _ in range(MESSAGE_MAX >> 20):
        head = client_frame(CONTINUATION, b"", final=False, length=len(fragment))
        for event in decoder.feed(head + fragment):
            assert isinstance(event, Part)
    with pytest.raises(WebSocketError) as caught:
        decoder.feed(client_frame(CONTINUATION, b"x", final=False))
    assert caught.value.code == TOO_BIG


def test_nothing_is_kept_of_a_long_frame() -> None:
    decoder = Decoder()
    assert decoder.feed(client_frame(BINARY, b"", length=MESSAGE_MAX)) == []
    (part,) = decoder.feed(bytes(1000))
    assert isinstance(part, Part)
    assert (len(part.data), part.first, part.last) == (1000, True, False)
    assert not decoder._waiting


def test_a_close_frame_carries_its_status() -> None:
    assert Decoder().feed(client_frame(CLOSE, b"")) == [Close(1000)]
    assert Decoder().feed(client_frame(CLOSE, b"\x03\xe9" + "für immer".encode())) == [Close(1001)]
    assert Decoder().feed(client_frame(CLOSE, b"\x0f\xa0")) == [Close(4000)]
