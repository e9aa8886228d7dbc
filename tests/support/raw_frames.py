"""Program that sends raw Ethernet frames from its network namespace: ``python3 raw_frames.py KIND ...``.

Imports only the standard library, so that the program also runs inside a pod. All frames leave by ``eth0``.
"""

from __future__ import annotations

import fcntl
import socket
import struct
import sys

IPV4, ARP, IPV6 = 0x0800, 0x0806, 0x86DD
BROADCAST = b"\xff" * 6
ALL_NODES = bytes.fromhex("333300000001")
TCP, UDP, ICMP, ICMPV6 = 6, 17, 1, 58
TIMEOUT_SECONDS = 2.0


def checksum(data: bytes) -> int:
    data += b"\0" * (len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def own_mac(interface: str = "eth0") -> bytes:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        return fcntl.ioctl(probe, 0x8927, struct.pack("256s", interface.encode()))[18:24]


def mac(address: str) -> bytes:
    """Return the hardware address of the pod or gateway with an IP address."""
    return b"\x0a\x58" + socket.inet_aton(address)


def ethernet(destination: bytes, source: bytes, kind: int, payload: bytes) -> bytes:
    return destination + source + struct.pack("!H", kind) + payload


def ipv4(source: str, destination: str, protocol: int, payload: bytes) -> bytes:
    ends = socket.inet_aton(source) + socket.inet_aton(destination)
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 1, 0, 64, protocol, 0) + ends
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def tcp_syn(source: str, destination: str, port: int) -> bytes:
    segment = struct.pack("!HHIIBBHHH", 40000, port, 1, 0, 0x50, 0x02, 64240, 0, 0)
    ends = socket.inet_aton(source) + socket.inet_aton(destination)
    sum_ = checksum(ends + struct.pack("!BBH", 0, TCP, len(segment)) + segment)
    return ipv4(source, destination, TCP, segment[:16] + struct.pack("!H", sum_) + segment[18:])


def udp(source: str, destination: str, ports: tuple[int, int], data: bytes) -> bytes:
    return ipv4(source, destination, UDP, struct.pack("!HHHH", *ports, 8 + len(data), 0) + data)


def arp_reply(claimed: str, claimed_mac: bytes, target: str, target_mac: bytes) -> bytes:
    head = struct.pack("!HHBBH", 1, IPV4, 6, 4, 2)
    return head + claimed_mac + socket.inet_aton(claimed) + target_mac + socket.inet_aton(target)


def router_advertisement(source_mac: bytes) -> bytes:
    """Return an advertisement of a default route and of a prefix, from a link-local address."""
    source = socket.inet_pton(socket.AF_INET6, "fe80::bad")
    destination = socket.inet_pton(socket.AF_INET6, "ff02::1")
    prefix = struct.pack("!BBBBIII", 3, 4, 64, 0xC0, 3600, 3600, 0)
    prefix += socket.inet_pton(socket.AF_INET6, "2001:db8:bad::")
    body = struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, 1800, 0, 0) + b"\x01\x01" + source_mac + prefix
    pseudo = source + destination + struct.pack("!II", len(body), ICMPV6)
    body = body[:2] + struct.pack("!H", checksum(pseudo + body)) + body[4:]
    return struct.pack("!IHBB", 6 << 28, len(body), ICMPV6, 255) + source + destination + body


def neighbour_advertisement(claimed: str, target: str, claimed_mac: bytes) -> bytes:
    """Return an unasked statement that ``claimed`` is at a hardware address, sent from ``claimed``."""
    address = socket.inet_pton(socket.AF_INET6, claimed)
    body = struct.pack("!BBHI", 136, 0, 0, 0x20000000) + address + b"\x02\x01" + claimed_mac
    return ipv6(claimed, target, ICMPV6, body)


def ipv6(source: str, destination: str, protocol: int, payload: bytes) -> bytes:
    """Return a packet; the checksum of ``payload`` is filled in, at the place that UDP and ICMPv6 have."""
    ends = socket.inet_pton(socket.AF_INET6, source) + socket.inet_pton(socket.AF_INET6, destination)
    place = 6 if protocol == UDP else 2
    found = checksum(ends + struct.pack("!II", len(payload), protocol) + payload)
    payload = payload[:place] + struct.pack("!H", found) + payload[place + 2 :]
    return struct.pack("!IHBB", 6 << 28, len(payload), protocol, 255) + ends + payload


class Sender:
    """A raw socket on ``eth0``."""

    def __init__(self) -> None:
        self.mac = own_mac()
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self._socket.bind(("eth0", 0))
        self._socket.settimeout(TIMEOUT_SECONDS)

    def send(self, destination: bytes, kind: int, payload: bytes, source: bytes = b"") -> None:
        self._socket.send(ethernet(destination, source or self.mac, kind, payload))

    def answered(self, source: str, port: int) -> bool:
        """Return whether a SYN-ACK from ``source`` arrives in time."""
        try:
            while True:
                frame = self._socket.recv(65536)
                if (
                    frame[12:14] != b"\x08\x00"
                    or frame[23] != TCP
                    or frame[26:30] != socket.inet_aton(source)
                ):
                    continue
                if struct.unpack_from("!H", frame, 34)[0] == port and frame[47] & 0x12 == 0x12:
                    return True
        except TimeoutError:
            return False


def main() -> None:
    kind, *arguments = sys.argv[1:]
    sender = Sender()
    if kind == "syn":
        own, gateway, target, port = arguments
        sender.send(mac(gateway), IPV4, tcp_syn(own, target, int(port)))
        print("answered" if sender.answered(target, int(port)) else "silence")
    elif kind == "advertise":
        sender.send(ALL_NODES, IPV6, router_advertisement(sender.mac))
    elif kind == "arp":
        claimed, target = arguments
        sender.send(mac(target), ARP, arp_reply(claimed, sender.mac, target, mac(target)))
    elif kind == "arp-own-mac-in-frame":
        claimed, target = arguments
        sender.send(mac(target), ARP, arp_reply(claimed, mac(claimed), target, mac(target)))
    elif kind == "udp":
        source, target, from_port, to_port, frame_source = arguments
        packet = udp(source, target, (int(from_port), int(to_port)), b"x")
        sender.send(mac(target), IPV4, packet, mac(frame_source))
    elif kind == "udp6":
        source, target, from_port, to_port, frame_source, frame_target = arguments
        segment = struct.pack("!HHHH", int(from_port), int(to_port), 9, 0) + b"x"
        sender.send(mac(frame_target), IPV6, ipv6(source, target, UDP, segment), mac(frame_source))
    elif kind == "advertise-neighbour":
        claimed, target, frame_target = arguments
        sender.send(mac(frame_target), IPV6, neighbour_advertisement(claimed, target, sender.mac))
    elif kind == "routed":
        source, gateway, target, port = arguments
        sender.send(mac(gateway), IPV4, udp(source, target, (1000, int(port)), b"x"))
    elif kind == "across":  # straight to a neighbour, past the node
        source, target, from_port, to_port = arguments
        packet = udp(source, target, (int(from_port), int(to_port)), b"x")
        for destination in (mac(target), BROADCAST):
            sender.send(destination, IPV4, packet)
    elif (
        kind == "learn"
    ):  # a link-local frame with a neighbour's source, which bridges learn before filtering
        (claimed,) = arguments
        sender.send(bytes.fromhex("0180c200000e"), 0x88CC, bytes(46), mac(claimed))


if __name__ == "__main__":
    main()
