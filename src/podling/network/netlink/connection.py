"""A netlink socket: sends several requests in one datagram and waits for the kernel's answers.

Written out because the usual library takes longer to import than a pod takes to start.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterable

from podling.network.netlink.links import link
from podling.network.netlink.wire import (
    HEADER,
    IFLA_IFNAME,
    IFLA_MASTER,
    LINK,
    NLM_F_ACK,
    NLM_F_DUMP,
    NLM_F_REQUEST,
    NLMSG_DONE,
    NLMSG_ERROR,
    RTM_GETLINK,
    Message,
    acknowledgements,
    attributes,
    messages,
    number,
)


class Netlink:
    """A socket to the kernel's routing tables, in the network namespace of the thread that opens it."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
        self._socket.bind((0, 0))
        self._socket.settimeout(10.0)
        self._sequence = 0

    def __enter__(self) -> Netlink:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def request(self, messages: Iterable[Message]) -> None:
        """Carry out ``messages`` in order. Raises ``OSError`` for the first that the kernel refuses."""
        about: dict[int, str] = {}
        data = b""
        for message in messages:
            self._sequence += 1
            about[self._sequence] = message.about
            flags = NLM_F_REQUEST | NLM_F_ACK | message.flags
            length = HEADER.size + len(message.body)
            header = HEADER.pack(length, message.kind, flags, self._sequence, 0)
            data += header + message.body + bytes(-length % 4)
        self._socket.send(data)
        refused: OSError | None = None
        while about:
            for sequence, code in acknowledgements(self._socket.recv(65536)):
                name = about.pop(sequence, "")
                if code and refused is None:
                    refused = OSError(code, os.strerror(code), name)
        if refused is not None:
            raise refused

    def dump(self, kind: int, body: bytes, about: str) -> list[bytes]:
        """Return the payloads of the kernel's answers to a request for all objects. Raises ``OSError``."""
        self._sequence += 1
        flags = NLM_F_REQUEST | NLM_F_DUMP
        self._socket.send(HEADER.pack(HEADER.size + len(body), kind, flags, self._sequence, 0) + body)
        found: list[bytes] = []
        while True:
            for answer, payload in messages(self._socket.recv(1 << 18)):
                if answer == NLMSG_DONE:
                    return found
                if answer == NLMSG_ERROR:
                    code = -struct.unpack_from("=i", payload)[0]
                    raise OSError(code, os.strerror(code), about)
                found.append(payload)

    def ports(self, bridge: int) -> set[str]:
        """Return the names of a bridge's ports. Raises ``OSError``."""
        body = link() + number(IFLA_MASTER, bridge)
        names: set[str] = set()
        for payload in self.dump(RTM_GETLINK, body, f"interface {bridge}"):
            found = dict(attributes(payload[LINK.size :]))
            if found.get(IFLA_MASTER) == struct.pack("=I", bridge):
                names.add(found[IFLA_IFNAME].rstrip(b"\0").decode())
        return names
