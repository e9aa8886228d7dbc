"""SPDY/3.1 framing: what goes in comes out, and what no client of Kubernetes sends is refused cheaply."""

from __future__ import annotations

import struct
import tracemalloc
import zlib
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podling import clock
from podling.streaming.spdy import (
    CONTROL_MAX,
    DICTIONARY,
    HEADER_COUNT_MAX,
    HEADERS_MAX,
    Data,
    Decoder,
    Encoder,
    Frame,
    GoAway,
    Ping,
    Reset,
    SpdyError,
    SynReply,
    SynStream,
)


def test_dictionary_is_the_protocols() -> None:
    assert (len(DICTIONARY), zlib.adler32(DICTIONARY)) == (1423, 0xE3C6A7C2)


streams = st.integers(1, 2**31 - 1)
texts = st.text(st.characters(codec="ascii", exclude_characters="\0"), max_size=20)
headers = st.dictionaries(texts, texts, max_size=4)
frames = st.one_of(
    st.builds(Data, streams, st.binary(max_size=200), st.booleans()),
    st.builds(SynStream, st.just(0), headers, st.booleans()),
    st.builds(SynReply, streams, headers, st.booleans()),
    st.builds(Reset, streams, st.integers(0, 11)),
    st.builds(Ping, st.integers(0, 2**32 - 1)),
    st.builds(GoAway, streams, st.integers(0, 2)),
)


def numbered(frames: list[Frame]) -> list[Frame]:
    """Streams are opened with odd numbers that grow."""
    return [
        SynStream(2 * place + 1, frame.headers, frame.fin) if isinstance(frame, SynStream) else frame
        for place, frame in enumerate(frames)
    ]


def joined(frames: list[Frame]) -> list[Frame]:
    """Data that was passed on in parts, in one again as far as its end was not marked."""
    whole: list[Frame] = []
    for frame in frames:
        last = whole[-1] if whole else None
        if (
            isinstance(frame, Data)
            and isinstance(last, Data)
            and (last.stream, last.fin) == (frame.stream, False)
        ):
            whole[-1] = Data(frame.stream, last.content + frame.content, frame.fin)
        else:
            whole.append(frame)
    return whole


@given(st.lists(frames, max_size=12).map(numbered), st.integers(1, 50))
def test_frames_come_out_as_they_went_in(sent: list[Frame], piece: int) -> None:
    encoder, decoder = Encoder(), Decoder()
    data = b"".join(encoder.encode(frame) for frame in sent)
    received: list[Frame] = []
    for start in range(0, len(data), piece):
        received += decoder.feed(data[start : start + piece])
    assert joined(received) == joined(sent)


@given(st.lists(st.binary(max_size=60), max_size=6))
def test_any_bytes_are_frames_or_an_error(pieces: list[bytes]) -> None:
    decoder = Decoder()
    try:
        for piece in pieces:
            decoder.feed(piece)
    except SpdyError:
        return


def test_frames_without_a_meaning_here_are_left_out() -> None:
    window_update = b"\x80\x03\x00\x09\x00\x00\x00\x08" + b"\x00\x00\x00\x01\x00\x01\x00\x00"
    assert Decoder().feed(window_update + Encoder().encode(Ping(1))) == [Ping(1)]


def test_headers_frames_keep_the_shared_compression_in_step() -> None:
    encoder = Encoder()
    late = control(8, struct.pack(">I", 1) + encoder._write_headers({"streamtype": "late"}))
    opened = SynStream(3, {"streamtype": "data"})
    assert Decoder().feed(late + encoder.encode(opened)) == [opened]


def control(kind: int, body: bytes, version: int = 3) -> bytes:
    return struct.pack(">HHI", 0x8000 | version, kind, len(body)) + body


def syn_stream(plain: bytes, stream: int = 1) -> bytes:
    compressor = zlib.compressobj(9, zdict=DICTIONARY)
    block = compressor.compress(plain) + compressor.flush(zlib.Z_SYNC_FLUSH)
    return control(1, struct.pack(">IIH", stream, 0, 0) + block)


