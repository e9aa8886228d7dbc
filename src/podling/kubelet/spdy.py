"""SPDY/3.1 framing, as much of it as kubectl's port-forward speaks: pure, bytes in and frames out.

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
from dataclasses import dataclass, field
from typing import Final

VERSION: Final = 3
SYN_STREAM, SYN_REPLY, RST_STREAM, PING, GOAWAY = 1, 2, 3, 6, 7
FIN: Final = 0x01
"""The sender will send nothing more on this stream."""
CANCEL: Final = 5
"""Status of RST_STREAM: the stream is not wanted any more."""
LENGTH_MAX: Final = (1 << 24) - 1
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


class ProtocolError(Exception):
    """The peer does not speak SPDY/3.1."""


@dataclass(frozen=True, slots=True)
class Data:
    stream: int
    content: bytes
    fin: bool = False


@dataclass(frozen=True, slots=True)
class SynStream:
    """The peer opens a stream."""

    stream: int
    headers: Mapping[str, str] = field(default_factory=dict)
    fin: bool = False


@dataclass(frozen=True, slots=True)
class SynReply:
    """A stream is accepted."""

    stream: int
    headers: Mapping[str, str] = field(default_factory=dict)
    fin: bool = False


@dataclass(frozen=True, slots=True)
class Reset:
    stream: int
    status: int = CANCEL


@dataclass(frozen=True, slots=True)
class Ping:
    id: int


@dataclass(frozen=True, slots=True)
class GoAway:
    last_stream: int = 0
    status: int = 0


Frame = Data | SynStream | SynReply | Reset | Ping | GoAway


class Decoder:
    """Frames out of bytes that come in any pieces. Frames without a meaning here are left out."""

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._headers = zlib.decompressobj(zdict=DICTIONARY)

    def feed(self, chunk: bytes) -> list[Frame]:
        """The frames that are complete now. Raises ``ProtocolError``."""
        self._waiting += chunk
        frames: list[Frame] = []
        while len(self._waiting) >= 8:
            first, rest = struct.unpack_from(">II", self._waiting)
            flags, length = rest >> 24, rest & LENGTH_MAX
            if len(self._waiting) < 8 + length:
                break
            body = bytes(self._waiting[8 : 8 + length])
            del self._waiting[: 8 + length]
            if not first >> 31:
                frames.append(Data(first, body, bool(flags & FIN)))
            elif (frame := self._control(first, flags, body)) is not None:
                frames.append(frame)
        return frames

    def _control(self, first: int, flags: int, body: bytes) -> Frame | None:
        version, kind = (first >> 16) & 0x7FFF, first & 0xFFFF
        if version != VERSION:
            raise ProtocolError(f"version {version}, expected {VERSION}")
        try:
            if kind == SYN_STREAM:
                (stream,) = struct.unpack_from(">I", body)
                return SynStream(stream & STREAM_MASK, self._read_headers(body[10:]), bool(flags & FIN))
            if kind == SYN_REPLY:
                (stream,) = struct.unpack_from(">I", body)
                return SynReply(stream & STREAM_MASK, self._read_headers(body[4:]), bool(flags & FIN))
            if kind == RST_STREAM:
                stream, status = struct.unpack(">II", body)
                return Reset(stream & STREAM_MASK, status)
            if kind == PING:
                return Ping(*struct.unpack(">I", body))
            if kind == GOAWAY:
                return GoAway(*struct.unpack(">II", body))
        except struct.error as error:
            raise ProtocolError(f"frame of type {kind}: {error}") from error
        return None

    def _read_headers(self, block: bytes) -> dict[str, str]:
        try:
            plain = self._headers.decompress(block)
        except zlib.error as error:
            raise ProtocolError(f"headers: {error}") from error
        position, texts = 4, []
        (count,) = struct.unpack_from(">I", plain)
        for _ in range(2 * count):
            (length,) = struct.unpack_from(">I", plain, position)
            position += 4 + length
            texts.append(plain[position - length : position].decode())
        return dict(zip(texts[::2], texts[1::2], strict=True))


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
