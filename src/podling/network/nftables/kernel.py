"""Sending transactions to the kernel, and reading tables back. Blocking: every call runs in a thread."""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Iterator

from podling.network.netlink.wire import attributes
from podling.network.nftables import attributes as nft
from podling.network.nftables.batches import Batch

_NETLINK_NETFILTER = 12
_SO_SNDBUFFORCE = 32
_SO_RCVBUFFORCE = 33
_RECEIVE_BYTES = 1 << 20
_TIMEOUT_SECONDS = 30.0
_NLMSG_ERROR = 2
_NLMSG_DONE = 3
_DUMP_INTERRUPTED = 0x10
_HEADER = struct.Struct("=IHHII")
_NETFILTER_HEADER = 4
_TRIES = 10
_KIND = 0x3FFF
"""The bits of an attribute's number; the others say how it is encoded."""


class Kernel:
    """A socket to the nf_tables of the network namespace of the thread that makes it."""

    def __init__(self) -> None:
        self._socket = socket.socket(
            socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_NETFILTER
        )
        self._socket.bind((0, 0))
        self._socket.settimeout(_TIMEOUT_SECONDS)
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BYTES)
        self._sequence = 0

    def __enter__(self) -> Kernel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    @property
    def number(self) -> int:
        """The number of this socket, by which the kernel reports its changes."""
        return int(self._socket.getsockname()[0])

    def commit(self, batch: Batch) -> None:
        """Carry a transaction out as a whole. Raises ``OSError``: then nothing of it happened."""
        if not batch:
            return
        data, last = batch.encode(self._sequence + 1)
        self._sequence = last + 1
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, 2 * len(data) + 65536)
        self._socket.send(data)
        while True:
            for kind, sequence, payload in _messages(self._socket.recv(_RECEIVE_BYTES)):
                if kind != _NLMSG_ERROR:
                    continue
                if code := -struct.unpack_from("=i", payload)[0]:
                    self._drop_answers()
                    raise OSError(code, os.strerror(code), f"table {batch.table}")
                if sequence == last:
                    return

    def _drop_answers(self) -> None:
        """Discard the further errors of a refused transaction: all are there when the first one is."""
        self._socket.setblocking(False)
        try:
            while self._socket.recv(_RECEIVE_BYTES):
                pass
        except BlockingIOError:
            pass
        finally:
            self._socket.settimeout(_TIMEOUT_SECONDS)

    def dump(self, kind: int, family: str, body: bytes = b"") -> list[dict[int, bytes]]:
        """Return the attributes of every object of a kind; empty where the table or set does not exist.

        Raises ``OSError``, also when the tables keep changing meanwhile.
        """
        for _ in range(_TRIES):
            found = self._dump(kind, family, body)
            if found is not None:
                return found
        raise OSError(errno.EAGAIN, "the nftables tables keep changing")

    def _dump(self, kind: int, family: str, body: bytes) -> list[dict[int, bytes]] | None:
        self._sequence += 1
        self._socket.send(nft.message(kind, nft.F_DUMP, nft.FAMILIES[family], body, self._sequence))
        found: list[dict[int, bytes]] = []
        interrupted = False
        while True:
            data = self._socket.recv(_RECEIVE_BYTES)
            interrupted = interrupted or _is_interrupted(data)
            for answered, sequence, payload in _messages(data):
                if sequence != self._sequence:
                    continue
                if answered == _NLMSG_DONE:
                    return None if interrupted else found
                if answered == _NLMSG_ERROR:
                    code = -struct.unpack_from("=i", payload)[0]
                    if code == errno.ENOENT:
                        return []
                    raise OSError(code, os.strerror(code))
                found.append(parsed(payload[_NETFILTER_HEADER:]))


def parsed(data: bytes) -> dict[int, bytes]:
    """Return the attributes in ``data`` by their number."""
    return {kind & _KIND: payload for kind, payload in attributes(data)}


def _is_interrupted(data: bytes) -> bool:
    return bool(struct.unpack_from("=H", data, 6)[0] & _DUMP_INTERRUPTED)


def _messages(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield kind, sequence number and payload of every message."""
    position = 0
    while position + _HEADER.size <= len(data):
        length, kind, _, sequence, _ = _HEADER.unpack_from(data, position)
        yield kind, sequence, data[position + _HEADER.size : position + length]
        position += max((length + 3) & ~3, _HEADER.size)