def pairs(*headers: tuple[bytes, bytes], count: int | None = None) -> bytes:
    texts = [struct.pack(">I", len(text)) + text for pair in headers for text in pair]
    return struct.pack(">I", len(headers) if count is None else count) + b"".join(texts)


MALFORMED: Mapping[str, Callable[[], bytes]] = {
    "another version": lambda: control(1, b"", version=2),
    "a stream without a number": lambda: control(1, b"\0\0"),
    "headers that are not compressed": lambda: control(1, struct.pack(">IIH", 1, 0, 0) + b"xx"),
    "headers that are not UTF-8": lambda: syn_stream(pairs((b"\xff\xfe", b"x"))),
    "a value that is not UTF-8": lambda: syn_stream(pairs((b"port", b"\xff"))),
    "fewer headers than announced": lambda: syn_stream(pairs((b"port", b"80"), count=2)),
    "more headers than announced": lambda: syn_stream(pairs((b"port", b"80"), count=0)),
    "a header longer than its block": lambda: syn_stream(struct.pack(">II", 1, 100) + b"x"),
    "a header of 4 GiB": lambda: syn_stream(struct.pack(">II", 1, 2**32 - 1)),
    "a header twice": lambda: syn_stream(pairs((b"port", b"80"), (b"port", b"81"))),
    "no count": lambda: syn_stream(b"\0\0"),
    "very many headers": lambda: syn_stream(pairs(*((b"%d" % n, b"") for n in range(HEADER_COUNT_MAX + 1)))),
    "headers of 10 MB in 10 kB": lambda: syn_stream(pairs((b"port", bytes(10 << 20)))),
    "headers of 100 MB": lambda: syn_stream(pairs((b"port", bytes(100 << 20)))),
    "12.5 million empty headers": lambda: syn_stream(bytes((0, 0xBE, 0xBC, 0x20)) + bytes(100_000_000)),
    "a control frame of 16 MB": lambda: struct.pack(">HHI", 0x8003, 1, (1 << 24) - 1),
    "an even stream": lambda: syn_stream(pairs((b"port", b"80")), stream=2),
    "stream 0": lambda: syn_stream(pairs((b"port", b"80")), stream=0),
    "a reset without a status": lambda: control(3, b"\0\0\0\1"),
    "a ping without a number": lambda: control(6, b""),
    "a long goodbye": lambda: control(7, bytes(9)),
}


@pytest.mark.parametrize("make", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_frames_are_protocol_errors_and_cost_little(make: Callable[[], bytes]) -> None:
    data = make()
    decoder = Decoder()
    tracemalloc.start()
    try:
        began = clock.monotonic()
        with pytest.raises(SpdyError):
            decoder.feed(data[: CONTROL_MAX + 8])
        took, (_, peak) = clock.monotonic() - began, tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert took < 0.25
    assert peak < 8 * HEADERS_MAX


@pytest.mark.parametrize("second", [1, 3])
def test_a_stream_is_opened_once_and_in_order(second: int) -> None:
    encoder = Encoder()
    with pytest.raises(SpdyError):
        Decoder().feed(encoder.encode(SynStream(3)) + encoder.encode(SynStream(second)))


def test_the_end_of_the_compressed_headers_is_an_error() -> None:
    """Bytes after it would be kept without a limit."""
    compressor = zlib.compressobj(zdict=DICTIONARY)
    block = compressor.compress(pairs((b"port", b"80"))) + compressor.flush(zlib.Z_FINISH)
    with pytest.raises(SpdyError):
        Decoder().feed(control(1, struct.pack(">IIH", 1, 0, 0) + block))


def test_a_long_data_frame_is_passed_on_as_it_arrives() -> None:
    decoder = Decoder()
    head = struct.pack(">II", 1, 0x01 << 24 | (1 << 24) - 1)
    assert decoder.feed(head) == []
    assert decoder.feed(b"x" * 1000) == [Data(1, b"x" * 1000)]
    rest = (1 << 24) - 1 - 1000
    assert decoder.feed(b"y" * rest + Encoder().encode(Ping(3))) == [Data(1, b"y" * rest, fin=True), Ping(3)]
