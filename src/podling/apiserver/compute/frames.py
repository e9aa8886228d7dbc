"""Messages between the server and a worker process: a fixed head, then the content.

    request   length of the name (2 bytes) · length of the data (4 bytes) · name of the function · data
    reply     outcome (1 byte) · length of the content (4 bytes) · content

Numbers are big-endian. Pure.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from enum import IntEnum

from msgspec import Struct

FRAME_BYTES_MAX = 64 * 1024 * 1024
"""A longer message is garbage: bodies have at most 3 MB, and objects not much more."""

_REQUEST = struct.Struct(">HI")
_REPLY = struct.Struct(">BI")
REQUEST_BYTES, REPLY_BYTES = _REQUEST.size, _REPLY.size
"""Lengths of the heads."""

Perform = Callable[[bytes], bytes]
"""The function of a job: pure, at the top of a module. Every process of the same program can import it."""


class Outcome(IntEnum):
    DONE = 0
    FAILED = 1
    OUT_OF_MEMORY = 2


class Garbage(Exception):
    """The other side sent something that is no message."""


class ReplyHead(Struct, frozen=True):
    """The head of a reply."""

    outcome: Outcome
    length: int


def name_of(perform: Perform) -> str:
    """Return the name by which another process finds a function."""
    return f"{perform.__module__}:{perform.__qualname__}"


def request_head(name: bytes, length: int) -> bytes:
    return _REQUEST.pack(len(name), length)


def read_request_head(head: bytes) -> tuple[int, int]:
    """Return the lengths of the name and of the data."""
    name, data = _REQUEST.unpack(head)
    if data > FRAME_BYTES_MAX:
        raise Garbage(f"a request of {data} bytes")
    return name, data


def reply_head(outcome: Outcome, length: int) -> bytes:
    return _REPLY.pack(outcome, length)


def read_reply_head(head: bytes) -> ReplyHead:
    outcome, length = _REPLY.unpack(head)
    if outcome not in Outcome.__members__.values() or length > FRAME_BYTES_MAX:
        raise Garbage(f"a reply of kind {outcome} and {length} bytes")
    return ReplyHead(Outcome(outcome), length)
