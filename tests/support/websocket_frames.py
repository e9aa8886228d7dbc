"""A WebSocket client's side of the framing, for tests that write frames that no library sends."""

from __future__ import annotations

import struct

MASK = b"\x11\x22\x33\x44"


def client_frame(
    opcode: int,
    data: bytes,
    *,
    final: bool = True,
    mask: bytes | None = MASK,
    reserved: int = 0,
    length: int | None = None,
    wide: int = 0,
) -> bytes:
    """Return a frame. ``length`` is announced instead of the real one, in ``wide`` bytes if not 0."""
    announced = len(data) if length is None else length
    size = wide or (0 if announced < 126 else 2 if announced < 1 << 16 else 8)
    short = {0: announced, 2: 126, 8: 127}[size]
    head = struct.pack(">BB", final << 7 | reserved << 4 | opcode, (mask is not None) << 7 | short)
    head += announced.to_bytes(size, "big") if size else b""
    if mask is None:
        return head + data
    return head + mask + bytes(byte ^ mask[place % 4] for place, byte in enumerate(data))


def server_frames(data: bytes) -> list[tuple[int, bytes]]:
    """Return types and payloads of a server's complete frames; a partial frame at the end is ignored."""
    found = []
    while len(data) >= 2:
        length, start = data[1], 2
        if length >= 126:
            start = 4 if length == 126 else 10
            length = int.from_bytes(data[2:start], "big")
        if len(data) < start + length:
            break
        found.append((data[0] & 0x0F, data[start : start + length]))
        data = data[start + length :]
    return found
