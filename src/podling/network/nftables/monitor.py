"""Notices changes of nftables tables by other programs.

The kernel reports each change with the number of the socket that made it (``NFNLGRP_NFTABLES``). So a
component sees foreign changes of its table at once, and need not compare a table after its own changes.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable

from podling.network.nftables import attributes as nft
from podling.network.nftables.kernel import parsed

_NETLINK_NETFILTER = 12
_SOL_NETLINK = 270
_ADD_MEMBERSHIP = 1
_GROUP = 7
_SO_RCVBUFFORCE = 33
_BUFFER_BYTES = 1 << 20
_DATAGRAM_BYTES = 1 << 18
_HEADER = struct.Struct("=IHHII")
_BODY = _HEADER.size + 4
_TABLE = 1
"""The number of the attribute with the table's name, in reports of every kind."""
_DATAGRAMS_AT_ONCE = 64


class Monitor:
    """Calls ``changed`` when another program may have changed one of the tables that ``is_mine`` knows.

    Args:
        is_own: knows the numbers of the component's own sockets.
        changed: is called in the event loop, quickly and often.

    ``start`` and ``close`` must be called in the loop. ``start`` raises ``OSError``.
    """

    def __init__(
        self, is_mine: Callable[[str], bool], is_own: Callable[[int], bool], changed: Callable[[], object]
    ) -> None:
        self._is_mine = is_mine
        self._is_own = is_own
        self._changed = changed
        self._socket: socket.socket | None = None

    def start(self) -> None:
        kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
        opened = socket.socket(socket.AF_NETLINK, kind, _NETLINK_NETFILTER)
        try:
            opened.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
            opened.bind((0, 0))
            opened.setsockopt(_SOL_NETLINK, _ADD_MEMBERSHIP, _GROUP)
        except OSError:
            opened.close()
            raise
        self._socket = opened
        asyncio.get_running_loop().add_reader(opened.fileno(), self._read)

    def close(self) -> None:
        opened, self._socket = self._socket, None
        if opened is not None:
            asyncio.get_running_loop().remove_reader(opened.fileno())
            opened.close()

    def _read(self) -> None:
        for _ in range(_DATAGRAMS_AT_ONCE):
            if self._socket is None:
                return
            try:
                data = self._socket.recv(_DATAGRAM_BYTES)
            except BlockingIOError:
                return
            except OSError:  # reports were lost: there were more than the buffer holds
                self._changed()
                return
            if self._concerns(data):
                self._changed()

    def _concerns(self, data: bytes) -> bool:
        """Return whether one of the reports is of another program's change of a table of ours."""
        position = 0
        while position + _BODY <= len(data):
            length, kind, _, _, port = _HEADER.unpack_from(data, position)
            if kind >> 8 == nft.SUBSYSTEM and not self._is_own(port):
                name = parsed(data[position + _BODY : position + length]).get(_TABLE, b"")
                if self._is_mine(name.rstrip(b"\0").decode(errors="replace")):
                    return True
            position += max((length + 3) & ~3, _HEADER.size)
        return False
