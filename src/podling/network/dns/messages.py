"""Messages between the node's process and the DNS process, in frames on a Unix socket. Pure.

A frame is four bytes of length and one message in MessagePack. The DNS process begins with ``Hello``, which
also carries its listening sockets (``SCM_RIGHTS``), so that they stay open when either
process ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from podling.network.dns.settings import Settings

FRAME_BYTES_MAX = 16 * 1024 * 1024
SERVICES_AT_ONCE = 50
RECORD_BYTES_AT_ONCE = 256 * 1024
"""The most in one message of Services, but for a single Service that is larger."""

DATAGRAMS, CONNECTIONS, STATUS = "udp", "tcp", "status"


class Endpoint(Struct, frozen=True, array_like=True):
    """One listening socket of the server: what it serves, and where."""

    kind: str
    ip: str
    port: int


class Hello(Struct, frozen=True, tag="hello"):
    """The first message of the DNS process. ``endpoints`` are in the order of the sockets beside it."""

    pid: int
    build: str
    """The mark of this code and its settings, which differs from that of any other version."""
    endpoints: tuple[Endpoint, ...]


class Pong(Struct, frozen=True, tag="pong"):
    number: int


class Notice(Struct, frozen=True, tag="notice"):
    """Something that an administrator should know: the reason and the text of an event."""

    reason: str
    text: str


class Begin(Struct, frozen=True, tag="begin"):
    """Everything follows. What is not sent again before ``Complete`` does not exist any more."""


class Services(Struct, frozen=True, tag="services"):
    """Changed Services (their records, encoded), and the keys of those that are gone."""

    changed: tuple[bytes, ...] = ()
    gone: tuple[str, ...] = ()


class Namespaces(Struct, frozen=True, tag="namespaces"):
    """The names of all namespaces."""

    names: tuple[str, ...]


class Configure(Struct, frozen=True, tag="configure"):
    """The settings. ``resolv_conf`` is the file with the node's own servers, which the server follows."""

    settings: Settings
    resolv_conf: str


class Complete(Struct, frozen=True, tag="complete"):
    """Everything was sent since ``Begin``."""


class Ping(Struct, frozen=True, tag="ping"):
    """A sign of life. ``dropped`` is how many questions the kernel has dropped beyond a client's limit."""

    number: int
    dropped: int = 0


ToServer = Begin | Services | Namespaces | Configure | Complete | Ping
FromServer = Hello | Pong | Notice

_encoder = msgspec.msgpack.Encoder()
to_server = msgspec.msgpack.Decoder(ToServer)
from_server = msgspec.msgpack.Decoder(FromServer)


def frame(message: ToServer | FromServer) -> bytes:
    data = _encoder.encode(message)
    return len(data).to_bytes(4, "big") + data


def batches(records: Iterable[bytes]) -> Iterator[tuple[bytes, ...]]:
    """Cut the encoded records of many Services into what one message may have."""
    batch: list[bytes] = []
    size = 0
    for each in records:
        if batch and (len(batch) >= SERVICES_AT_ONCE or size + len(each) > RECORD_BYTES_AT_ONCE):
            yield tuple(batch)
            batch, size = [], 0
        batch.append(each)
        size += len(each)
    if batch:
        yield tuple(batch)


class Garbage(Exception):
    """A frame that no such process sends."""


class Frames:
    """Cuts a stream of bytes into frames."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield each whole frame's content. Raises ``Garbage`` for one that is too long."""
        self._data += data
        start = 0
        while len(self._data) - start >= 4:
            length = int.from_bytes(self._data[start : start + 4], "big")
            if length > FRAME_BYTES_MAX:
                raise Garbage(f"a frame of {length} bytes")
            if len(self._data) - start - 4 < length:
                break
            yield bytes(self._data[start + 4 : start + 4 + length])
            start += 4 + length
        del self._data[:start]
