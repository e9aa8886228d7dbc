"""Questions about the interfaces and addresses of the calling thread's network namespace."""

from __future__ import annotations

import errno
import fcntl
import socket
import struct

from podling.network.netlink.wire import IFF_UP

_SIOCGIFFLAGS = 0x8913
_SIOCGIFMTU = 0x8921
_SIOCGIFINDEX = 0x8933


def index_of(name: str) -> int:
    """Return an interface's index in the calling thread's network namespace, 0 if there is none.

    Raises ``OSError`` when it is unknown, as without a free descriptor.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as probe:
        try:
            answer = fcntl.ioctl(probe, _SIOCGIFINDEX, struct.pack("16sI12x", name.encode(), 0))
        except OSError as error:
            if error.errno == errno.ENODEV:
                return 0
            raise
    return int(struct.unpack_from("=I", answer, 16)[0])


def is_up(name: str) -> bool:
    """Return whether an interface is administratively up. Raises ``OSError`` if there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as probe:
        answer = fcntl.ioctl(probe, _SIOCGIFFLAGS, struct.pack("16sH14x", name.encode(), 0))
    return bool(struct.unpack_from("=H", answer, 16)[0] & IFF_UP)


def mtu_of(name: str) -> int:
    """Return the size of an interface's largest packet, in bytes. Raises ``OSError`` if there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as probe:
        answer = fcntl.ioctl(probe, _SIOCGIFMTU, struct.pack("16sI12x", name.encode(), 0))
    return int(struct.unpack_from("=I", answer, 16)[0])


def has_address(address: bytes) -> bool:
    """Return whether an IPv4 or IPv6 address (packed) belongs to this machine."""
    family = socket.AF_INET if len(address) == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as probe:
        try:
            probe.bind((socket.inet_ntop(family, address), 0))
        except OSError:
            return False
    return True
