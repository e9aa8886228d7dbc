"""WebSocket framing of a server (RFC 6455). Pure: bytes in and parts of messages out.

A message is passed on as its bytes arrive, so nothing is held of it but a frame's header. The limit of a
message is the reference server's (``golang.org/x/net/websocket``, ``DefaultMaxPayloadBytes``). As there, text
is not checked for UTF-8.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from msgspec import Struct

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
MESSAGE_MAX: Final = 32 << 20
CONTROL_MAX: Final = 125
NORMAL: Final = 1000
PROTOCOL_ERROR: Final = 1002
INVALID_DATA: Final = 1007
TOO_BIG: Final = 1009
NEVER_SENT: Final = frozenset((1004, 1005, 1006, 1015))
"""Codes of the protocol's own range that no close frame may carry."""


class WebSocketError(ConnectionError):
    """The peer violates the protocol; ``code`` is the status of the close frame that says so."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Part(Struct, frozen=True):
    """Some bytes of a message, in order; an empty message is one empty part."""

    data: bytes
    first: bool = True
    last: bool = True


class Ping(Struct, frozen=True):
    data: bytes


class Close(Struct, frozen=True):
    """The peer sends nothing more."""

    code: int = NORMAL


Event = Part | Ping | Close


def frame(opcode: int, data: bytes) -> bytes:
    """Return an unfragmented frame as servers send it, without a mask."""
    length = len(data)
    if length <= CONTROL_MAX:
        return struct.pack(">BB", 0x80 | opcode, length) + data
    if length < 1 << 16:
        return struct.pack(">BBH", 0x80 | opcode, 126, length) + data
    return struct.pack(">BBQ", 0x80 | opcode, 127, length) + data


def close_frame(code: int = NORMAL) -> bytes:
    return frame(CLOSE, struct.pack(">H", code))


@dataclass(slots=True)
class _Header:
    """A frame whose payload has begun."""

    opcode: int
    final: bool
    mask: bytes
    left: int
    offset: int = 0


class Decoder:
    """Reads what a client sends, in any pieces."""

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._header: _Header | None = None
        self._control = b""
        self._message: int | None = None
        """Bytes of the unfinished message so far, over all of its frames; None between messages."""
        self._first = True

    def feed(self, chunk: bytes) -> list[Event]:
        """Return what has arrived. Raises ``WebSocketError``."""
        self._waiting += chunk
        events: list[Event] = []
        while self._header is not None or self._read_header():
            header = self._header
            assert header is not None
            if header.left and not self._waiting:
                break
            event = self._take(header)
            if event is not None:
                events.append(event)
        return events

    def _read_header(self) -> bool:
        """Begin the next frame; False while its header is incomplete."""
        waiting = self._waiting
        if len(waiting) < 2:
            return False
        first, second = waiting[0], waiting[1]
        opcode, final, length = first & 0x0F, bool(first & 0x80), second & 0x7F
        if first & 0x70:
            raise WebSocketError(PROTOCOL_ERROR, "reserved bits are set")
        if not second & 0x80:
            raise WebSocketError(PROTOCOL_ERROR, "a client's frame is not masked")
        self._check(opcode, final=final, length=length)
        extra = {126: 2, 127: 8}.get(length, 0)
        if len(waiting) < 6 + extra:
            return False
        if extra:
            shortest = 126 if extra == 2 else 1 << 16
            length = int.from_bytes(waiting[2 : 2 + extra], "big")
            if length < shortest or length >> 63:
                raise WebSocketError(PROTOCOL_ERROR, "the length is not encoded as short as possible")
        if opcode <= BINARY:
            self._count(length)
        self._header = _Header(opcode, final, bytes(waiting[2 + extra : 6 + extra]), length)
        del waiting[: 6 + extra]
        return True

    def _check(self, opcode: int, *, final: bool, length: int) -> None:
        if opcode in (CLOSE, PING, PONG):
            if not final or length > CONTROL_MAX:
                raise WebSocketError(PROTOCOL_ERROR, "a control frame is fragmented or too long")
        elif opcode not in (CONTINUATION, TEXT, BINARY):
            raise WebSocketError(PROTOCOL_ERROR, f"unknown frame type {opcode}")
        elif (opcode == CONTINUATION) != (self._message is not None):
            raise WebSocketError(PROTOCOL_ERROR, "a message begins before the last one ended, or never began")

    def _count(self, length: int) -> None:
        """Add a frame to the message it belongs to."""
        if self._message is None:
            self._message, self._first = 0, True
        self._message += length
        if self._message > MESSAGE_MAX:
            raise WebSocketError(TOO_BIG, f"a message is longer than {MESSAGE_MAX} bytes")

    def _take(self, header: _Header) -> Event | None:
        """Take what is here of a frame's payload; None for what means nothing to the reader."""
        data = bytes(self._waiting[: header.left])
        del self._waiting[: header.left]
        plain = _unmask(data, header.mask, header.offset)
        header.left -= len(data)
        header.offset += len(data)
        ended = not header.left
        if ended:
            self._header = None
        if header.opcode >= CLOSE:
            return self._take_control(header.opcode, plain, ended=ended)
        last, first = ended and header.final, self._first
        if last:
            self._message = None
        if not plain and not last:
            return None
        self._first = False
        return Part(plain, first, last)

    def _take_control(self, opcode: int, data: bytes, *, ended: bool) -> Event | None:
        self._control += data
        if not ended:
            return None
        whole, self._control = self._control, b""
        if opcode == PING:
            return Ping(whole)
        return Close(_close_code(whole)) if opcode == CLOSE else None


def _close_code(data: bytes) -> int:
    """Return the status of a close frame. Raises ``WebSocketError``."""
    if not data:
        return NORMAL
    code = int.from_bytes(data[:2], "big")
    if len(data) == 1 or code in NEVER_SENT or not (1000 <= code < 1016 or 3000 <= code < 5000):
        raise WebSocketError(PROTOCOL_ERROR, "a close frame without a valid status")
    try:
        data[2:].decode()
    except UnicodeDecodeError:
        raise WebSocketError(INVALID_DATA, "a close frame's reason is not UTF-8") from None
    return code


def _unmask(data: bytes, mask: bytes, offset: int) -> bytes:
    """``data``, which lies ``offset`` bytes into its frame, without the client's mask."""
    size, turn = len(data), offset % 4
    key = ((mask[turn:] + mask[:turn]) * (size // 4 + 1))[:size]
    return (int.from_bytes(data, "little") ^ int.from_bytes(key, "little")).to_bytes(size, "little")
