"""SPDY/3.1 framing, as much of it as Kubernetes' clients use. Pure: bytes in and frames out.

A control frame is ``1`` and 15 bits of version, 16 bits of type, 8 bits of flags and 24 bits of length;
a data frame is ``0`` and 31 bits of stream, then flags and length. Headers travel in blocks of one
zlib stream per direction, which starts from a dictionary that the protocol fixes (SPDY draft 3,
section 2.6.10.1; its Adler-32 is e3c6a7c2). There is no flow control, because the peer
(moby/spdystream) has none: settings and window updates are read and mean nothing.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

VERSION: Final = 3
SYN_STREAM, SYN_REPLY, RST_STREAM, PING, GOAWAY, HEADERS = 1, 2, 3, 6, 7, 8
FIN: Final = 0x01
"""The sender will send nothing more on this stream."""
REFUSED: Final = 3
CANCEL: Final = 5
"""Status of RST_STREAM: the stream is not wanted any more."""
LENGTH_MAX: Final = (1 << 24) - 1
CONTROL_MAX: Final = 16 << 10
HEADERS_MAX: Final = 64 << 10
"""Bytes of one block of headers, expanded; Kubernetes' clients send less than two hundred."""
HEADER_COUNT_MAX: Final = 100
STREAM_MASK: Final = 0x7FFFFFFF

_WORDS = (
    "options|head|post|put|delete|trace|accept|accept-charset|accept-encoding|accept-language|"
    "accept-ranges|age|allow|authorization|cache-control|connection|content-base|content-encoding|"
    "content-language|content-length|content-location|content-md5|content-range|content-type|date|etag|"
    "expect|expires|from|host|if-match|if-modified-since|if-none-match|if-range|if-unmodified-since|"
    "last-modified|location|max-forwards|pragma|proxy-authenticate|proxy-authorization|range|referer|"
    "retry-after|server|te|trailer|transfer-encoding|upgrade|user-agent|vary|via|warning|"
    "www-authenticate|method|get|status|200 OK|version|HTTP/1.1|url|public|set-cookie|keep-alive|origin"
)
_TEXT = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized"
    "403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,"
    "text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)
DICTIONARY: Final = (
    b"".join(struct.pack(">I", len(word)) + word.encode() for word in _WORDS.split("|")) + _TEXT.encode()
)


class SpdyError(ConnectionError):
    """The peer violates SPDY/3.1, or sends more than anything needs."""


class Data(Struct, frozen=True):
    stream: int
    content: bytes
    fin: bool = False


class SynStream(Struct, frozen=True):
    """The peer opens a stream."""

    stream: int
    headers: Mapping[str, str] = field(default_factory=dict)
    fin: bool = False


class SynReply(Struct, frozen=True):
    """A stream is accepted."""

    stream: int
    headers: Mapping[str, str] = field(default_factory=dict)
    fin: bool = False


class Reset(Struct, frozen=True):
    stream: int
    status: int = CANCEL


class Ping(Struct, frozen=True):
    id: int


class GoAway(Struct, frozen=True):
    last_stream: int = 0
    status: int = 0


Frame = Data | SynStream | SynReply | Reset | Ping | GoAway


