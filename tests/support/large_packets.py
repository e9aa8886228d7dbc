"""Sends one echo request of ``SIZE`` bytes that must not be fragmented: ``... ADDRESS SIZE``.

Prints ``answered``, ``too large`` if the kernel refuses the packet, or ``no answer``.
"""

from __future__ import annotations

import errno
import socket
import struct
import sys

_IP_MTU_DISCOVER, _IP_PMTUDISC_DO = 10, 2
_HEADERS = 20 + 8
_SECONDS = 3.0


def checksum(data: bytes) -> int:
    total = sum(map(int, struct.unpack(f"!{len(data) // 2}H", data)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def main(address: str, size: int) -> str:
    body = bytes(size - _HEADERS)
    body += bytes(len(body) % 2)
    head = struct.pack("!BBHHH", 8, 0, 0, 1, 1)
    packet = struct.pack("!BBHHH", 8, 0, checksum(head + body), 1, 1) + body[: size - _HEADERS]
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as probe:
        probe.setsockopt(socket.IPPROTO_IP, _IP_MTU_DISCOVER, _IP_PMTUDISC_DO)
        probe.settimeout(_SECONDS)
        try:
            probe.sendto(packet, (address, 0))
            while True:
                answer, (sender, _) = probe.recvfrom(65536)
                if sender == address and answer[20] == 0 and len(answer) == size:
                    return "answered"
        except TimeoutError:
            return "no answer"
        except OSError as error:
            if error.errno == errno.EMSGSIZE:
                return "too large"
            raise


if __name__ == "__main__":
    print(main(sys.argv[1], int(sys.argv[2])))