class Decoder:
    """Frames out of bytes that come in any pieces. Frames without a meaning here are left out.

    Data is passed on as it arrives, as several frames if need be, so no more than one control frame is held.
    """

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._headers = zlib.decompressobj(zdict=DICTIONARY)
        self._last_stream = 0
        self._data: Data | None = None
        """The data frame that has begun."""
        self._left = 0

    def feed(self, chunk: bytes) -> list[Frame]:
        """Return the frames that have arrived. Raises ``SpdyError``."""
        self._waiting += chunk
        frames: list[Frame] = []
        while True:
            if self._data is not None:
                if self._left and not self._waiting:
                    return frames
                frames.append(self._take_data(self._data))
                continue
            if len(self._waiting) < 8:
                return frames
            first, rest = struct.unpack_from(">II", self._waiting)
            flags, length = rest >> 24, rest & LENGTH_MAX
            if not first >> 31:
                self._data, self._left = Data(first, b"", bool(flags & FIN)), length
                del self._waiting[:8]
                continue
            if length > CONTROL_MAX:
                raise SpdyError(f"a control frame of {length} bytes")
            if len(self._waiting) < 8 + length:
                return frames
            body = bytes(self._waiting[8 : 8 + length])
            del self._waiting[: 8 + length]
            if (frame := self._control(first, flags, body)) is not None:
                frames.append(frame)

    def _take_data(self, begun: Data) -> Data:
        """Return the received part of a data frame; only its last part ends the stream."""
        content = bytes(self._waiting[: self._left])
        del self._waiting[: self._left]
        self._left -= len(content)
        if self._left:
            return Data(begun.stream, content)
        self._data = None
        return Data(begun.stream, content, begun.fin)

    def _control(self, first: int, flags: int, body: bytes) -> Frame | None:
        version, kind = (first >> 16) & 0x7FFF, first & 0xFFFF
        if version != VERSION:
            raise SpdyError(f"version {version}, expected {VERSION}")
        try:
            if kind == SYN_STREAM:
                (stream,) = struct.unpack_from(">I", body)
                return self._opened(stream & STREAM_MASK, self._read_headers(body[10:]), flags)
            if kind == SYN_REPLY:
                (stream,) = struct.unpack_from(">I", body)
                return SynReply(stream & STREAM_MASK, self._read_headers(body[4:]), bool(flags & FIN))
            if kind == HEADERS:
                self._read_headers(body[4:])  # the block belongs to the one zlib stream of all headers
            if kind == RST_STREAM:
                stream, status = struct.unpack(">II", body)
                return Reset(stream & STREAM_MASK, status)
            if kind == PING:
                return Ping(*struct.unpack(">I", body))
            if kind == GOAWAY:
                return GoAway(*struct.unpack(">II", body))
        except struct.error as error:
            raise SpdyError(f"frame of type {kind}: {error}") from error
        return None

    def _opened(self, stream: int, headers: Mapping[str, str], flags: int) -> SynStream:
        """Return a stream of the client's: their numbers are odd and grow."""
        if not stream % 2 or stream <= self._last_stream:
            raise SpdyError(f"stream {stream} opened after stream {self._last_stream}")
        self._last_stream = stream
        return SynStream(stream, headers, bool(flags & FIN))

    def _read_headers(self, block: bytes) -> dict[str, str]:
        try:
            plain = self._headers.decompress(block, HEADERS_MAX + 1)
        except zlib.error as error:
            raise SpdyError(f"headers: {error}") from error
        if len(plain) > HEADERS_MAX or self._headers.unconsumed_tail or self._headers.eof:
            raise SpdyError(f"headers: more than {HEADERS_MAX} bytes, or the end of all headers")
        (count,) = struct.unpack_from(">I", plain)
        if count > HEADER_COUNT_MAX:
            raise SpdyError(f"{count} headers")
        position, texts = 4, []
        for _ in range(2 * count):
            (length,) = struct.unpack_from(">I", plain, position)
            position += 4 + length
            if position > len(plain):
                raise SpdyError("a header is longer than its block")
            texts.append(plain[position - length : position])
        if position != len(plain):
            raise SpdyError("bytes after the last header")
        try:
            headers = {
                name.decode(): text.decode() for name, text in zip(texts[::2], texts[1::2], strict=True)
            }
        except UnicodeDecodeError as error:
            raise SpdyError(f"headers: {error}") from error
        if len(headers) != count:
            raise SpdyError("a header comes twice")
        return headers


class Encoder:
    """Bytes out of frames; one per connection, because its headers build on those before."""

    def __init__(self) -> None:
        self._headers = zlib.compressobj(zdict=DICTIONARY)

    def encode(self, frame: Frame) -> bytes:
        match frame:
            case Data(stream, content, fin):
                return struct.pack(">II", stream, (FIN * fin) << 24 | len(content)) + content
            case SynStream(stream, headers, fin):
                body = struct.pack(">IIH", stream, 0, 0) + self._write_headers(headers)
                return _control(SYN_STREAM, body, fin=fin)
            case SynReply(stream, headers, fin):
                return _control(SYN_REPLY, struct.pack(">I", stream) + self._write_headers(headers), fin=fin)
            case Reset(stream, status):
                return _control(RST_STREAM, struct.pack(">II", stream, status))
            case Ping(id):
                return _control(PING, struct.pack(">I", id))
            case GoAway(last_stream, status):
                return _control(GOAWAY, struct.pack(">II", last_stream, status))

    def _write_headers(self, headers: Mapping[str, str]) -> bytes:
        plain = struct.pack(">I", len(headers))
        for text in (text.encode() for pair in headers.items() for text in pair):
            plain += struct.pack(">I", len(text)) + text
        return self._headers.compress(plain) + self._headers.flush(zlib.Z_SYNC_FLUSH)


def _control(kind: int, body: bytes, *, fin: bool = False) -> bytes:
    return struct.pack(">HHI", 0x8000 | VERSION, kind, (FIN * fin) << 24 | len(body)) + body
